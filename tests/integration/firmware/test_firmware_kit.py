"""The installed firmware kit, as a firmware project uses it: docs/guide/own-main.md as printed, on the machines of its table; programs with
delegates; the other ways to the libraries; the descriptions for other build systems."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy as np
import pytest
from tier_plugin import every

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "guide" / "own-main.md"
DIGITS = ROOT / "models" / "digits"
sys.path.insert(0, str(ROOT / "scripts"))
import firmware_kit  # noqa: E402

pytestmark = [
    pytest.mark.skipif(
        shutil.which("qemu-system-arm") is None, reason="not run: no qemu-system-arm (scripts/setup.sh --full)"
    ),
    pytest.mark.skipif(
        shutil.which("arm-none-eabi-g++") is None, reason="not run: no arm-none-eabi-g++ (scripts/setup.sh --full)"
    ),
]


def block(language, start=""):
    """The page's only block of the language that starts so."""
    found = re.findall(
        rf"^```{language}\n({re.escape(start)}.*?)^```$", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE
    )
    assert len(found) == 1, f"{PAGE}: {len(found)} blocks of {language}"
    return found[0]


ROW = re.compile(r"^\| `(mps\d-an\d+)` \| `(cortex-m\d+)` \|(.*)\|$", flags=re.MULTILINE)
REGIONS = ("CODE", "DATA", "POOLS", "MODEL")
# machine -> (CPU, {region: (origin, size)})
MACHINES = {
    machine: (cpu, dict(zip(REGIONS, (tuple(place.strip().split(", ")) for place in places.split("|")))))
    for machine, cpu, places in ROW.findall(PAGE.read_text())
}


def run(command, cwd, env=None, expect=0):
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=600
    )
    text = done.stdout + done.stderr
    assert done.returncode == expect, f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{text[-6000:]}"
    return text


def qemu(machine, elf, *words, cwd):
    """The console of an image. QEMU writes the semihosting console to stderr."""
    arguments = ",".join(["enable=on", "target=native", *(f"arg={word}" for word in ("app", *words))])
    return run(
        ["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", "-serial", "null", "-semihosting-config", arguments,
         "-kernel", elf], cwd=cwd
    )  # fmt: skip


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """A folder with the component firmware of the build, and nothing else."""
    folder = tmp_path_factory.mktemp("prefix")
    build = Path(os.environ["CARINA_FIRMWARE"]).parents[2]
    run(["cmake", "--install", build, "--prefix", folder, "--component", "firmware"], cwd=folder)
    return folder


@pytest.fixture(scope="session")
def kit(prefix):
    return prefix / "share" / "carina" / "firmware" / "kit"


@pytest.fixture(scope="session")
def programs(run_carina, tmp_path_factory):
    """digits for the CPU and for an NPU, and an input."""
    folder = tmp_path_factory.mktemp("programs")
    compile_digits = [
        "compile",
        DIGITS / "digits.pt2",
        "--calibrate",
        DIGITS / "calibration.npz",
        "-t",
        "ethos-u55-128",
    ]
    run_carina([*compile_digits, "--no-delegate", "-o", folder / "cpu.pte"])
    run_carina([*compile_digits, "-o", folder / "npu.pte"])
    np.save(folder / "image.npy", np.load(DIGITS / "test.npz")["x"][:1])
    return folder


def configure(folder, prefix, kit, cpu, *options):
    run(
        ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCARINA_CPU={cpu}",
         f"-DCMAKE_TOOLCHAIN_FILE={kit / 'cmake' / 'm55.cmake'}", "-DCMAKE_BUILD_TYPE=MinSizeRel", *options], cwd=folder
    )  # fmt: skip
    return folder / "build"


def build(folder, prefix, kit, cpu, *options):
    where = configure(folder, prefix, kit, cpu, *options)
    text = run(["cmake", "--build", where], cwd=folder)
    assert "warning:" not in text, text
    return where / "app"


