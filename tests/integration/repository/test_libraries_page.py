"""The page of libraries lists every library, its neighbors, and the contract of each header that other libraries may include."""

import subprocess
import sys

import tomllib
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import generate_libraries  # noqa: E402


def test_page_has_every_library(tmp_path):
    output = tmp_path / "libraries.md"
    subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate_libraries.py", output], check=True, capture_output=True
    )
    text = output.read_text()
    names = tomllib.loads((ROOT / "libraries.toml").read_text())["libraries"]
    assert [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")] == list(names)


def test_every_library_has_a_job_and_files():
    for library in generate_libraries.libraries():
        assert library.job
        assert library.lines > 0 or library.headers, library.name


def test_every_header_has_a_contract():
    headers = [header for library in generate_libraries.libraries() for header in library.headers]
    assert len(headers) > 100
    assert [
        header.relative_to(ROOT).as_posix() for header in headers if not generate_libraries._first_sentence(header)
    ] == []


def test_drawing_implies_every_include():
    found = generate_libraries.libraries()
    arrows = generate_libraries.edges(found)
    reached = {}
    for library in found:
        direct = {b for a, b in arrows if a == library.name}
        reached[library.name] = direct.union(*(reached[name] for name in direct))
        assert set(library.includes) <= reached[library.name], library.name
