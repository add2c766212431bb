#!/usr/bin/env python3
"""Writes a table of the requested kernels of the runtime only, so that the linker drops the others.

usage: select_kernels.py [--ops NAME,...] [--ops-from MODEL.pte]... -o TABLE.cpp

--ops       names as a .pte calls them: aten::add.out,aten::relu.out
--ops-from  a program: the kernels that it calls

The output defines runtime::portable_kernels(), which replaces the table with all kernels. An unknown kernel is an error before anything is
built. CMake calls this script: cmake/CarinaKernels.cmake.
"""

import argparse
import re
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r'CARINA_PORTABLE_KERNEL\("([^"]+)", (\w+)\)')


def known_kernels():
    return dict(ROW.findall((ROOT / "runtime" / "kernels" / "portable_kernels.def").read_text()))


class Table:
    """A table of a FlatBuffer: offset of its vtable, then fields, which may be absent. Every access is checked against the file's size.

    Source: "FlatBuffers internals" of its documentation. Fields are counted in the order of the schema (facts/schemas/program.fbs).
    """

    def __init__(self, file, at):
        self.file, self.at = file, at
        self.vtable = at - self._read("<i", at)

    def _read(self, form, at):
        if at < 0:
            raise ValueError("an offset is outside of the file")
        return struct.unpack_from(form, self.file, at)[0]

    def _field(self, number):
        """The offset of what a field refers to; None for an absent field."""
        entry = 4 + 2 * number
        if entry >= self._read("<H", self.vtable):
            return None
        offset = self._read("<H", self.vtable + entry)
        return self.at + offset + self._read("<I", self.at + offset) if offset else None

    def text(self, number):
        at = self._field(number)
        if at is None:
            return ""
        size = self._read("<I", at)
        if at + 4 + size > len(self.file):
            raise ValueError("a text is outside of the file")
        return self.file[at + 4 : at + 4 + size].decode()

    def tables(self, number):
        at = self._field(number)
        if at is None:
            return
        for n in range(self._read("<I", at)):
            entry = at + 4 + 4 * n
            yield Table(self.file, entry + self._read("<I", entry))


PLANS, OPERATORS, NAME, OVERLOAD = 1, 6, 0, 1  # fields of Program, ExecutionPlan, Operator and Operator


def kernels_of(program):
    """The names of the kernels that a .pte calls, without the work of its delegates."""
    path = Path(program)
    if not path.is_file():
        sys.exit(f"select_kernels: {program}: no such file")
    file = path.read_bytes()
    if file[4:6] != b"ET":
        sys.exit(f"select_kernels: {program}: not an ExecuTorch program (.pte)")
    try:
        root = Table(file, struct.unpack_from("<I", file)[0])
        return {
            ".".join(filter(None, (operator.text(NAME), operator.text(OVERLOAD))))
            for plan in root.tables(PLANS)
            for operator in plan.tables(OPERATORS)
        }
    except (struct.error, ValueError):
        sys.exit(f"select_kernels: {program}: the program is damaged or cut off")


def table(names, known):
    rows = "".join(f'    {{"{name}", {known[name]}}},\n' for name in sorted(names, key=str.encode))
    kernels = (
        f"constexpr KernelEntry kKernels[] = {{\n{rows}}};\n"
        if rows
        else "constexpr std::span<const KernelEntry> kKernels;\n"
    )
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
        names |= kernels_of(program)
    known = known_kernels()
    missing = sorted(names - set(known))
    if missing:
        sys.exit(
            "select_kernels: the runtime has no kernel "
            + ", ".join(missing)
            + "; runtime/kernels/portable_kernels.def names those that it has"
        )
    Path(options.output).write_text(table(names, known))
    print(f"{len(names)} of {len(known)} kernels")


if __name__ == "__main__":
    main()
