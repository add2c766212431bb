"""Rejects cycles of imports among the modules of each Python package. Imports inside functions and for types count.

usage: check_imports.py SOURCE_DIR
"""

import ast
import pathlib
import sys

PACKAGES = ("carina", "carina_arm")
FACADES = {"carina", "carina.arm"}  # they look up names of carina_arm at their first use
RE_EXPORTS = "carina.arm."  # modules of one line, which nothing of carina imports (scripts/generate_arm_modules.py)
# Scripts of the Arm backend: python -m carina.NAME
COMMANDS = {"carina.aot_arm_compiler", "carina.arm_build", "carina.arm_run", "carina.evaluate_model"}


def modules(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    found = {}
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(name: str, file: pathlib.Path, known: set[str]) -> set[str]:
    """The modules of this package that a file imports."""
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    wanted = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            wanted |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            wanted |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names}
    return {each for each in wanted if each in known and each != name}


def cycle(graph: dict[str, set[str]]) -> list[str]:
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph[name]):
            if found := visit(other, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := visit(name, []))), [])


def main() -> int:
    root = pathlib.Path(sys.argv[1]) / "python"
    files = {name: file for package in PACKAGES for name, file in modules(root / package).items()}
    # A package's __init__ re-exports names: it may import its modules. The modules import each other, but not __init__.
    graph = {
        name: imported(name, file, set(files)) for name, file in files.items() if name not in (*FACADES, "carina_arm")
    }
    graph = {name: {other for other in others if other in graph} for name, others in graph.items()}
    if found := cycle(graph):
        print("a cycle of imports: " + " -> ".join(found))
        return 1
    own = [
        name
        for name in graph
        if name.startswith("carina.") and name not in COMMANDS and not name.startswith(RE_EXPORTS)
    ]
    foreign = ("carina_arm", RE_EXPORTS)
    outside = [f"{name} imports {other}" for name in own for other in graph[name] if other.startswith(foreign)]
    print("\n".join(outside) or f"{len(graph)} modules: no cycle, and carina needs nothing of carina_arm")
    return 1 if outside or len(graph) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
