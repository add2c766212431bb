"""Checks that every attribute that the libraries look up by name is an argument of an ATen schema or an attribute of a TOSA operator.

Attributes are looked up by name, so a typo would show only when a node with it occurs. usage: check_attributes.py FOLDER_OF_THE_PROJECT
"""

import re
import sys
from pathlib import Path

FOLDERS = (
    "ir",
    "frontend/tosa",
    "interpret",
    "normalize",
    "lower",
    "legalize",
    "observe",
    "quantize",
    "partition",
    "plan",
    "pte",
)
BUILDERS = (
    "normalize",
    "lower",
    "legalize",
    "observe",
    "quantize",
    "partition",
)  # they make nodes, where {"dim", axis} is an attribute
OWN = {"delegate"}  # an attribute of a delegate's call, which only Carina makes
ASKED = re.compile(r'\b(?:integers?|number|is_none|find|set|get(?:<[^()"]*?>)?)\("(\w+)"')
GIVEN = re.compile(r'(?<!\w)\{"(\w+)", ')  # after a type's name, the brace begins another kind of row


def names_of_aten(text):
    for schema in re.findall(r'CARINA_ATEN_OP\([^"]*"\((.*?)\) ->', text):
        for argument in schema.split(","):
            if found := re.match(r"\s*\S+(?:\[\d*\])?\??\s+(\w+)", argument):
                yield found[1]


def names_of_tosa(root):
    for table in (root / "facts").glob("tosa*"):
        yield from re.findall(r'"(\w+)"', table.read_text())


def names_used(root):
    for library in FOLDERS:
        for path in sorted((root / "src" / library).rglob("*.[ch]*")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found = ASKED.findall(line) + (GIVEN.findall(line) if library in BUILDERS else [])
                for name in found:
                    yield name, f"{path.relative_to(root)}:{number}"


def main(root):
    aten = "".join(table.read_text() for table in (root / "facts" / "aten").glob("*.def"))
    known = {*names_of_aten(aten), *names_of_tosa(root), *OWN}
    used = list(names_used(root))
    wrong = [f"{where}: no operator has an attribute {name}" for name, where in used if name not in known]
    print("\n".join(wrong) or f"{len(used)} uses of {len({name for name, _ in used})} attributes")
    return 1 if wrong or len(used) < 100 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
