"""Generates files from the rows of include/carina/options.def: the Python package's table and types, and the page of options.

usage: generate_options.py [--check]     --check: writes nothing; exit code 1 if a file is out of date
"""

import argparse
import json
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "include" / "carina" / "options.def"
STAGES = {
    "Target": "target",
    "Quantize": "quantize",
}  # member of CompileRequest with the stage's options; default: the request
TYPES = {
    "kFlag": "bool",
    "kCount": "int",
    "kBytes": "int | str | None",
    "kText": "str | None",
    "kName": "str | None",
    "kScheme": "str | None",
    "kPath": "Path | None",
    "kInput": "Path | None",
    "kChoice": "str",
    "kTexts": "Strings",
    "kOverrides": "Strings",
    "kPaths": "Path | Sequence[Path]",
}


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    stage: str
    group: str
    member: str
    initial: str
    kind: str
    range: str
    names: tuple[str, ...]
    python: str
    json: str
    help: str
    value: str = ""  # for a flag: the value that it sets


def _columns(text: str) -> list[str]:
    """The arguments of a macro. Adjacent string literals are joined. Commas in brackets and literals do not separate."""
    columns, depth, now = [], 0, ""
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|[{}<>()]|,|[^"{}<>(),]+', text):
        depth += (token in "{<(") - (token in "}>)") if len(token) == 1 else 0
        if token == "," and depth == 0:
            columns.append(now.strip())
            now = ""
        else:
            now += token
    columns.append(now.strip())
    return [
        "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', each)).replace('\\"', '"').replace("\\n", " ")
        if each.startswith('"')
        else each
        for each in columns
    ]


def rows() -> list[Row]:
    """All rows, in the order of the table."""
    text = TABLE.read_text()
    found = []
    for at in re.finditer(
        r'^CARINA_(?:(\w+?)_(OPTION|FLAG))\(((?:"(?:[^"\\]|\\.)*"|[^"()])*)\)$',
        re.sub(r"^\s*(?:#|//).*$", "", text, flags=re.M),
        re.M,
    ):
        stage, columns = at[1].capitalize(), _columns(at[3])
        if at[2] == "FLAG":
            group, member, value, names, python, help_text = columns
            found.append(
                Row(
                    stage,
                    group,
                    member,
                    "",
                    "kFlag",
                    "",
                    tuple(names.split(",")),
                    python,
                    "",
                    help_text,
                    value.split("::")[-1],
                )
            )
        else:
            group, _, member, initial, kind, limits, names, python, key, help_text = columns
            found.append(
                Row(
                    stage,
                    group,
                    member,
                    initial,
                    kind,
                    limits,
                    tuple(filter(None, names.split(","))),
                    python,
                    key,
                    help_text,
                )
            )
    return found


def values() -> dict[str, list[tuple[str, str]]]:
    """For each enumeration, its enumerators and their names."""
    found: dict[str, list[tuple[str, str]]] = {}
    for kind, value, name in re.findall(r'^CARINA_OPTION_VALUE\((\w+), (\w+), "([^"]+)"\)$', TABLE.read_text(), re.M):
        found.setdefault(kind, []).append((value, name))
    return found


def _literal(names: list[str]) -> str:
    return "Literal[" + ", ".join(f'"{name}"' for name in names) + "]"


def targets() -> list[str]:
    """The names of targets: the rows of facts/npu_accelerators.h, VGF, and the TOSA specifications without extensions."""
    names = re.findall(r'"(ethos-u\d+-\d+)"', (ROOT / "facts" / "npu_accelerators.h").read_text())
    ordered = sorted(set(names), key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    return [*ordered, "vgf", "TOSA-1.0+INT", "TOSA-1.0+FP"]


def boards() -> list[str]:
    """The names of boards: the rows of facts/npu_boards.h."""
    text = (ROOT / "facts" / "npu_boards.h").read_text()
    return re.findall(r'\.system = [^"]*"(\w+)"', text)


def _type(row: Row) -> str:
    """The type of a keyword argument. A choice has the names of its enumeration, which is that of its default."""
    if row.python == "io":
        return _literal(["float", "int8", "uint8", "int16"]) + " | None"
    if row.python == "board":
        return "Board | None"
    if row.kind != "kChoice":
        return TYPES[row.kind]
    return _literal([name for _, name in values()[row.initial.split("::")[0]]])


def _typed_dict(name: str, bases: str, text: str, members: list[Row]) -> str:
    """A class of keyword arguments whose help is the help of the command line."""
    lines = "".join(f"    {row.python}: {_type(row)}\n" for row in members)
    helps = "".join(
        textwrap.fill(f"{row.python}: {row.help}.", 116, initial_indent="    ", subsequent_indent="        ") + "\n"
        for row in members
    ).replace("\\", "\\\\")
    if name == "QuantizeOptions":
        lines += "    mean: float | Sequence[float]  # of calibration data that are images: a channel value v becomes (v / 255 - mean) / std\n"
        lines += "    std: float | Sequence[float]\n"
    return f'class {name}({bases}total=False):\n    """{text}\n\n{helps}    """\n\n{lines}'


def python_module() -> str:
    """The table and the types of the Python package."""
    taken = [row for row in rows() if row.python]
    quantize = [row for row in taken if row.stage == "Quantize"]
    memory = [row for row in taken if row.group == "kMemory"]
    other = [row for row in taken if row not in quantize and row not in memory]
    names = {
        (kind, value): name for kind, all_values in reversed(values().items()) for value, name in reversed(all_values)
    }
    table = ""
    for row in taken:
        value = next((name for (_, each), name in names.items() if each == row.value), None)
        table += f'    Option("{row.python}", "{STAGES.get(row.stage, "")}", "{row.member}", "{row.kind[1:].lower()}", {value and repr(value).replace(chr(39), chr(34))}),\n'
    spelled = "".join(
        f'    "{name}": {json.dumps(row.help)},\n'
        for row in rows()
        for name in row.names
        if name.startswith("--") and "_" in name.removeprefix("--")
    )
    boards_text = "".join(f'    "{name}",\n' for name in boards())
    targets_text = "".join(f'    "{name}",\n' for name in targets())
    more = "    report: Path | None\n    threads: int\n"
    return f'''"""The options of carina.compile(). Made by scripts/generate_options.py of include/carina/options.def: do not edit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypedDict

Path = str | os.PathLike[str]
Strings = str | Sequence[str]
# The names of carina.targets(), and of targets without an NPU. A TOSA specification may have extensions, such as
# "TOSA-1.0+INT+int16", which this type does not list.
Target = Literal[
{targets_text}]
# The rows of `carina targets --boards`.
Board = Literal[
{boards_text}]


class Option(NamedTuple):
    """A keyword argument, and the member of the request that gets its value."""

    name: str
    part: str  # "target" or "quantize": the part of the request with the member; "": the request
    member: str
    kind: str
    value: str | None = None  # the value that a flag sets; None: its own


OPTIONS = (
{table})

# Help texts of the options that the Arm backend's scripts have, too, by their spelling there.
ARM_HELP = {{
{spelled}}}


{_typed_dict("QuantizeOptions", "TypedDict, ", "Options of quantization, in addition to `quantize` and `calibration`.", quantize)}

{_typed_dict("MemoryOptions", "TypedDict, ", "The memories around an NPU.", memory)}

{_typed_dict("CompileOptions", "QuantizeOptions, MemoryOptions, ", "The options of `carina compile`, with the same names.", other)}{more}'''


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def page() -> str:
    """The page of options."""
    enums = {row.member: row.initial.split("::") for row in rows() if row.kind == "kChoice"}
    lines = ["| command line | Python | values | default | JSON | meaning |", "|---|---|---|---|---|---|"]
    for row in rows():
        if not row.names:
            continue
        default = {"{}": "", "false": "off", "": "off"}.get(row.initial, row.initial)
        limits = row.range.replace("..", " to ")
        if row.kind == "kChoice":
            kind, first = enums[row.member]
            limits = ", ".join(f"`{name}`" for _, name in values()[kind])
            default = next(name for value, name in values()[kind] if value == first)
        elif row.kind not in ("kFlag", "kCount"):
            limits = {"kBytes": "bytes, `512K`", "kPath": "a path", "kInput": "a path", "kPaths": "paths"}.get(
                row.kind, "text"
            )
        lines.append(
            "| "
            + " | ".join(
                [", ".join(map(_code, row.names)), _code(row.python), limits, default, _code(row.json), row.help]
            ).replace("  ", " ")
            + " |"
        )
    return (
        "# Options of a compilation\n\n"
        "This page is made of the table `include/carina/options.def` by `scripts/generate_options.py`. The\n"
        "command line, the Python package and the C++ requests are made of the same rows. The column JSON\n"
        "names the key in a file of `--quantize-config` or in the report of `--json`.\n\n" + "\n".join(lines) + "\n"
    )


OUTPUTS = {ROOT / "python" / "carina" / "_option_table.py": python_module, ROOT / "docs" / "guide" / "options.md": page}


def main() -> int:
    """Writes or checks the outputs."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="Write nothing; exit code 1 if a file differs")
    check = options.parse_args().check
    stale = [path for path, make in OUTPUTS.items() if not path.exists() or path.read_text() != make()]
    for path in stale:
        if check:
            print(
                f"{path.relative_to(ROOT)}: not what include/carina/options.def gives; run scripts/generate_options.py",
                file=sys.stderr,
            )
        else:
            path.write_text(OUTPUTS[path]())
            print(f"{path.relative_to(ROOT)}: written")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