def own_main(folder, machine):
    """Writes the files of the page. The regions of board.ld are those of the machine."""
    script = block("ld")
    for region, (origin, size) in MACHINES[machine][1].items():
        script, changed = re.subn(
            rf"({region} +\(\w+\) *: ORIGIN = )\w+, LENGTH = \w+", rf"\g<1>{origin}, LENGTH = {size}", script
        )
        assert changed == 1
    (folder / "board.ld").write_text(script)
    (folder / "main.cpp").write_text(block("cpp"))
    (folder / "CMakeLists.txt").write_text(block("cmake", "cmake_minimum_required"))


def test_page_builds_and_runs_as_printed(carina, prefix, kit, tmp_path):
    own_main(tmp_path, "mps3-an547")
    (tmp_path / "models").symlink_to(ROOT / "models")
    environment = {"KIT": str(kit), "PREFIX": str(prefix), "PATH": f"{Path(carina).parent}:{os.environ['PATH']}"}
    text = run(["sh", "-e", "-c", block("sh")], cwd=tmp_path, env=environment)
    assert "it is a 1" in text.splitlines() and "warning:" not in text
    assert "warning" not in run(["sh", "-e", "-c", block("bash")], cwd=tmp_path, env=environment)
    assert "it is a 1" in qemu("mps3-an547", tmp_path / "app.elf", cwd=tmp_path).splitlines()


@pytest.mark.parametrize("machine", sorted(set(MACHINES) - {"mps3-an547"}))
def test_page_s_program_on_other_machines(machine, prefix, kit, programs, tmp_path):
    own_main(tmp_path, machine)
    shutil.copy(programs / "cpu.pte", tmp_path / "digits.pte")
    app = build(tmp_path, prefix, kit, MACHINES[machine][0])
    assert "it is a 1" in qemu(machine, app, cwd=tmp_path).splitlines()


C_ARRAY = ROOT / "docs" / "guide" / "c-array.md"
CLASSIFY = """
int main() {
  static std::array<float, 64> image;
  for (size_t row = 0; row < 8; ++row) image[row * 8 + 3] = image[row * 8 + 4] = 1.0F;
  static char answer[] = "it is a ?";
  const int found = classify(image.data());
  answer[8] = static_cast<char>(found < 0 ? '?' : '0' + found);
  leave(answer, found < 0 ? 1 : 0);
}
"""


def test_c_array_of_the_page_runs(prefix, kit, run_carina, tmp_path):
    """The code of docs/guide/c-array.md between the console and the start-up code of own-main.md, with a header of `carina compile`."""
    (code,) = re.findall(r"^```cpp\n(.*?)^```$", C_ARRAY.read_text(), flags=re.DOTALL | re.MULTILINE)
    own_main(tmp_path, "mps3-an547")
    whole = (tmp_path / "main.cpp").read_text()
    console = whole[whole.index("// Prints a line on") : whole.index("int main()")]
    startup = whole[whole.index("// From reset to main()") :]
    includes = "#include <algorithm>\n#include <array>\n#include <cstddef>\n#include <cstdint>\n"
    (tmp_path / "main.cpp").write_text(includes + code + console + CLASSIFY + startup)
    words = [
        "compile",
        DIGITS / "digits.pt2",
        "--calibrate",
        DIGITS / "calibration.npz",
        "-t",
        "ethos-u55-128",
        "--no-delegate",
    ]
    run_carina([*words, "-o", tmp_path / "digits.h"])
    run_carina([*words, "-o", tmp_path / "digits.pte"])  # CMakeLists.txt names it as a dependency
    app = build(tmp_path, prefix, kit, "cortex-m55")
    assert "it is a 1" in qemu("mps3-an547", app, cwd=tmp_path).splitlines()
    header = (tmp_path / "digits.h").read_text()
    listed = dict(re.findall(r"^#define DIGITS_(\w+) (\S+)", header, flags=re.MULTILINE))
    assert int(listed["PROGRAM_BYTES"]) == (tmp_path / "digits.pte").stat().st_size == header.count("0x")
    memory = next(
        part
        for part in run_carina(["inspect", tmp_path / "digits.pte", "--json"]).json["parts"]
        if part["kind"] == "memory"
    )
    assert [int(listed[name]) for name in ("METHOD_BYTES", "PLANNED_BYTES", "SCRATCH_BYTES")] == [
        memory[f"{name}_bytes"] for name in ("method_arena", "planned", "scratch")
    ]


