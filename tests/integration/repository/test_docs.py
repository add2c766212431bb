"""Checks that the documentation agrees with the program."""

import json
import re
import subprocess
import sys

import adr_index
import guide_pages
import pytest
import references
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import format_comments  # noqa: E402
import format_markdown  # noqa: E402
import generated_pages  # noqa: E402


def test_the_summary_of_operators_is_current(run_carina):
    listed = json.loads(run_carina(["ops", "--json"]).stdout)
    summary = generated_pages.operators_summary(listed)
    assert (ROOT / "docs" / "SUPPORTED_OPS.md").read_text() == summary, (
        "run python3 scripts/generated_pages.py --summaries"
    )
    names = re.findall(r"^\| (\w+\.\S+) \|", run_carina(["ops"]).stdout, flags=re.MULTILINE)
    assert [row["name"] for kind in ("aten", "tosa") for row in listed[kind]] == names
    for row in listed["aten"]:
        space, name, _ = row["name"].split(".", 2)
        assert re.search(rf"(^|, |\n){re.escape(name if space == 'aten' else f'{space}.{name}')}[,\n]", summary), row


def test_summaries_of_generated_pages_are_short_and_say_where_the_rest_is():
    summaries = ("SUPPORTED_OPS", "tosa-operators", "kernels", "conformance-arm", "conformance-arm-api", "interop")
    for name in summaries:
        text = (ROOT / "docs" / f"{name}.md").read_text()
        assert len(text.splitlines()) <= generated_pages.MAX_LINES and f"build/pages/{name}.md" in text, name


def test_pages_of_figures_that_programs_write_are_short():
    assert len((ROOT / "docs" / "cycle-model.md").read_text().splitlines()) <= generated_pages.MAX_LINES


def test_a_page_is_divided_at_its_mark():
    page = f"# Title\n\nFigures.\n\n{generated_pages.DETAILS}\n| all | rows |\n"
    text = generated_pages.summary("name.md", page, "make docs")
    assert text.startswith("# Title\n\nFigures.\n\nThe details") and "rows" not in text


def test_every_subcommand_has_help_with_examples(run_carina):
    listing = run_carina(["--help"]).stdout
    commands = re.findall(r"^  (\S+)", listing.split("Subcommands:")[1], flags=re.MULTILINE)
    assert {"compile", "run", "explain", "tosa", "interpret", "inspect", "disasm"} <= set(commands)
    for command in commands:
        text = run_carina([command, "--help"]).stdout
        assert "Examples:" in text
        if not text.startswith("usage:"):  # argparse keeps the line breaks of a script's description
            assert max(map(len, text.splitlines())) <= 100, command  # the width without a terminal


# Their commands take a minute and more: in `make test-all`.
LONG_PAGES = {"scripts", "from-the-arm-backend", "official-runtime"}


def marked(pages):
    return [pytest.param(page, marks=[pytest.mark.long] * (page.stem in LONG_PAGES)) for page in pages]


@pytest.mark.parametrize("page", marked(guide_pages.pages()), ids=lambda page: page.stem)
def test_the_guide_shows_what_commands_print(carina, page, tmp_path):
    for session, lines in guide_pages.run_page(page, tmp_path, carina):
        now = "\n".join(lines)
        assert guide_pages.agrees(session, lines), (
            f"run python tests/integration/repository/guide_pages.py: $ {session.command}\n{now}"
        )


@pytest.mark.parametrize("page", marked(guide_pages.pages_with_programs()), ids=lambda page: page.stem)
def test_the_guide_shows_what_programs_print(carina, page, tmp_path):
    for program, lines in guide_pages.run_programs(page, tmp_path, carina):
        assert program.lines == lines, "run python tests/integration/repository/guide_pages.py"
    for folder, files in guide_pages.listings(page.read_text()):
        assert sorted(path.name for path in (tmp_path / folder).iterdir()) == files


@pytest.mark.parametrize("page", sorted(guide_pages.GUIDE.glob("*.md")), ids=lambda page: page.stem)
def test_every_output_of_the_guide_is_compared(page):
    assert not guide_pages.uncompared(page), "write the command that prints the block before it: <!-- $ COMMAND -->"


def test_a_part_of_an_output_is_compared():
    text = "<!-- $ seq 5 -->\n```\n2\n3\n```\n```\nnothing\n```\n"
    (session,) = (session for block in guide_pages.blocks(text) for session in guide_pages.sessions(block))
    assert guide_pages.agrees(session, ["1", "2", "3", "4"]) and not guide_pages.agrees(session, ["1", "2", "4"])


