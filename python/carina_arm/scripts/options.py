"""Options of the Arm backend's scripts that are accepted, and why some of them change nothing here."""

import argparse
import sys
from collections.abc import Mapping
from typing import TextIO

__all__ = ["given_without_meaning", "note", "note_without_meaning"]


def note(text: str, stream: TextIO | None = None) -> None:
    """One line for the user, where the command line's notes go."""
    print(f"carina: note: {text}", file=stream or sys.stderr)


def given_without_meaning(args: argparse.Namespace, parser: argparse.ArgumentParser, reasons: Mapping[str, str]) -> list[str]:
    """A line for each option of `reasons` (dest -> why it has no meaning) whose value is not the parser's default."""
    names = {action.dest: action.option_strings[-1] for action in parser._actions if action.option_strings}
    return [f"{names[dest]} makes no difference: {why}" for dest, why in reasons.items() if getattr(args, dest) != parser.get_default(dest)]


def note_without_meaning(args: argparse.Namespace, parser: argparse.ArgumentParser, reasons: Mapping[str, str]) -> None:
    """Says it."""
    for line in given_without_meaning(args, parser, reasons):
        note(line)
