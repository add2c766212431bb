"""Wraps comments that stand on lines of their own at 120 columns: `//` of C++, `#` of Python, CMake, TOML and shell.

usage: format_comments.py FILE...     rewrites the files, and prints their names if they changed
A line that is too long gives its last words to the next line, if that continues it; otherwise they get a line of their own.
"""

import re
import sys
from pathlib import Path

COLUMNS = 120
COMMENT = re.compile(r"^(?P<indent>\s*)(?P<mark>//|#)(?P<gap> *)(?P<text>\S.*)$")
KEY = re.compile(r"^(?:What|Before|After|Needs|Gives|Legal):\s+|^- |^\d+\. ")
PATTERNS = ("*.h", "*.cpp", "*.c", "*.def", "*.py", "*.cmake", "*CMakeLists.txt", "*.toml", "*.sh")  # of the files


def is_prose(text: str) -> bool:
    """False for rulers, directives and addresses that cannot be broken."""
    return (
        not re.match(r"(---|===|!|include|define|if|endif|el|pragma|undef|error|NOLINT|clang-format)", text)
        and " " in text
    )


def too_long(text: str) -> list[int]:
    """The numbers of comment lines above 120 columns."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if (
            len(line) > COLUMNS
            and (comment := COMMENT.match(line))
            and (is_prose(comment["text"]) or comment["mark"] == "//")
        ):
            found.append(number)
    return found


def _hang(comment: re.Match) -> int:
    """The column of the text of the lines that continue this one, counted from the mark."""
    key = KEY.match(comment["text"])
    return len(comment["gap"]) + (len(key[0]) if key else 0)


def formatted(text: str) -> str:
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        line = lines[i]
        comment = COMMENT.match(line)
        if len(line) <= COLUMNS or not comment or not is_prose(comment["text"]):
            i += 1
            continue
        head = comment["indent"] + comment["mark"] + " " * _hang(comment)
        end = line.rfind(" ", len(head), COLUMNS + 1)
        if end <= len(head):
            i += 1
            continue
        rest = line[end + 1 :]
        lines[i] = line[:end].rstrip()
        following = COMMENT.match(lines[i + 1]) if i + 1 < len(lines) else None
        continues = (
            following and lines[i + 1].startswith(head + following["text"][:1]) and not KEY.match(following["text"])
        )
        if continues and len(following["gap"]) == _hang(comment) and is_prose(following["text"] + " "):
            lines[i + 1] = f"{head}{rest} {following['text']}"
        else:
            lines.insert(i + 1, head + rest)
        i += 1
    return "\n".join(lines)


def main() -> int:
    for name in sys.argv[1:]:
        path = Path(name)
        text = path.read_text()
        if (made := formatted(text)) != text:
            path.write_text(made)
            print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