def test_a_program_of_the_guide_is_paired_with_its_output():
    text = "```python\na\n```\nprints\n```\n1\n```\n```python\nb\n```\n```\n2\n```\n```python\nc\n```\nthen:\n```\nd\n```\n"
    assert guide_pages.programs(text) == [("a\n", ["1"]), ("b\n", ["2"])]
    assert {page.stem for page in guide_pages.pages_with_programs()} == {
        "from-the-arm-backend",
        "official-runtime",
        "python",
        "qat",
    }


# --- references of pages and of code comments ----------------------------------------------------------------------

CODE = ("*.h", "*.cpp", "*.def", "*.py", "*.cmake", "CMakeLists.txt", "*.toml", "*.sh", "Makefile")


def tracked(*patterns):
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
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


MEASURED = ("README.md", "docs/against-vela.md", "docs/against-vela-models.md")  # pages with rows of `make bench`


def commits_of(text):
    return re.findall(r"\bcommit ([0-9a-f]{7,40}\+?)", " ".join(text.split()))


def is_known(commit):
    return (
        subprocess.run(
            ["git", "-c", "safe.directory=*", "cat-file", "-e", commit + "^{commit}"], cwd=ROOT, capture_output=True
        ).returncode
        == 0
    )


def test_a_page_of_measurements_names_a_commit_of_this_repository():
    unknown = {page: commits_of((ROOT / page).read_text()) for page in MEASURED}
    assert not {page: commits for page, commits in unknown.items() if len(commits) != 1 or not is_known(commits[0])}
    assert not is_known("0" * 40) and not is_known(commits_of("on Monday,\ncommit 9e6620212d+")[0]), (
        "a tree that differs from its commit is known to nobody"
    )


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
    """docs/facts/ethosu.md 4.1, 4.8: the page exists and has headings with these numbers."""
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


def test_functions_that_the_tour_names_exist():
    """`src/x/y.cpp:function` in docs/tour.md: the file exists and defines the function."""
    named = re.findall(r"`([\w/]+\.(?:cpp|h)):([\w:]+)`", (ROOT / "docs" / "tour.md").read_text())
    assert not [f"{file}:{name}" for file, name in named if not (ROOT / file).exists()]
    assert not [f"{file}:{name}" for file, name in named if not references.is_defined(name, (ROOT / file).read_text())]
    assert len(named) > 40


def test_a_function_that_the_tour_invents_is_found():
    source = "namespace x {\nResult<int> Machine::run(const Log& log) {\n  return step(1);\n}\n}\n"
    assert references.is_defined("Machine::run", source) and references.is_defined("run", source)
    assert not references.is_defined("Simulator::run", source)
    assert not references.is_defined("step", source), "a call is no definition"


def test_prose_is_wrapped():
    long = [
        f"{page.relative_to(ROOT)}:{line}"
        for page in tracked("*.md")
        for line, _ in format_markdown.too_long(page.read_text())
    ]
    assert not long, "run python3 scripts/format_markdown.py FILE..."


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 126


def test_comments_are_wrapped():
    sources = [path for path in tracked(*format_comments.PATTERNS) if "tests/integration/cases" not in path.as_posix()]
    long = [
        f"{path.relative_to(ROOT)}:{line}" for path in sources for line in format_comments.too_long(path.read_text())
    ]
    assert len(sources) > 1000 and not long, "run python3 scripts/format_comments.py FILE..."


def test_the_formatter_of_comments_passes_words_on():
    words = ["word"] * 30
    text = "\n".join([f"  // {' '.join(words)}", "  // next", "  //   Example: kept", "  call();  // " + "x " * 60, ""])
    made = format_comments.formatted(text)
    assert made.splitlines()[:2] == ["  // " + " ".join(words[:23]), "  // " + " ".join(words[23:]) + " next"]
    assert format_comments.too_long(text) == [1] and not format_comments.too_long(made)
    assert made.splitlines()[2:] == text.splitlines()[2:]


def test_the_formatter_wraps_prose_alone():
    words = "word " * 30
    text = f"# {words}\n\n{words}\n\n- {words}`a code span`\n\n| {words} |\n\n```\n{words}\n```\n"
    made = format_markdown.formatted(text)
    assert [line for line, _ in format_markdown.too_long(text)] == [3, 5] and not format_markdown.too_long(made)
    assert made.split() == text.split() and format_markdown.formatted(made) == made
    for kept in (f"# {words}\n", f"| {words} |\n", f"```\n{words}\n```\n"):
        assert kept in made


