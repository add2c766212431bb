"""Generates the modules of carina.arm, each of which imports the names of the module of carina_arm with the same name.

usage: generate_arm_modules.py [--check]     --check: writes nothing; exit code 1 if a module is out of date

The package itself finds names when they are first used, which a type checker does not do: its stub lists them.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "python" / "carina_arm"
FACADE = ROOT / "python" / "carina" / "arm"
HEAD = "# Made by scripts/generate_arm_modules.py: do not edit.\n"


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


def modules() -> dict[Path, str]:
    """The text of each module, and of the stub of the package."""
    names = sorted(path.stem for path in MODULES.glob("*.py") if path.stem != "__init__")
    lines = {FACADE / f"{name}.py": f"{HEAD}from carina_arm.{name} import *  # noqa: F403\n" for name in names}
    return {FACADE / "__init__.pyi": package_stub(), **lines}


def main() -> int:
    """Writes or checks the modules."""
    wanted, check = modules(), "--check" in sys.argv[1:]
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    stale += [path for path in FACADE.rglob("*.py*") if path not in wanted and path.suffix in (".py", ".pyi")]
    stale = [path for path in stale if path != FACADE / "__init__.py"]
    for path in stale:
        if check:
            print(
                f"{path.relative_to(ROOT)}: not what python/carina_arm gives; run scripts/generate_arm_modules.py",
                file=sys.stderr,
            )
        elif path in wanted:
            path.write_text(wanted[path])
        else:
            path.unlink()
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