@pytest.mark.parametrize("ending", ["h", "c"])
def test_c_array_is_c99_and_aligned(run_carina, tmp_path, ending):
    """An int8 program with a delegate: its constants have the values by which `carina compile` says what the integers mean."""
    told = run_carina(
        [
            "compile",
            DIGITS / "digits.pt2",
            "--calibrate",
            DIGITS / "calibration.npz",
            "-t",
            "ethos-u55-128",
            "--io",
            "int8",
            "-o",
            tmp_path / f"digits.{ending}",
        ]
    ).stderr
    check = """#include "digits.h"
#include <stdint.h>
int main(void) {
  if (((uintptr_t)digits_program) % 16 != 0 || digits_program[4] != 'E' || sizeof digits_program != DIGITS_PROGRAM_BYTES) return 1;
  DIGITS_INPUT_0_TYPE input[DIGITS_INPUT_0_ELEMENTS] = {0};
  return sizeof input == DIGITS_INPUT_0_BYTES && DIGITS_INPUT_0_ZERO_POINT == -128 && DIGITS_INPUT_0_SCALE > 0.003f ? 0 : 2;
}
"""
    (tmp_path / "check.c").write_text(check)
    sources = ["check.c"] + (["digits.c"] if ending == "c" else [])
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    run(["gcc", *flags, *sources, "-o", "check"], cwd=tmp_path)
    run([tmp_path / "check"], cwd=tmp_path)
    run(["arm-none-eabi-gcc", *flags, "-mcpu=cortex-m55", "-c", *sources], cwd=tmp_path)
    scale = re.search(r"the input is i8: real = \(integer - -128\) \* (\S+)", told) or re.search(r"\* (\S+)", told)
    defined = re.search(r"INPUT_0_SCALE (\S+)f", (tmp_path / "digits.h").read_text())[1]
    assert abs(float(defined) - float(scale[1])) < 1e-9


RUNNER = """cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C CXX)
find_package(carina 0.1 REQUIRED COMPONENTS firmware)
file(WRITE ${CMAKE_BINARY_DIR}/none.cpp "")
add_executable(app ${CMAKE_BINARY_DIR}/none.cpp)
target_link_libraries(app PRIVATE carina::qemu_board carina::runner carina::simulated_npu)
target_link_options(app PRIVATE --specs=nano.specs -nostartfiles -T ${CMAKE_SOURCE_DIR}/map.ld -Wl,--gc-sections)
carina_select_kernels(app OPS quantized_decomposed::quantize_per_tensor.out quantized_decomposed::dequantize_per_tensor.out)
"""


@pytest.mark.parametrize("machine", every(2, ["mps2-an505", "mps2-an386", "mps3-an547", "mps2-an500"]))
def test_delegate_runs_on_the_simulated_npu_of_the_kit(machine, prefix, kit, programs, run_carina, tmp_path):
    cpu, regions = MACHINES[machine]
    memory = "".join(f"  {name} : ORIGIN = {origin}, LENGTH = {size}\n" for name, (origin, size) in regions.items())
    (tmp_path / "map.ld").write_text(
        f'STACK_BYTES = 32K;\nNPU_WORKSPACE_BYTES = 256K;\nMEMORY\n{{\n{memory}}}\nREGION_ALIAS("VECTORS", CODE)\nINCLUDE sections.ld\n'
    )
    (tmp_path / "CMakeLists.txt").write_text(RUNNER)
    app = build(tmp_path, prefix, kit, cpu)
    run_carina(
        ["firmware", programs / "npu.pte", "--image", app.rename(app.with_suffix(".elf")), "-o", tmp_path / "full.elf"]
    )
    np.load(programs / "image.npy").tofile(tmp_path / "in.bin")
    console = qemu(machine, tmp_path / "full.elf", "-i", "in.bin", "-o", "out", cwd=tmp_path)
    assert "NPU delegations: 1 (1.00 per inference)" in console
    run_carina(
        ["run", programs / "npu.pte", "--portable-kernels", "-i", programs / "image.npy", "-o", tmp_path / "host"]
    )
    device = np.fromfile(tmp_path / "out-0.bin", np.float32)
    assert device.tobytes() == np.load(tmp_path / "host" / "output_0.npy").tobytes()


