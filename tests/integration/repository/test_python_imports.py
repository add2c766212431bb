"""Checks which module of the Python packages imports which: carina is the base, carina_arm is built on it."""

import ast
from pathlib import Path

from conftest import ROOT

PACKAGES = ROOT / "python"
# Modules that only forward to carina_arm: names of the Arm backend, and programs. No module imports them.
FACADES = ("carina.arm", "carina.aot_arm_compiler", "carina.arm_build", "carina.arm_run", "carina.evaluate_model")


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGES).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports anywhere, also inside functions and for type checkers."""
    tree, own = ast.parse(path.read_text()), module_of(path)
    package = own if path.name == "__init__.py" else own.rpartition(".")[0]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            found.add(".".join([*base, *([node.module] if node.module else [])]))
    return found


def all_imports() -> dict[str, set[str]]:
    files = [*(PACKAGES / "carina").rglob("*.py"), *(PACKAGES / "carina_arm").rglob("*.py")]
    return {module_of(path): imports_of(path) for path in files}


def is_within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


def test_carina_does_not_import_carina_arm():
    imports = all_imports()
    base = {
        name: found for name, found in imports.items() if is_within(name, ("carina",)) and not is_within(name, FACADES)
    }
    assert len(base) > 15 and not {
        name: sorted(found) for name, found in base.items() if any(is_within(one, ("carina_arm",)) for one in found)
    }


def test_no_module_imports_a_facade():
    imports = all_imports()
    assert any("carina_arm" in one for one in imports["carina.arm_run"]), "the search finds imports"
    assert not {
        name: sorted(found)
        for name, found in imports.items()
        if not is_within(name, FACADES) and any(is_within(one, FACADES) for one in found)
    }
