"""scripts/check_commit.py: what the hook for commit messages rejects."""

import subprocess
import sys

import pytest
from conftest import ROOT

LONGEST = "plan: " + "x" * 66


def check(message, folder):
    (folder / "message").write_text(message)
    command = [sys.executable, ROOT / "scripts" / "check_commit.py", folder / "message"]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize(
    "message",
    [
        "plan: weights are sorted",
        "base, plan: weights are sorted",
        LONGEST,
        "plan: weights are sorted\n\nA body; with a semicolon, and of any length: " + "x" * 100,
        "plan: weights are sorted\n# a comment of git; not part of the message\n",
        "plan: weights are sorted\n\n# ------------------------ >8 ------------------------\ndiff; of git",
        "Merge branch 'a'; of git",
        'Revert "plan: weights are sorted"',
        "fixup! " + LONGEST,
    ],
)
def test_a_good_message_passes(message, tmp_path):
    done = check(message, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("", "not `library: what changed`"),
        ("# only a comment", "not `library: what changed`"),
        ("weights are sorted", "not `library: what changed`"),
        ("Plan: weights are sorted", "not `library: what changed`"),
        ("plan:weights are sorted", "not `library: what changed`"),
        (LONGEST + "x", "73 characters, at most 72"),
        ("plan: weights are sorted; docs: figures", "semicolon"),
        ("plan: weights are sorted.", "ends with a period"),
        ("plan: weights are sorted\nand more", "not empty"),
    ],
)
def test_a_bad_message_is_rejected_with_the_reason(message, problem, tmp_path):
    done = check(message, tmp_path)
    assert done.returncode == 1 and problem in done.stderr
