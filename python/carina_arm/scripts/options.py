"""Each option of the Arm backend's scripts is one row: its argparse arguments, and whether it has an effect here."""

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TextIO

__all__ = ["Effect", "Option", "add_options", "check_meaning", "note", "option"]


class Effect(Enum):
    """The effect of an option. The values are those of the table in docs/guide/script-options.md."""

    HAS = "has an effect"
    NONE = "makes no difference"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Option:
    """names: the names for argparse. why: the reason, for options without an effect. given: further arguments of add_argument()."""

    names: tuple[str, ...]
    help: str
    effect: Effect = Effect.HAS
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The longest name."""
        return max(self.names, key=len)

    @property
    def dest(self) -> str:
        """The attribute that argparse sets."""
        return str(self.given.get("dest", self.name.lstrip("-").replace("-", "_")))


def option(*names: str, help: str, effect: Effect = Effect.HAS, **given: Any) -> Option:
    """A row. `help` describes the effect of an option, or why it has none."""
    return Option(names, help, effect, given)


def add_options(parser: argparse._ActionsContainer, rows: Iterable[Option]) -> None:
    """Adds the rows to a parser. --help shows only those that have an effect."""
    for row in rows:
        shown = row.help if row.effect is Effect.HAS else argparse.SUPPRESS
        parser.add_argument(*row.names, help=shown, **row.given)


def note(text: str, stream: TextIO | None = None) -> None:
    """Prints one line for the user, to the same stream as the notes of the command line."""
    print(f"carina: note: {text}", file=stream or sys.stderr)


def check_meaning(args: argparse.Namespace, parser: argparse.ArgumentParser, rows: Iterable[Option]) -> None:
    """Prints notes about given options without an effect. Raises: ValueError for a rejected option."""
    for row in rows:
        if row.effect is Effect.HAS or getattr(args, row.dest) == parser.get_default(row.dest):
            continue
        if row.effect is Effect.REJECTED:
            raise ValueError(f"{row.name}: not supported: {row.help}")
        note(f"{row.name} makes no difference: {row.help}")
