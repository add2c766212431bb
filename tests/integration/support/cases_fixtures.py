"""The networks of the tests: those that the repository makes (cases/README.md), and those of ../shared if that folder exists.

case             one test per case. @pytest.mark.cases("kws", "resnet20") selects some of them from both folders. With either=True, a case
of ../shared replaces the made one with the same name. Use that where a run is slow and one network is enough.
cases_folder     the folder of the cases: build/cases, then also ../shared/cases
shared           path of ../shared ($CARINA_SHARED); without it the test is reported as "not run: no ../shared"
"""

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from cases import store

SHARED = Path(os.environ.get("CARINA_SHARED", store.ROOT.parent / "shared"))
NO_SHARED = "not run: no ../shared"


@dataclass(frozen=True)
class Case:
    """One folder of cases (cases/README.md)."""

    path: Path

    @property
    def name(self):
        return self.path.name

    @property
    def model(self):
        return self.path / "model.pt2"

    @property
    def model_int8(self):
        return self.path / "model_int8.pt2"

    def array(self, name):
        return np.load(self.path / f"{name}.npy", allow_pickle=False)

    def arrays(self, prefix):
        """input_ -> [input_0.npy, input_1.npy, ...]"""
        found = sorted(self.path.glob(f"{prefix}[0-9]*.npy"), key=lambda p: int(p.stem.rsplit("_", 1)[1]))
        return [np.load(p, allow_pickle=False) for p in found]

    @property
    def inputs(self):
        return self.arrays("input_")

    def for_target(self, target, name):
        """The file in the target's folder if it exists, else the one in the folder above."""
        own = self.path / target / name
        return own if own.exists() else self.path / name


def cases_folders():
    """build/cases, and ../shared/cases if it exists."""
    return [store.CASES, *(folder for folder in [SHARED / "cases"] if folder.is_dir())]


def case_folders():
    """The folders of all cases: the made ones, then those of ../shared."""
    made = [store.CASES / name for name in sorted(store.recipes())]
    return made + sorted(p for p in (SHARED / "cases").glob("*") if (p / "model.pt2").exists())


def id_of(path):
    """kws, shared-kws, kws-out.tosa, shared-kws-ethos-u55-128-out.tosa"""
    path = Path(path)
    if path.is_relative_to(store.CASES):
        return "-".join(path.relative_to(store.CASES).parts)
    return "-".join(("shared", *path.relative_to(SHARED / "cases").parts))


def made_case(name):
    return Case(store.CASES / name)


def make_cases(config):
    """Runs once per session before tests are collected, since the tests are named after the files. Workers use the cases that their
    controller made."""
    if hasattr(config, "workerinput") or all(store.is_made(name) for name in store.recipes()):
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        done = subprocess.run([sys.executable, Path(__file__).parents[1] / "make_cases.py"])
    if done.returncode != 0:
        raise pytest.UsageError("the cases could not be made (tests/integration/make_cases.py)")


def pytest_generate_tests(metafunc):
    if "cases_folder" in metafunc.fixturenames:
        folders = cases_folders()
        metafunc.parametrize("cases_folder", folders, ids=["made", "shared"][: len(folders)], scope="module")
    if "case" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("cases")
    folders = case_folders()
    if marker:
        unknown = set(marker.args) - {p.name for p in folders}
        if unknown:
            raise pytest.UsageError(f"{metafunc.function.__name__}: no such case: {', '.join(sorted(unknown))}")
        folders = [p for p in folders if p.name in marker.args]
        if marker.kwargs.get("either"):
            folders = list({p.name: p for p in folders}.values())
    metafunc.parametrize("case", [Case(p) for p in folders], ids=[id_of(p) for p in folders])


@pytest.fixture(scope="session")
def shared():
    if not SHARED.is_dir():
        pytest.skip(NO_SHARED)  # the report names it, so it is not left out silently
    return SHARED
