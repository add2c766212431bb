"""Builds runtime/ and firmware/ for a Cortex-M55 and rejects what firmware must not have: heap, stdio, exceptions, global constructors,
size growth, and more flash and RAM than docs/footprint.md promises.

usage: check_m55.py SOURCE_DIR [--rebase] [--build DIR --images DIR] [--ethosu-driver DIR]...
--rebase   write the current sizes into size_baseline.json
--build    the build of the target `firmware` (cmake/CarinaFirmware.cmake); --images is its folder of images. Without both, the preset m55
is built in build/m55
--ethosu-driver  a checkout of Arm's core driver, against whose headers the runner compiles too; one for each release

Exit code 77 means: not run, because the cross compiler is not installed (scripts/setup.sh --full installs it).
"""

import argparse
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import footprint
import stack

TOOLS = "arm-none-eabi-"
GROWTH_ALLOWED = 0.02
NOT_RUN = 77

# Objects of the archive that an image does not contain unless the project calls them.
ON_REQUEST = ("checksum.cpp.obj", "kernel_stacks.cpp.obj", "npu_sizes.cpp.obj", "sizes.cpp.obj")

# The macros by which Arm's driver knows its product.
PRODUCTS = ("ETHOSU55", "ETHOSU65", "ETHOSU85")

# Symbols that the objects may import from libraries: memory and string functions, libm, and the compiler's arithmetic.
ALLOWED_IMPORTS = re.compile(
    r"mem(chr|cmp|cpy|move|set)|str(len|ncmp)|__aeabi_\w+"
    r"|(acos|asin|atan|cos|sin|tan)h?f?|atan2f?|erff?|exp(2|m1)?f?|log(10|1p|2)?f?|powf?|sqrtf?|fmodf?|frexpf?|ldexpf?"
)

# Symbols that must not be in an image with the whole runtime, whatever pulls them in.
FORBIDDEN = {
    "heap": re.compile(r"_?(malloc|free|calloc|realloc)(_r)?|_sbrk(_r)?|_Z(n|d)[aw]\w+"),
    "stdio": re.compile(r"_?_?(\w*printf|\w*scanf|fopen|fwrite|fputs|fputc|puts|putchar|sinit|swrite)(_r)?"),
    "exceptions": re.compile(
        r"__cxa_\w+|__gxx_personality\w*|_Unwind_\w+|__aeabi_unwind\w*|_ZSt9terminatev|_ZTI\w+|_ZTS\w+"
    ),
    "the end of the process": re.compile(
        r"__assert_func|abort|exit|_exit|raise|__verbose_terminate_handler|_ZSt\d+__throw_\w+"
    ),
}


