"""Generates the type stubs of carina.arm, so that a type checker knows its names as those of carina_arm.

usage: generate_arm_types.py [--check]     --check: writes nothing; exit code 1 if a stub is out of date

carina.arm finds its modules when they are imported, which a type checker does not do. A stub is one line for each module of carina_arm.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "python" / "carina_arm"
STUBS = ROOT / "python" / "carina" / "arm"
HEAD = "# Made by scripts/generate_arm_types.py: do not edit.\n"


def package_stub() -> str:
    """The names that carina_arm/__init__.py imports for type checkers."""
    tree = ast.parse((MODULES / "__init__.py").read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    lines = [
        f"from carina_arm.{node.module} import {alias.name} as {alias.name}\n"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    return HEAD + "".join(lines)


def stubs() -> dict[Path, str]:
    """The text of each stub."""
    names = sorted(path.stem for path in MODULES.glob("*.py") if path.stem != "__init__")
    lines = {STUBS / f"{name}.pyi": f"{HEAD}from carina_arm.{name} import *  # noqa: F403\n" for name in names}
    return {STUBS / "__init__.pyi": package_stub(), **lines}


def main() -> int:
    """Writes or checks the stubs."""
    wanted, check = stubs(), "--check" in sys.argv[1:]
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    stale += [path for path in STUBS.rglob("*.pyi") if path not in wanted]
    for path in stale:
        if check:
            print(
                f"{path.relative_to(ROOT)}: not what python/carina_arm gives; run scripts/generate_arm_types.py",
                file=sys.stderr,
            )
        elif path in wanted:
            path.write_text(wanted[path])
        else:
            path.unlink()
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
