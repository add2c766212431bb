#!/usr/bin/env python3
"""Makes the firmware kit: the folder that a firmware project takes, without the rest of Carina.

usage: firmware_kit.py OUTPUT --version VERSION --generated FOLDER --flatbuffers FOLDER

OUTPUT       the folder, which is written anew, except for OUTPUT/lib (archives of the runtime)
--generated  has program_generated.h and flat_tensor_generated.h (facts/schemas/CMakeLists.txt)
--flatbuffers  has flatbuffers/flatbuffers.h

firmware/kit/files.txt lists the files. The kit also gets FlatBuffers' headers, in generated/, and a description for
CMSIS-Pack, Carina.Carina.pdsc.
"""

import argparse
import re
import shutil
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "firmware" / "kit" / "files.txt"
LIBRARIES = ("runtime", "board", "core_driver", "runner")  # components of the pack; the others are for QEMU
INCLUDE = re.compile(r'^\s*#\s*include "(flatbuffers/\w+\.h)"', flags=re.MULTILINE)


def parts(root=ROOT):
    """{part: [paths relative to root]}"""
    found = {}
    for line in LIST.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        part, patterns = line.split(": ", 1)
        for pattern in patterns.split():
            files = sorted(path.relative_to(root) for path in root.glob(pattern))
            if not files:
                raise SystemExit(f"firmware_kit: {LIST}: no file is named {pattern}")
            found.setdefault(part, []).extend(files)
    return found


def flatbuffers_headers(folder):
    """flatbuffers.h and all headers that it includes."""
    found, todo = set(), ["flatbuffers/flatbuffers.h"]
    while todo:
        header = todo.pop()
        if header in found or not (folder / header).exists():  # pch/ is included on request only
            continue
        found.add(header)
        todo += INCLUDE.findall((folder / header).read_text())
    return sorted(found)


def element(parent, tag, text=None, **attributes):
    child = xml.SubElement(parent, tag, attributes)
    child.text = text
    return child


def component(parent, name, version, condition, files):
    made = element(
        parent,
        "component",
        Cclass="Machine Learning",
        Cgroup="Carina",
        Csub=name,
        Cversion=version,
        condition=condition,
    )
    element(made, "description", DESCRIPTIONS[name])
    listed = element(made, "files")
    for category, path in files:
        element(listed, "file", category=category, name=str(path))


DESCRIPTIONS = {
    "runtime": "Loads and runs ExecuTorch programs: executor, CPU kernels, delegate of Ethos-U NPUs",
    "board": "The console of the runner; the project implements the functions of firmware/board/board.h",
    "core_driver": "Runs delegates through the Ethos-U core driver",
    "runner": "Runs the model of an image, with a log",
}


def pack_description(version, files):
    """The description for CMSIS-Pack, as text. Source: Open-CMSIS-Pack specification 1.7, PACK.xsd."""
    package = xml.Element("package", schemaVersion="1.7.7")
    element(package, "vendor", "Carina")
    element(package, "name", "Carina")
    element(package, "description", "Embedded runtime for ExecuTorch programs with delegates on Arm Ethos-U NPUs")
    element(package, "url", "")
    element(package, "license", "LICENSE")
    element(element(package, "releases"), "release", "See CHANGELOG.md of the repository", version=version)
    conditions = element(package, "conditions")
    for name in ("core_driver", "runner"):
        condition = element(conditions, "condition", id=f"needs of {name}")
        element(condition, "description", "The libraries that it uses")
        for other in LIBRARIES[: LIBRARIES.index(name)]:
            element(condition, "require", Cclass="Machine Learning", Cgroup="Carina", Csub=other)
    condition = element(conditions, "condition", id="compiler")
    element(condition, "description", "A compiler with C++20")
    for compiler in ("GCC", "CLANG", "ARMCC"):
        element(condition, "accept", Tcompiler=compiler)
    components = element(package, "components")
    for name in LIBRARIES:
        condition = f"needs of {name}" if name in ("core_driver", "runner") else "compiler"
        headers = [("include", "./"), ("include", "generated/")] if name == "runtime" else []
        sources = [("sourceCpp", path) for path in files[name]]
        component(components, name, version, condition, headers + sources)
    xml.indent(package)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(package, encoding="unicode") + "\n"


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--generated", type=Path, required=True)
    parser.add_argument("--flatbuffers", type=Path, required=True)
    options = parser.parse_args()
    for old in options.output.glob("*"):
        if old.name != "lib":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    files = parts()
    for path in (path for part in files.values() for path in part):
        copy(ROOT / path, options.output / path)
    copy(ROOT / "firmware" / "kit" / "CMakeLists.txt", options.output / "CMakeLists.txt")
    for schema in files["schemas"]:
        name = f"{schema.stem}_generated.h"
        copy(options.generated / name, options.output / "generated" / name)
    for header in flatbuffers_headers(options.flatbuffers):
        copy(options.flatbuffers / header, options.output / "generated" / header)
    (options.output / "Carina.Carina.pdsc").write_text(pack_description(options.version, files))


if __name__ == "__main__":
    main()