@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "cortex-m85"])
def test_kit_has_an_archive_for(cpu, kit):
    archive = kit / "lib" / cpu / "libcarina_runtime.a"
    known = subprocess.run(["arm-none-eabi-g++", f"-mcpu={cpu}", "-E", "-x", "c++", os.devnull], capture_output=True)
    if known.returncode != 0 and shutil.which("clang++-19") is None:
        pytest.skip(f"not run: neither arm-none-eabi-g++ nor clang++-19 compiles for {cpu} (scripts/setup.sh --full)")
    text = run(["arm-none-eabi-readelf", "-A", archive], cwd=kit)
    arch = {"cortex-m4": "v7E-M", "cortex-m7": "v7E-M", "cortex-m33": "v8-M.mainline"}.get(cpu, "v8.1-M.mainline")
    assert set(re.findall("Tag_CPU_arch: (.*)", text)) == {arch}
    assert set(re.findall("Tag_ABI_VFP_args: (.*)", text)) == {"VFP registers"}
    assert str(ROOT).encode() not in archive.read_bytes(), "the archive has paths of the build"


@pytest.mark.parametrize("way", ["kit", "repository", "runtime", "find_package"])
def test_libraries_from_source(way, prefix, kit, tmp_path):
    """The ways to carina::runtime without an archive: each has the same sources. Compiling all of them takes long."""
    include = {
        "kit": f'add_subdirectory("{kit}" carina)',
        "repository": f'add_subdirectory("{ROOT}" carina)',
        "runtime": f'add_subdirectory("{ROOT}/runtime" carina)',
        "find_package": "find_package(carina 0.1 REQUIRED COMPONENTS firmware)",
    }[way]
    lists = f"cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n{include}\n"
    lists += "add_library(app STATIC ${CMAKE_SOURCE_DIR}/app.cpp)\ntarget_link_libraries(app PRIVATE carina::runtime)\n"
    (tmp_path / "CMakeLists.txt").write_text(lists)
    (tmp_path / "app.cpp").write_text('#include "runtime/method.h"\ncarina::runtime::Method method;\n')
    where = configure(
        tmp_path, prefix, kit, "cortex-m33", "-DCARINA_FROM_SOURCE=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
    )
    run(["ninja", "-C", where, "CMakeFiles/app.dir/app.cpp.obj"], cwd=tmp_path)
    sources = set(re.findall(r'"file": "(.*)"', (where / "compile_commands.json").read_text()))
    root = kit if way in ("kit", "find_package") else ROOT
    assert {str(root / file) for file in firmware_kit.parts()["runtime"]} <= sources
    one = next(
        line
        for line in run(["ninja", "-C", where, "-t", "targets", "all"], cwd=tmp_path).splitlines()
        if "program.cpp.obj:" in line
    )
    run(["ninja", "-C", where, one.split(":")[0]], cwd=tmp_path)  # needs the headers of the file format


def test_core_driver_takes_the_headers_of_a_vendor(prefix, kit, tmp_path):
    lists = f"""cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
add_library(vendor INTERFACE)
target_include_directories(vendor INTERFACE "{ROOT}/tests/m55/vendor")
target_compile_definitions(vendor INTERFACE ETHOSU85)
set(CARINA_ETHOSU_DRIVER vendor)
find_package(carina 0.1 REQUIRED COMPONENTS firmware)
add_custom_target(both)
add_dependencies(both carina_core_driver carina_runner)
"""
    (tmp_path / "CMakeLists.txt").write_text(lists)
    where = configure(tmp_path, prefix, kit, "cortex-m55")
    run(["cmake", "--build", where, "--target", "both"], cwd=tmp_path)


