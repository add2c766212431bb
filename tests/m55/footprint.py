"""Measures the parts of a firmware image from the linker's map, writes docs/footprint.md and checks the limits.

usage: footprint.py SOURCE_DIR            writes docs/footprint.md from the images that the preset m55 has built
"""

import re
import sys
from collections import Counter
from pathlib import Path

import stack

LARGE_FRAME = 1500  # bytes of stack

IMAGES = {
    "corstone300-host": "the host's simulator is the NPU",
    "corstone300-image": "a simulator in the image is the NPU",
    "corstone300-flash": "a simulator in the image, the model in flash, the pools in SRAM",
}
KIB = 1024
MAX_RUNTIME_FLASH = 40 * KIB  # without kernels
MAX_RAM = 4 * KIB  # without stack and pools

INPUT = re.compile(r"^ (?:\*fill\*|\.\S+|COMMON)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)(?:\s+(\S.*))?$")
OUTPUT = re.compile(r"^(\.\w+)\s+0x")
FLASH, RAM = ("text",), ("data", "bss")
PARTS = ["runtime", "kernels", "npu driver", "npu simulator", "runner", "board", "C library", "filling"]


def part_of(path, kernels):
    """The part of the image that an object file belongs to."""
    if not path:
        return "filling"
    name = re.sub(r"\.obj$", "", re.split(r"[/(]", path.rstrip(")"))[-1])
    if "libcarina_runtime" in path:
        return "kernels" if name in kernels else "runtime"
    if "/npu/" in path:
        return "npu simulator"
    if "libcarina_firmware" in path or "corstone300" in path:
        return FIRMWARE[name]
    return "C library"


def firmware_parts(source):
    """Object file -> part, from the folders of firmware/."""
    folders = {"driver": "npu driver", "runner": "runner", "board": "board", "corstone300": "board"}
    parts = {p.name: part for folder, part in folders.items() for p in (source / "firmware" / folder).glob("*.cpp")}
    parts.update({"host_npu.cpp": "npu driver", "image_npu.cpp": "npu driver"})
    return parts


FIRMWARE = {}


def inputs_of(map_file):
    """(section of the image, object file or None, bytes) of each part of an object file in the image"""
    text = map_file.read_text().split("Linker script and memory map", 1)[1]
    text = re.sub(
        r"^( \.\S+)\n\s+", r"\1 ", text, flags=re.MULTILINE
    )  # joins long names, which have a line of their own
    section = None
    for line in map(str.rstrip, text.splitlines()):
        if output := OUTPUT.match(line):
            section = output[1].removeprefix(".")
        elif (found := INPUT.match(line)) and section in FLASH + RAM:
            yield section, found[2], int(found[1], 16)


def kernel_files(source):
    return {p.name for p in (source / "runtime" / "kernels").glob("*.cpp")}


def sections_of(map_file, source):
    """{part: Counter of bytes in text, data, bss}"""
    FIRMWARE.update(firmware_parts(source))
    kernels = kernel_files(source)
    sizes = {part: Counter() for part in PARTS}
    for section, path, count in inputs_of(map_file):
        sizes[part_of(path, kernels)][section] += count
    return sizes


def kernel_table(map_file, source):
    """The text of the kernels by source file, the largest first."""
    sizes = Counter()
    for section, path, count in inputs_of(map_file):
        name = path and re.sub(r"\.obj$", "", re.split(r"[/(]", path.rstrip(")"))[-1])
        if section in FLASH and name in kernel_files(source) and "libcarina_runtime" in path:
            sizes[name.removesuffix(".cpp")] += count
    rows = [f"| `{name}` | {size:,} |" for name, size in sizes.most_common()]
    return "\n".join(["| source | text and rodata |", "|---|--:|", *rows])


def total(sizes, sections, parts=PARTS):
    return sum(sizes[part][section] for part in parts for section in sections)


def beyond_limits(name, sizes):
    """Returns errors. Initialized data count in flash and in RAM."""
    runtime = sizes["runtime"]["text"] + sizes["runtime"]["data"]
    ram = total(sizes, RAM)
    errors = []
    if runtime > MAX_RUNTIME_FLASH:
        errors.append(
            f"{name}: the runtime without kernels takes {runtime} bytes of flash, at most {MAX_RUNTIME_FLASH} are allowed"
        )
    if ram > MAX_RAM:
        errors.append(f"{name}: {ram} bytes of RAM beside stack and pools, at most {MAX_RAM} are allowed")
    return errors


def table(sizes):
    rows = [
        f"| {part} | {sizes[part]['text']:,} | {total(sizes, RAM, [part]):,} |"
        for part in PARTS
        if any(sizes[part].values())
    ]
    rows.append(f"| **all** | **{total(sizes, FLASH + ('data',)):,}** | **{total(sizes, RAM):,}** |")
    return "\n".join(["| part | text and rodata | data and bss |", "|---|--:|--:|", *rows])


def page(source, build):
    images = {name: sections_of(build / "firmware" / f"{name}.map", source) for name in IMAGES}
    host = images["corstone300-host"]
    parts = [
        "# Footprint\n",
        "This page lists the size of the firmware images, in bytes.",
        "`python3 tests/m55/footprint.py .` writes it from the linker maps of the images that the preset",
        "`m55` builds (`-Os`, newlib-nano, all kernels).\n",
        'In the row "all", the first number is what the image takes in flash, including the initial values',
        "of data. The second number is what it takes in RAM, without the stack and the memory pools.\n",
        f"- The runtime without kernels takes **{host['runtime']['text']:,}** bytes of text and rodata (limit {MAX_RUNTIME_FLASH:,}), with",
        "  FlatBuffers' verifier. ExecuTorch's size test takes 115,868 bytes.",
        f"- RAM without stack and pools is **{total(host, RAM):,}** bytes (limit {MAX_RAM:,}). The log of each run has the stack's",
        "  depth and the used part of the pools. kws takes 1.8 KB of stack on the NPU, 2.4 KB on the CPU.",
        "- There is no heap, no stdio and no exception handling: `tests/m55/check_m55.py` looks for their",
        "  symbols in each image.",
        "- Kernels, and the mathematical functions of the C library that they call, are the largest part. A",
        "  delegated model needs two or three kernels, and an image can be linked with fewer of them",
        "  ([porting.md](porting.md)).\n",
    ]
    for name, what in IMAGES.items():
        parts += [f"## {name}: {what}", table(images[name]) + "\n"]
    library = build / "runtime" / "libcarina_runtime.a"
    parts += [
        "## Kernels",
        "These are the sizes of the files in `runtime/kernels` in an image with all kernels. The linker drops",
        "the functions of a file that no selected kernel needs.\n",
        kernel_table(build / "firmware" / "corstone300-host.map", source) + "\n",
        "## Stack",
        f"The executor takes {stack.executor_stack(library)} bytes of stack before it calls a kernel or a delegate. The simulator of",
        "an image takes about 1 KB. `method_sizes()` (`runtime/sizes.h`) gives the stack of the kernel of a",
        "program that takes most; `runtime/kernels/kernel_stacks.def` lists all kernels. These are all",
        f"functions of the runtime with frames of {LARGE_FRAME:,} bytes and more:\n",
        "| function | bytes |\n|---|--:|\n"
        + "\n".join(f"| `{name}` | {size:,} |" for name, size in stack.large_frames(library, LARGE_FRAME))
        + "\n",
    ]
    return "\n".join(parts)


def main():
    source = Path(sys.argv[1]).resolve()
    (source / "docs" / "footprint.md").write_text(page(source, source / "build" / "m55"))


if __name__ == "__main__":
    main()
