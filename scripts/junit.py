"""Reads JUnit files of ctest, GoogleTest and pytest: outcomes, and the table of durations. Standard library only.

usage: scripts/junit.py durations     writes the table of slow tests in docs/testing.md from build/results
"""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "testing.md"
BEGIN, END = "<!-- durations: scripts/junit.py durations -->\n", "<!-- end of durations -->\n"


@dataclass(frozen=True)
class Test:
    name: str
    outcome: str  # passed, failed, skipped
    reason: str
    seconds: float  # CPU time if pytest's plugin measured it, else wall time


def reason_of(case):
    """Why a test did not run; None if it ran."""
    skipped = case.find("skipped")
    if skipped is not None:
        reason = (skipped.get("message") or "skipped").strip()
        return reason.removeprefix("Skipped: ").removeprefix("not run: ")
    status = case.get("status")
    return status if status in ("notrun", "disabled") else None


def seconds_of(case):
    for entry in case.iter("property"):
        if entry.get("name") == "cpu_seconds":
            return float(entry.get("value"))
    return float(case.get("time") or 0)


def test_of(case):
    wrong = case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail"
    reason = reason_of(case)
    outcome = "failed" if wrong else "passed" if reason is None else "skipped"
    owner = re.sub(r"^tests\.integration\.(\w+\.)?(?=test_)", "", case.get("classname") or "")
    name = case.get("name")
    return Test(name if owner in ("", name) else f"{owner}.{name}", outcome, reason or "", seconds_of(case))


def read(path):
    """The tests of a JUnit file; none if it is missing or truncated. pytest lists a test twice if its teardown fails too."""
    try:
        return [test_of(case) for case in ElementTree.parse(path).getroot().iter("testcase")]
    except (FileNotFoundError, ElementTree.ParseError):
        return []


def slowest(folder, number):
    """[(step, Test)] of all JUnit files in the folder, slowest first."""
    every = [(path.stem, test) for path in sorted(Path(folder).glob("*.xml")) for test in read(path)]
    return sorted(every, key=lambda row: -row[1].seconds)[:number]


def table(rows):
    lines = ["| step | test | seconds |", "|---|---|--:|"]
    return (
        "\n".join(
            lines
            + [
                f"| {step} | `{(test.name or 'unfinished').replace('|', chr(92) + '|')}` | {test.seconds:.1f} |"
                for step, test in rows
            ]
        )
        + "\n"
    )


def sums(folder):
    lines = ["| step | tests | seconds |", "|---|--:|--:|"]
    for path in sorted(Path(folder).glob("*.xml")):
        tests = read(path)
        lines.append(f"| {path.stem} | {len(tests)} | {sum(test.seconds for test in tests):.0f} |")
    return "\n".join(lines) + "\n"


def write_durations(folder, page):
    page.write_text(f"# Durations of the last run\n\n{sums(folder)}\n{table(slowest(folder, 10**6))}")


def main():
    if sys.argv[1:] != ["durations"]:
        sys.exit(__doc__)
    folder = ROOT / os.environ.get("CARINA_BUILD", "build") / "results"
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{sums(folder)}\n{table(slowest(folder, 15))}{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