def test_find_package_for_a_host_says_why_it_fails(prefix, kit, tmp_path):
    """The component compiler is not installed here."""
    lists = "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\nfind_package(carina 0.1 QUIET COMPONENTS compiler)\n"
    lists += 'message(STATUS "found: ${carina_FOUND}: ${carina_NOT_FOUND_MESSAGE}")\n'
    (tmp_path / "CMakeLists.txt").write_text(lists)
    text = run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"], cwd=tmp_path)
    assert re.search("found: (FALSE|0): .*compiler", text, flags=re.DOTALL), text


def test_cmsis_pack_lists_the_files_of_the_kit(kit):
    package = xml.parse(kit / "Carina.Carina.pdsc").getroot()
    listed = {}
    for component in package.iter("component"):
        names = [file.get("name") for file in component.iter("file")]
        assert all((kit / name).exists() for name in names)
        listed[component.get("Csub")] = [name for name in names if name.endswith(".cpp")]
    parts = firmware_kit.parts()
    assert listed == {name: list(map(str, parts[name])) for name in firmware_kit.LIBRARIES}
    assert (
        package.find("releases/release").get("version")
        == re.search(r"project\(carina VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    )


ZEPHYR = """cmake_minimum_required(VERSION 3.25)
project(zephyr LANGUAGES CXX)
# What the module uses of Zephyr's build.
macro(zephyr_library_named name)
  add_library(${name} STATIC)
  set(library ${name})
endmacro()
macro(zephyr_library_sources)
  target_sources(${library} PRIVATE ${ARGN})
endmacro()
macro(zephyr_library_compile_options)
  target_compile_options(${library} PRIVATE ${ARGN})
endmacro()
macro(zephyr_library_compile_definitions)
  target_compile_definitions(${library} PRIVATE ${ARGN})
endmacro()
macro(zephyr_library_include_directories)
  target_include_directories(${library} PRIVATE ${ARGN})
endmacro()
macro(zephyr_include_directories)
  target_include_directories(${library} PUBLIC ${ARGN})
endmacro()
set(CMAKE_CXX_STANDARD 20)
set(CONFIG_CARINA y)
set(CONFIG_CARINA_CORE_DRIVER ${CORE_DRIVER})
add_subdirectory(${MODULE}/zephyr module)
"""


@pytest.mark.parametrize("root", ["kit", "repository"])
def test_zephyr_module_compiles_the_files_of_the_kit(root, prefix, kit, tmp_path):
    """Zephyr is neither on PyPI nor in Debian: its functions are replaced. One file of each part is compiled."""
    (tmp_path / "CMakeLists.txt").write_text(ZEPHYR)
    module = kit if root == "kit" else ROOT
    assert "cmake: zephyr" in (module / "zephyr" / "module.yml").read_text()
    where = configure(tmp_path, prefix, kit, "cortex-m33", f"-DMODULE={module}", "-DCORE_DRIVER=y", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                      f"-DCMAKE_CXX_FLAGS='-I{ROOT / 'tests' / 'm55' / 'vendor'}' -mcpu=cortex-m33 -mthumb -mfloat-abi=hard")  # fmt: skip
    sources = set(re.findall(r'"file": "(.*)"', (where / "compile_commands.json").read_text()))
    parts = firmware_kit.parts()
    assert sources == {str(module / file) for part in ("runtime", "core_driver", "board") for file in parts[part]}
    for name in ("program", "core_driver", "console"):
        targets = run(["ninja", "-C", where, "-t", "targets", "all"], cwd=tmp_path).splitlines()
        run(
            ["ninja", "-C", where, next(line for line in targets if f"/{name}.cpp.obj:" in line).split(":")[0]],
            cwd=tmp_path,
        )
