#!/usr/bin/env python3
"""Checks the message of a commit: `library: what changed`, at most 72 characters, one topic.

usage: check_commit.py FILE     (a hook of the stage commit-msg: .pre-commit-config.yaml)
"""

import re
import sys
from pathlib import Path

MAX_CHARACTERS = 72
SUBJECT = re.compile(r"[a-z0-9_]+(?:, [a-z0-9_]+)*: \S")  # "interpret: ...", "base, plan: ..."
MADE_BY_GIT = re.compile(r"Merge |Revert \"|fixup! |squash! |amend! ")


def problems(message: str) -> list[str]:
    """The errors of a message, without its comment lines and without the diff of `git commit -v`."""
    text = re.split(r"^# -+ >8 -+$", message, maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line.rstrip() for line in text.splitlines() if not line.startswith("#")]
    subject, *body = lines or [""]
    if MADE_BY_GIT.match(subject):
        return []
    found = []
    if not SUBJECT.match(subject):
        found.append("the subject is not `library: what changed`")
    if len(subject) > MAX_CHARACTERS:
        found.append(f"the subject has {len(subject)} characters, at most {MAX_CHARACTERS} are allowed")
    if ";" in subject:
        found.append("the subject has a semicolon: make one commit per topic")
    if subject.endswith("."):
        found.append("the subject ends with a period")
    if body and body[0]:
        found.append("the line after the subject is not empty")
    return found


def main(path: str) -> int:
    found = problems(Path(path).read_text())
    for problem in found:
        print(f"commit message: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
