"""Modules of the integration tests are imported by plain names from several folders (pytest's `pythonpath`), so no two have one name."""

from collections import Counter

from conftest import ROOT

TESTS = ROOT / "tests" / "integration"
PACKAGES = {"cases", "random_modules"}  # imported as cases.store
SCRIPTS = {"tutorials"}  # not imported


def test_no_two_modules_have_one_name():
    modules = [path for path in TESTS.rglob("*.py") if path.parent.name not in SCRIPTS]
    names = Counter(path.stem for path in modules if path.stem.startswith("test_") or not PACKAGES & set(path.parts))
    assert len(names) > 150 and not [name for name, number in names.items() if number > 1]


def test_every_test_stands_in_a_folder():
    """scripts/test.py looks for a test in the folders."""
    assert not list(TESTS.glob("test_*.py"))
