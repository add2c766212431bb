#!/usr/bin/env python3
"""Measures the CPU time of a build by library. Standard library only.

usage: export CMAKE_CXX_COMPILER_LAUNCHER=$PWD/scripts/build_times.py CARINA_BUILD_TIMES=/tmp/times
       cmake --preset release -B /tmp/release && cmake --build /tmp/release --target carina
       scripts/build_times.py --table [NUMBER]     a table for docs/testing.md; the NUMBER longest files

As a launcher, it runs the compiler and records its user and system time for each output.
"""

import os
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path


def compile_noting(command: list[str], notes: Path) -> int:
    """Returns the exit code of the compiler. Appends a line to `notes`: seconds, output."""
    code = subprocess.run(command).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code == 0 and "-o" in command:
        with open(notes, "a") as file:
            file.write(f"{used.ru_utime + used.ru_stime:.2f} {command[command.index('-o') + 1]}\n")
    return code


def folder_of(output: str) -> str:
    """src/lower for src/lower/CMakeFiles/carina_lower.dir/Unity/unity_0_cxx.cxx.o. Precompiled headers have a separate entry."""
    if "cmake_pch" in output:
        return "precompiled headers"
    return output.split("/CMakeFiles/")[0] if "/CMakeFiles/" in output else "."


def table(notes: Path, longest: int) -> None:
    seconds = {}
    for line in notes.read_text().splitlines():
        time, output = line.split(" ", 1)
        seconds[output] = float(time)  # the last compilation counts
    folders = defaultdict(list)
    for output, time in seconds.items():
        folders[folder_of(output)].append(time)
    print("| folder | compiler runs | CPU s |\n|---|---|---|")
    for folder, times in sorted(folders.items(), key=lambda item: -sum(item[1])):
        print(f"| `{folder}` | {len(times)} | {sum(times):.0f} |")
    print(f"| all | {len(seconds)} | {sum(seconds.values()):.0f} |")
    for output in sorted(seconds, key=lambda name: -seconds[name])[:longest]:
        print(f"{seconds[output]:6.1f} {output}")


def main() -> int:
    if "CARINA_BUILD_TIMES" not in os.environ or len(sys.argv) < 2:
        sys.exit(__doc__)
    notes = Path(os.environ["CARINA_BUILD_TIMES"])
    if sys.argv[1] != "--table":
        return compile_noting(sys.argv[1:], notes)
    table(notes, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