def test_names_in_pages_and_comments_exist():
    assert not references.dead(), "run python tests/integration/repository/references.py"


@pytest.mark.parametrize(
    "span",
    [
        "schedule/cascade_search.cpp",
        "src/plan/no_such_folder/<name>.cpp",
        "plan/optimise",
        "docs/no-such-page.md",
        "src/driver/compile.cpp:compile_nothing",
        "carina compile --unheard-of",
        "Options::no_such_member",
        "no_such_function()",
        "no_such_name",
        "kNoSuchName",
    ],
)
def test_a_name_that_leads_nowhere_is_found(span):
    page = f"Text.\n```\nblock\n```\nA page names `{span}` and `base/io/file.h`.\n"
    assert references.dead_in_page("page.md", page) == [references.Reference("page.md", 5, span)]


def test_a_comment_that_names_nothing_is_found():
    missing = "plan/no_such.h"
    code = f"int x;  // see {missing} and base/io/file.h\n// --unheard-of, no_such_call(), compile()\nno_such_call();\n"
    assert [str(reference) for reference in references.dead_in_code("x.cpp", code)] == [
        f"x.cpp:1: {missing}",
        "x.cpp:2: --unheard-of",
        "x.cpp:2: no_such_call()",
    ]


@pytest.mark.parametrize(
    "span",
    [
        "schedule/fields_internal.h",
        "src/plan/select/<family>.cpp",
        "plan/optimize",
        "simd/float_math",
        "carina compile --target",
        "Options::dynamic_weights",
        "vela.ini",
        "a + b",
        "model.pt2",
    ],
)
def test_a_name_that_exists_is_not_reported(span):
    assert not references.dead_in_page("page.md", f"`{span}`")


def test_all_texts_name_the_versions_of_torch_that_the_page_of_versions_lists():
    """torch 2.9 to 2.15: in pages, messages and comments."""
    listed = re.findall(r"files of (2\.\d+) to (2\.\d+)", (ROOT / "docs" / "stability.md").read_text())
    assert len(listed) == 1
    ranges = {
        (str(file.relative_to(ROOT)), versions)
        for file in tracked(*CODE, "*.md")
        for versions in re.findall(r"\btorch 2\.9 to\s+(?://\s*)?(2\.\d+)", file.read_text())
    }
    assert not {(file, newest) for file, newest in ranges if newest != listed[0][1]} and listed[0][0] == "2.9"
    assert len(ranges) >= 8
    assert f"torch>={listed[0][0]}" in (ROOT / "pyproject.toml").read_text()


# --- decision records ----------------------------------------------------------------------------------------------


def test_the_index_of_decisions_is_current():
    page = (adr_index.FOLDER / "README.md").read_text()
    assert page == adr_index.index(), "run python tests/integration/repository/adr_index.py"
    numbers = [record.number for record in adr_index.records()]
    assert len(numbers) == len(set(numbers)) > 0


def test_decisions_that_are_cited_exist():
    """adr/0058, ADR 0053: in pages, code and tests. Several numbers after one "adr" are a list or a range."""
    numbers = {record.number for record in adr_index.records()}
    citation = re.compile(r"\badr[/ ](\d{4}(?:(?:, | and | to |, adr/)\d{4})*)", re.IGNORECASE)
    cited = {
        (file.relative_to(ROOT), number)
        for file in tracked(*CODE, "*.md")
        for listed in citation.findall(file.read_text())
        for number in re.findall(r"\d{4}", listed)
    }
    assert not [f"{file}: {number}" for file, number in sorted(cited) if number not in numbers]
    assert len(cited) > 20, "the search finds what is cited"


def test_json_examples_of_quantization_are_taken(run_carina, tmp_path):
    """Each {"scheme": ...} of the guide compiles models/digits."""
    text = (ROOT / "docs" / "guide" / "quantize.md").read_text()
    examples = re.findall(r'`(\{"scheme"[^`]*\})`', text)
    assert examples
    digits = ROOT / "models" / "digits"
    for example in examples:
        (tmp_path / "q.json").write_text(example)
        args = ["--calibrate", digits / "calibration.npz", "--quantize-config", tmp_path / "q.json"]
        run_carina(["compile", digits / "digits.pt2", "--target", "ethos-u55-128", *args, "-o", tmp_path / "o.pte"])
