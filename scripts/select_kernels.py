#!/usr/bin/env python3
"""Writes a table of the requested kernels of the runtime only, so that the linker drops the others.

usage: select_kernels.py [--ops NAME,...] [--ops-from MODEL.pte]... -o TABLE.cpp

--ops       names as a .pte calls them: aten::add.out,aten::relu.out
--ops-from  a program: the kernels that it calls (needs flatc)

The output defines runtime::portable_kernels(), which replaces the table with all kernels. An unknown kernel is an error before anything is
built. CMake calls this script: cmake/CarinaKernels.cmake.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r'CARINA_PORTABLE_KERNEL\("([^"]+)", (\w+)\)')


def known_kernels():
    return dict(ROW.findall((ROOT / "runtime" / "kernels" / "portable_kernels.def").read_text()))


def kernels_of(program):
    """The names of the kernels that a .pte calls, without the work of its delegates."""
    with tempfile.TemporaryDirectory() as folder:
        # Newer programs may have fields that the schema here lacks. They are ignored.
        command = ["flatc", "--json", "--strict-json", "--raw-binary", "-o", folder, ROOT / "facts" / "schemas" / "program.fbs", "--", program]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"select_kernels: {program}: not read as a program\n{done.stdout}{done.stderr}")
        content = json.loads((Path(folder) / (Path(program).stem + ".json")).read_text())
    for plan in content.get("execution_plan", []):
        for operator in plan.get("operators", []):
            yield ".".join(filter(None, (operator["name"], operator.get("overload"))))


def table(names, known):
    rows = "".join(f'    {{"{name}", {known[name]}}},\n' for name in sorted(names, key=str.encode))
    kernels = f"constexpr KernelEntry kKernels[] = {{\n{rows}}};\n" if rows else "constexpr std::span<const KernelEntry> kKernels;\n"
    return f"""// Made by scripts/select_kernels.py.
#include "runtime/kernels/kernels_internal.h"

namespace carina::runtime {{

namespace {{
{kernels}}}  // namespace

std::span<const KernelEntry> portable_kernels() {{
  return kKernels;
}}

}}  // namespace carina::runtime
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", action="append", default=[], metavar="NAME,...")
    parser.add_argument("--ops-from", action="append", default=[], metavar="MODEL.pte")
    parser.add_argument("-o", "--output", required=True, metavar="TABLE.cpp")
    options = parser.parse_args()
    names = {name for words in options.ops for name in re.split("[,;]", words) if name}
    for program in options.ops_from:
        names |= set(kernels_of(program))
    known = known_kernels()
    missing = sorted(names - set(known))
    if missing:
        sys.exit("select_kernels: the runtime has no kernel " + ", ".join(missing) + "; runtime/kernels/portable_kernels.def names those that it has")
    Path(options.output).write_text(table(names, known))
    print(f"{len(names)} of {len(known)} kernels")


if __name__ == "__main__":
    main()
