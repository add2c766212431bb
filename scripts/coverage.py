#!/usr/bin/env python3
"""Line coverage by library, from a build of the preset `coverage` whose tests ran (make coverage).

usage: scripts/coverage.py PYTHON      a Python with gcovr

Makes build/coverage/page/index.html and writes the table of docs/testing.md. Coverage counts lines of src and runtime.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("CARINA_BUILD", "build") / "coverage"
PAGE = ROOT / "docs" / "testing.md"
BEGIN, END = "<!-- coverage: make coverage -->\n", "<!-- end of coverage -->\n"


def library_of(file):
    """src/lower/x.cpp -> lower; runtime/kernels/x.cpp -> runtime"""
    parts = Path(file).parts
    return parts[1] if parts[0] == "src" else parts[0]


def summary(python):
    page, result = BUILD / "page" / "index.html", BUILD / "coverage.json"
    page.parent.mkdir(parents=True, exist_ok=True)
    command = [python, "-m", "gcovr", "--root", ROOT, "--filter", f"{ROOT}/src/", "--filter", f"{ROOT}/runtime/", "--exclude-throw-branches",
               "--gcov-ignore-errors=no_working_dir_found", "--gcov-ignore-parse-errors=negative_hits.warn", "-j", os.environ.get("JOBS", "2"),
               "--html-details", page, "--json-summary", result, BUILD]  # fmt: skip
    subprocess.run(list(map(str, command)), check=True, cwd=BUILD, stdout=subprocess.DEVNULL)
    return json.loads(result.read_text())["files"]


def table(files):
    covered, lines = defaultdict(int), defaultdict(int)
    for file in files:
        for name in (library_of(file["filename"]), "**all**"):
            covered[name] += file["line_covered"]
            lines[name] += file["line_total"]
    rows = [
        f"| {name} | {lines[name]:,} | {100 * covered[name] / lines[name]:.1f} % |"
        for name in sorted(lines, key=lambda n: (n[0] == "*", n))
    ]
    return "\n".join(["| library | lines | covered |", "|---|--:|--:|", *rows]) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    made = table(summary(sys.argv[1]))
    print(made)
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + made + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
