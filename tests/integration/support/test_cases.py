"""The cases of the repository: a folder has the content of its recipe, and is made again if the recipe changes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cases import store
from cases_fixtures import made_case


@pytest.fixture
def copy(monkeypatch, tmp_path):
    """A case in a separate folder of cases."""
    shutil.copytree(made_case("add_float").path, tmp_path / "cases" / "add_float")
    monkeypatch.setattr(store, "CASES", tmp_path / "cases")
    return tmp_path / "cases" / "add_float"


def test_existing_cases_are_not_made_again():
    assert [name for name in store.recipes() if not store.is_made(name)] == []
    assert store.ensure() == []


def test_a_case_without_one_of_its_files_is_not_made(copy):
    assert store.is_made("add_float")
    (copy / "ethos-u85-256" / "model.pte").unlink()
    assert not store.is_made("add_float")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"recipe": {"sources": "0"}, "files": []}'])
def test_a_case_of_another_recipe_is_not_made(text, copy):
    (copy / "recipe.json").write_text(text)
    assert not store.is_made("add_float")


def test_another_version_of_a_peer_is_another_recipe(copy, monkeypatch):
    monkeypatch.setattr(store.importlib.metadata, "version", lambda peer: "0")
    assert not store.is_made("add_float")


def test_a_recipe_depends_on_what_it_imports():
    names = {path.name for path in store.sources_of(store.HERE / "recipes" / "kws.py")}
    assert names == {"kws.py", "networks.py", "peers.py", "targets.py"}
    digests = [store.recipe_of(name)["sources"] for name in store.recipes()]
    assert len(set(digests)) == len(digests)


MADE_AGAIN = """
import sys
from pathlib import Path

import torch
from cases import peers, store
from cases.recipes import add_float

copy = Path(sys.argv[1])
store.CASES = copy.parent
store.make("add_float")
alone = copy / "alone"
alone.mkdir()
peers.compile_for(torch.export.load(copy / "model_int8.pt2"), add_float.case().inputs, "ethos-u85-256", alone, alone)
"""


@pytest.mark.long
def test_a_case_made_again_has_the_same_numbers(copy):
    """The second target's program, into which only Vela's part is put, equals the program of the peer's own flow. A process of its own makes
    them: other tests replace parts of the peer in this one."""
    kept = copy.rename(copy.with_name("kept"))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MADE_AGAIN, copy],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    files = json.loads((copy / "recipe.json").read_text())["files"]
    assert files == json.loads((kept / "recipe.json").read_text())["files"]
    # An archive of PyTorch also contains the times and paths of its sources.
    for file in (file for file in files if not file.endswith(".pt2") and not file.endswith("summary.csv")):
        assert (copy / file).read_bytes() == (kept / file).read_bytes(), file
    assert (copy / "alone" / "model.pte").read_bytes() == (copy / "ethos-u85-256" / "model.pte").read_bytes()
