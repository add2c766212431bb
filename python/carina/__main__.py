"""The program `carina`, as the package carries it: `python -m carina compile ...`."""

import os
import sys
from pathlib import Path


def _program() -> Path:
    """Beside this file in an installed package; in the build of the source tree, two folders up."""
    here = Path(__file__).parent
    built = here.parent.parent / "bin" / "carina"
    return built if built.exists() and not (here / "bin").exists() else here / "bin" / "carina"


def main() -> None:
    """Becomes the program, with this process's arguments."""
    program = str(_program())
    os.environ.setdefault("CARINA_PYTHON", sys.executable)  # for its commands that run in Python
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