def tool(name, *arguments):
    return subprocess.run([TOOLS + name, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def build(source, folder):
    """Updates the build in `folder`. Without a folder, the build of the preset m55."""
    commands = (
        [["cmake", "--build", folder]]
        if folder
        else [["cmake", "--preset", "m55"], ["cmake", "--build", "--preset", "m55"]]
    )
    for command in commands:
        done = subprocess.run(command, cwd=source, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-6000:]}{done.stderr[-2000:]}")
    return folder or source / "build" / "m55"


def symbols(file, *options):
    return {line.split()[-1] for line in tool("nm", *options, file).splitlines() if re.search(r" [A-Za-z?] \S+$", line)}


def wrong_imports(archive):
    imports = symbols(archive, "--undefined-only") - symbols(archive, "--defined-only")
    return [f"the objects need '{name}'" for name in sorted(imports) if not ALLOWED_IMPORTS.fullmatch(name)]


def wrong_in_image(archive):
    """Links the whole runtime with newlib, so that everything that library functions pull in is checked too."""
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "runtime.elf"
        tool(
            "g++",
            "-mcpu=cortex-m55",
            "-mthumb",
            "-mfloat-abi=hard",
            "--specs=nano.specs",
            "-nostartfiles",
            "-Wl,-e,0",
            "-Wl,--whole-archive",
            archive,
            "-Wl,--no-whole-archive",
            "-o",
            image,
        )
        names = symbols(image)
        sections = tool("objdump", "-h", image)
    errors = [
        f"{what}: '{name}' is in the image"
        for what, pattern in FORBIDDEN.items()
        for name in sorted(names)
        if pattern.fullmatch(name)
    ]
    if ".init_array" in sections:
        errors.append("global constructors: the image has an .init_array")
    return errors


def wrong_in_images(source, folder, images):
    """Checks the images of firmware/ as users get them."""
    errors = []
    for name in footprint.IMAGES:
        names = symbols(images / f"{name}.elf")
        errors += [
            f"{what}: '{n}' is in {name}"
            for what, pattern in FORBIDDEN.items()
            for n in sorted(names)
            if pattern.fullmatch(n)
        ]
        errors += footprint.beyond_limits(name, footprint.sections_of(folder / "firmware" / f"{name}.map", source))
    return errors


def compiled(source, *arguments):
    """The cross compiler's messages for a file or for a link."""
    command = [
        TOOLS + "g++",
        "-mcpu=cortex-m55",
        "-mthumb",
        "-mfloat-abi=hard",
        "-std=c++23",
        "-fno-exceptions",
        "-fno-rtti",
        "-Wall",
        "-Werror",
        "-I",
        source,
        *arguments,
    ]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


def without_a_vendor_s_driver(source, checkouts):
    """Compiles the runner against the declarations of Arm's core driver instead of Carina's, once per product (docs/porting.md)."""
    errors = []
    headers = [source / "tests" / "m55" / "vendor", *(checkout / "include" for checkout in checkouts)]
    for folder, product in itertools.product(headers, PRODUCTS):
        if product == "ETHOSU85" and product not in (folder / "pmu_ethosu.h").read_text():
            print(f"{folder}: has no {product}")
            continue
        for file in sorted((source / "firmware" / "runner").glob("*.cpp")):
            done = compiled(source, "-fsyntax-only", f"-D{product}", "-I", folder, file)
            if done.returncode != 0:
                errors.append(f"{file.name} does not compile against {folder} for {product}:\n{done.stderr[-2000:]}")
    file = source / "firmware" / "runner" / "perf.cpp"
    done = compiled(source, "-fsyntax-only", "-I", source / "tests" / "m55" / "vendor", file)
    if done.returncode == 0 or "define ETHOSU55, ETHOSU65 or ETHOSU85" not in done.stderr:
        errors.append(f"{file.name} without a product does not say what to define:\n{done.stderr[-2000:]}")
    return errors


def wrong_constructors(source, archive):
    """The linker script must reject a global constructor and accept a global object without one."""
    folder = source / "tests" / "m55"
    board = source / "firmware" / "corstone300"
    script = [
        "--specs=nano.specs",
        "-nostartfiles",
        "-ffunction-sections",
        "-fdata-sections",
        "-T",
        board / "flash.ld",
        "-L",
        board,
        "-Wl,--gc-sections",
    ]
    errors = []
    with tempfile.TemporaryDirectory() as work:
        done = compiled(source, "-Os", folder / "constructor.cpp", *script, "-o", Path(work) / "constructor.elf")
        if done.returncode == 0 or "global constructors are not run" not in done.stderr:
            errors.append(f"the linker script does not reject a global constructor:\n{done.stderr[-2000:]}")
        for level in ("-O0", "-Os"):
            done = compiled(
                source,
                level,
                folder / "constant_backend.cpp",
                archive,
                *script,
                "-o",
                Path(work) / "constant_backend.elf",
            )
            if done.returncode != 0:
                errors.append(
                    f"an image with a global EthosUBackend does not link with {level}:\n{done.stderr[-2000:]}"
                )
    return errors


def sizes(archive, source):
    """The size of each part in bytes: text (with read-only data), data, bss."""
    parts = {"runtime": [0, 0, 0], "kernels": [0, 0, 0], "on request": [0, 0, 0]}
    kernels = {p.name + ".obj" for p in (source / "runtime" / "kernels").glob("*.cpp")}
    for line in tool("size", archive).splitlines()[1:]:
        text, data, bss, _, _, name = line.split()[:6]
        part = parts["on request" if name in ON_REQUEST else "kernels" if name in kernels else "runtime"]
        for i, value in enumerate((text, data, bss)):
            part[i] += int(value)
    return {name: dict(zip(("text", "data", "bss"), part)) for name, part in parts.items()}


def compiler():
    return tool("g++", "--version").splitlines()[0]


def growth(now, baseline):
    if baseline["compiler"] != compiler():
        print(f"sizes not compared: the baseline is of {baseline['compiler']}, this is {compiler()}")
        return []
    errors = []
    for part, sections in now.items():
        for section, size in sections.items():
            before = baseline["bytes"][part][section]
            if size > before * (1 + GROWTH_ALLOWED):
                errors.append(
                    f"{part} {section}: {size} bytes, at most {int(before * (1 + GROWTH_ALLOWED))} are allowed ({before} in the baseline)"
                    "\n  when the growth is worth it: tests/m55/check_m55.py . --rebase"
                )
    return errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("--rebase", action="store_true")
    parser.add_argument("--build", type=Path)
    parser.add_argument("--images", type=Path)
    parser.add_argument("--ethosu-driver", type=Path, action="append", default=[])
    options = parser.parse_args()
    source = options.source.resolve()
    if shutil.which(TOOLS + "g++") is None:
        print(f"not run: {TOOLS}g++ is not installed (scripts/setup.sh --full)")
        return NOT_RUN
    folder = build(source, options.build)
    archive = folder / "runtime" / "libcarina_runtime.a"
    now = sizes(archive, source)
    print(json.dumps(now))
    file = Path(__file__).parent / "size_baseline.json"
    if options.rebase:
        file.write_text(json.dumps({"compiler": compiler(), "bytes": now}, indent=2) + "\n")
        (source / "runtime" / "kernels" / "kernel_stacks.def").write_text(stack.table(archive, source))
    errors = (
        wrong_imports(archive)
        + wrong_in_image(archive)
        + wrong_in_images(source, folder, options.images or folder / "bin")
    )
    baseline = json.loads(file.read_text())
    if baseline["compiler"] == compiler():
        errors += stack.more_than_listed(archive, source)
    errors += (
        without_a_vendor_s_driver(source, options.ethosu_driver)
        + wrong_constructors(source, archive)
        + growth(now, baseline)
    )
    print("\n".join(errors) or "no heap, no stdio, no exceptions, no global constructors; within the size budget")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
