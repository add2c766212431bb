"""Unit tests are named Subject.condition_result: lower case, two words or more.

Example: `Npz.truncated_archive_is_an_error`. usage: check_test_names.py FOLDER_OF_THE_PROJECT
"""

import re
import sys
from pathlib import Path

TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
NAME = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)+")


def main(root):
    tests = [
        (path.relative_to(root), *found)
        for path in sorted((root / "tests" / "unit").rglob("*.cpp"))
        for found in TEST.findall(path.read_text())
    ]
    if not tests:
        sys.exit("check_test_names: no unit tests found")
    wrong = [
        f"{path}: {suite}.{name} is not of the form Subject.condition_result"
        for path, suite, name in tests
        if not NAME.fullmatch(name)
    ]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(tests)} unit tests have names of the form Subject.condition_result")


main(Path(sys.argv[1]))
