"""What the documentation says is what the program does."""

import json
import re
import subprocess

import guide_pages
import pytest
from conftest import ROOT


def test_supported_ops_is_current(run_carina):
    printed = run_carina(["ops"]).stdout
    assert (ROOT / "docs" / "SUPPORTED_OPS.md").read_text() == printed, "run `carina ops > docs/SUPPORTED_OPS.md`"
    listed = json.loads(run_carina(["ops", "--json"]).stdout)
    names = re.findall(r"^\| (\w+\.\S+) \|", printed, flags=re.MULTILINE)
    assert [row["name"] for kind in ("aten", "tosa") for row in listed[kind]] == names


def test_every_subcommand_has_help_with_examples(run_carina):
    listing = run_carina(["--help"]).stdout
    commands = [line.split()[0] for line in listing.split("Subcommands:")[1].splitlines() if line.startswith("  ")]
    assert {"compile", "run", "explain", "tosa", "interpret", "inspect", "disasm"} <= set(commands)
    for command in commands:
        assert "Examples:" in run_carina([command, "--help"]).stdout


@pytest.mark.parametrize("page", guide_pages.pages(), ids=lambda page: page.stem)
def test_the_guide_shows_what_commands_print(carina, page, tmp_path):
    for session, lines in guide_pages.run_page(page, tmp_path, carina):
        now = "\n".join(lines)
        assert guide_pages.agrees(session, lines), f"run python tests/integration/guide_pages.py: $ {session.command}\n{now}"


# --- what the pages and the code's comments point to ---------------------------------------------------------------

CODE = ("*.h", "*.cpp", "*.def", "*.py", "*.cmake", "CMakeLists.txt", "*.toml", "*.sh", "Makefile")


def tracked(*patterns):
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *tracked("docs/*.md")]


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def links_of(page):
    """The files that a page links to, as paths."""
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if not re.match(r"[a-z]+:", target):
            yield target, (page.parent / target.split("#")[0]).resolve() if not target.startswith("#") else page


def test_every_relative_link_leads_somewhere():
    links = [(page, name, file) for page in pages() for name, file in links_of(page)]
    assert not [f"{page.relative_to(ROOT)}: {name}" for page, name, file in links if not file.exists()]


def test_every_page_is_reachable_from_the_readme():
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        for _, file in links_of(page):
            todo += [file] if file.suffix == ".md" else file.glob("*.md") if file.is_dir() else []
    assert not {str(page.relative_to(ROOT)) for page in pages()} - {str(page.relative_to(ROOT)) for page in reached}


def test_sources_that_the_code_cites_are_here():
    """docs/facts/ethosu.md 4.1, 4.8: the page exists, and has headings that begin with these numbers."""
    cited, missing = 0, []
    for file in tracked(*CODE):
        text = re.sub(r"\s*\n\s*(//|#)\s*", " ", file.read_text()) if file.name != "test_docs.py" else ""
        for page, numbers in re.findall(r"(docs/[\w/-]+\.md)((?:,? (?:and )?\d+(?:\.\d+)?(?![\w.]*\d))*)", text):
            cited += 1
            content = (ROOT / page).read_text() if (ROOT / page).exists() else None
            if content is None:
                missing.append(f"{file.relative_to(ROOT)}: {page}")
                continue
            for number in re.findall(r"\d+(?:\.\d+)?", numbers):
                if not re.search(rf"^#+ {re.escape(number)}[. ]", content, re.MULTILINE):
                    missing.append(f"{file.relative_to(ROOT)}: {page} {number}")
    assert not missing
    assert cited > 30, "the search finds what the code cites"


def test_no_source_outside_the_repository_is_cited():
    outside = re.compile(r"(?<!docs/)\bfacts/(ethosu|formats|arm_backend)\b|\b(STYLE|DESIGN)\.md\b")
    files = [file for file in tracked(*CODE) if file.name != "test_docs.py"]
    found = [str(file.relative_to(ROOT)) for file in files if outside.search(file.read_text())]
    assert not found


def test_files_that_the_howtos_name_exist():
    """`src/x/y.cpp` in a page for developers is a file, and `src/x/<family>.cpp` a pattern that some file fits."""
    names = re.compile(r"`((?:src|facts|runtime|tests|tools|docs|scripts|fuzz|bench|cmake)/[\w/.<>*-]+)`")
    others = ("CONTRIBUTING.md", "docs/architecture.md", "docs/testing.md", "docs/debugging.md")
    read = [*tracked("docs/howto/*.md"), *(ROOT / name for name in others)]
    named = {(page, name) for page in read for name in names.findall(page.read_text())}
    fits = {name: any(ROOT.glob(re.sub(r"<[^>]*>", "*", name).rstrip("/"))) for _, name in named}
    assert not [f"{page.relative_to(ROOT)}: {name}" for page, name in sorted(named) if not fits[name]]
    assert len({page for page, _ in named}) >= 6
