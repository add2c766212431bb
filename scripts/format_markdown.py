"""Wraps the prose of Markdown files at 100 columns.

usage: format_markdown.py [--check] FILE...

Paragraphs and list items are wrapped. Headings, tables, fenced code, block quotes and HTML stay unchanged. A code span or a URL is never
broken, so its line may exceed the limit.

--check: writes nothing. Lists the lines that exceed the limit although they could be wrapped. The exit code is 1 if there is one.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

COLUMNS = 100
FENCE = re.compile(r"^\s*(```|~~~)")
VERBATIM = re.compile(r"^(\s*\||#|>|<|\s*$)")
ITEM = re.compile(r"^(\s*)([-*+]|\d+[.)]) +")
# Words that must not begin a line of prose, because Markdown would interpret them.
MARKER = re.compile(r"^([-*+#>|=]+|\d+[.)])$")


def tokens_of(text: str) -> list[str]:
    """Words. A code span with the text attached to it is one word."""
    found = [match.strip() for match in re.findall(r"(?:`[^`]*`|[^\s`]|`)+", " ".join(text.split()))]
    joined: list[str] = []
    for token in found:
        if joined and MARKER.match(token):
            joined[-1] += " " + token
        else:
            joined.append(token)
    return joined


def wrapped(text: str, first: str, rest: str) -> list[str]:
    """The lines of a paragraph. `first` is the prefix of the first line, `rest` that of the others."""
    lines, line = [], first
    for token in tokens_of(text):
        if len(line) + len(token) > COLUMNS and line.strip() and line != first:
            lines.append(line.rstrip())
            line = rest
        line += token + " "
    return [*lines, line.rstrip()]


def blocks_of(text: str) -> Iterator[tuple[list[str], bool]]:
    """Groups of lines. True: prose that may be wrapped, which is a paragraph or a list item."""
    prose: list[str] = []
    fence = False
    for line in text.splitlines():
        is_fence = FENCE.match(line) is not None
        if fence or is_fence or VERBATIM.match(line):
            if prose:
                yield prose, True
            prose = []
            yield [line], False
            fence ^= is_fence
        elif ITEM.match(line) and prose:
            yield prose, True
            prose = [line]
        else:
            prose.append(line)
    if prose:
        yield prose, True


def formatted(text: str) -> str:
    lines: list[str] = []
    for block, is_prose in blocks_of(text):
        if not is_prose:
            lines += block
            continue
        item = ITEM.match(block[0])
        indent = " " * (len(block[0]) - len(block[0].lstrip()))
        first = item[0] if item else indent
        lines += wrapped("\n".join(block)[len(first) :], first, " " * len(first))
    return "\n".join(lines) + "\n"


def too_long(text: str) -> list[tuple[int, str]]:
    """Lines of prose, numbered from 1, that exceed the limit and could be wrapped."""
    found, number = [], 0
    for block, is_prose in blocks_of(text):
        for line in block:
            number += 1
            item = ITEM.match(line)
            if is_prose and len(line) > COLUMNS and len(tokens_of(line[len(item[0]) :] if item else line)) > 1:
                found.append((number, line))
    return found


def main() -> int:
    check = "--check" in sys.argv[1:]
    errors = []
    for path in map(Path, (name for name in sys.argv[1:] if name != "--check")):
        text = path.read_text()
        if check:
            errors += [f"{path}:{number}: longer than {COLUMNS} columns: {line}" for number, line in too_long(text)]
        elif formatted(text) != text:
            path.write_text(formatted(text))
    if errors:
        print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
