"""Runs the program `carina` of the package: `python -m carina compile ...`."""

import os
import sys
from pathlib import Path


def program_path() -> Path:
    """The path of the program: beside this file in an installed package, else two folders up in the build."""
    here = Path(__file__).parent
    built = here.parent.parent / "bin" / "carina"
    return built if built.exists() and not (here / "bin").exists() else here / "bin" / "carina"


def main() -> None:
    """Replaces this process by the program, with the same arguments."""
    program = str(program_path())
    os.environ.setdefault("CARINA_PYTHON", sys.executable)  # commands that run in Python use this interpreter
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
