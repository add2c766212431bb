"""The architecture decision records (docs/adr): checks their form and writes their index.

`python tests/integration/repository/adr_index.py` writes docs/adr/README.md; test_docs.py compares.
"""

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "adr"
SECTIONS = ["Context", "Decision", "Rejected", "How we would notice that it was wrong"]
HEAD = re.compile(
    r"# (?P<number>\d{4}): (?P<component>[a-z0-9]+): (?P<decision>\S.*)\n\n"
    r"Date: (?P<date>\d{4}-\d\d-\d\d)\. Status: (?P<status>accepted(?:, replaces \d{4}(?:, \d{4})*)?)\.\n"
)
INTRODUCTION = """# Architecture decision records

Each record gives one decision with its context, the rejected alternatives, and the observation that
would show that the decision was wrong. Measurements of a decision's details and the reasons of one
file stand in that file or in [performance.md](../performance.md).

A record keeps its number. A decision that supersedes an old one gets a new number. It takes over
what is still true of the old record, which is removed, and names its number in its status.

To add a record, copy the form of an existing one, take the next number, and run
`python tests/integration/repository/adr_index.py`. The title names the component and the decision.

| number | component | decision | date | status |
|---|---|---|---|---|
"""


class Record(NamedTuple):
    """A record: its file and the contents of its first lines."""

    file: str
    number: str
    component: str
    decision: str
    date: str
    status: str  # without links


def read(path: Path) -> Record:
    """Raises: ValueError, the record does not have the required form."""
    text = path.read_text()
    head = HEAD.match(re.sub(r"(?<!\n)\n(?!\n)", " ", text.split("\n## ")[0]).rstrip() + "\n")
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    if not head or sections != SECTIONS or not path.name.startswith(f"{head['number']}-"):
        raise ValueError(f"{path.name}: the form is '# NNNN: component: decision', 'Date: D. Status: S.', {SECTIONS}")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head["status"])
    return Record(path.name, head["number"], head["component"], head["decision"], head["date"], plain)


def records() -> list[Record]:
    return [read(path) for path in sorted(FOLDER.glob("[0-9]*.md"))]


def index() -> str:
    rows = (f"| [{r.number}]({r.file}) | {r.component} | {r.decision} | {r.date} | {r.status} |\n" for r in records())
    return INTRODUCTION + "".join(rows)


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(index())
