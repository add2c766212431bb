"""Writes the programs of docs/guide/cpp.md and their CMakeLists.txt into a folder, exactly as the page has them.

usage: guide_programs.py cpp.md FOLDER
"""

import re
import sys
from pathlib import Path


def main() -> None:
    text = Path(sys.argv[1]).read_text()
    folder = Path(sys.argv[2])
    fenced = re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    programs = [block for language, block in fenced if language == "cpp"]
    lists = [block for language, block in fenced if language == "cmake"]
    names = re.findall(r"^`(\w+\.cpp)`", text, flags=re.MULTILINE)
    if len(names) != len(programs) or len(programs) != 3 or len(lists) != 1:
        sys.exit(
            f"{sys.argv[1]}: {len(programs)} programs, {len(names)} names in front of them, {len(lists)} CMakeLists.txt"
        )
    for name, program in zip(names, programs):
        (folder / name).write_text(program)
    (folder / "CMakeLists.txt").write_text(lists[0])


if __name__ == "__main__":
    main()
