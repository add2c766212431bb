#!/usr/bin/env python3
"""Compares the program for Windows (preset `windows`, under Wine) with the program for this machine: same programs, same outputs.

usage: scripts/windows_test.py [MODEL ...]      (.pt2 or .tosa; default: models/digits for three NPUs and schemes)

Needs build/release, build/windows and wine. Standard library only.
"""

import os
import sys
import tempfile
from pathlib import Path

from aarch64_test import CASES, HERE, ROOT, made_by

THERE = ["wine", ROOT / "build" / "windows" / "bin" / "carina.exe"]


def main() -> int:
    os.environ["WINEDEBUG"] = "-all"
    cases = [[Path(model).resolve(), "--target", "ethos-u55-128"] for model in sys.argv[1:]] or list(CASES)
    failed = 0
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="carina-windows-") as folder:
            here, there = made_by([*HERE], case, Path(folder, "here")), made_by([*THERE], case, Path(folder, "there"))
        different = [name for name, content in here.items() if content != there[name]]
        failed += bool(different)
        print(
            f"{' '.join(Path(str(word)).name for word in case)}: {'DIFFERENT ' + ', '.join(different) if different else 'same bytes'}",
            flush=True,
        )
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
