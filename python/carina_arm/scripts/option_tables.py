"""Makes the tables of docs/guide/script-options.md from the rows of the scripts' parsers.

`python -m carina_arm.scripts.option_tables PAGE SETUP` writes them into the page, between its marks, in short: without the
names of the options that `--help` describes, and without reasons that a run prints. With --whole FILE, FILE becomes the
page with all names and reasons.
"""

import argparse
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from carina_arm.scripts import aot_options, evaluate_options
from carina_arm.scripts.build_variables import VARIABLES
from carina_arm.scripts.options import Effect, Option
from carina_arm.scripts.runner_options import BUILD_OPTIONS, RUN_OPTIONS

__all__ = ["setup_rows", "tables", "with_tables"]

_SCRIPTS: dict[str, tuple[Option, ...]] = {
    "aot": aot_options.OPTIONS,
    "arm-run": RUN_OPTIONS,
    "arm-build": BUILD_OPTIONS,
    "evaluate-model": evaluate_options.OPTIONS,
}


def _text(option: Option) -> str:
    default = option.given.get("default")
    return (option.help % {"default": default} if "%(" in option.help else option.help).replace("|", "\\|")


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(title: str, rows: Iterable[tuple[str, Effect, str]]) -> str:
    """A row for each effect and text, with the names of all options that have them."""
    names: dict[tuple[Effect, str], list[str]] = {}
    for name, effect, text in rows:
        names.setdefault((effect, text), []).append(name)
    lines = (f"| {', '.join(of)} | {effect.value} | {text} |" for (effect, text), of in names.items())
    return "\n".join([f"| {title} | effect | what, or why not |", "|---|---|---|", *lines])


def _paragraph(text: str) -> str:
    """Lines of at most 100 columns. Code is not divided."""
    unbreakable = re.sub(r"`[^`]*`", lambda code: code.group().replace(" ", "\0"), text)
    return textwrap.fill(unbreakable, 100, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def _listed(title: str, rows: Iterable[tuple[str, Effect, str]], whole: bool) -> list[str]:
    """A table of the rows. Unless `whole`, those without an effect are one paragraph of names."""
    rows = list(rows)
    named = [] if whole else [name for name, effect, _ in rows if effect is Effect.NONE]
    shown = [row for row in rows if whole or row[1] is not Effect.NONE]
    parts = [_paragraph(f"Without a difference: {', '.join(named)}.")] if named else []
    return [*parts, _table(title, shown)] if shown else parts


def _script(script: str, rows: Iterable[Option], whole: bool) -> str:
    """The options of a script: those with an effect, which --help describes, and the others."""
    rows = list(rows)
    with_effect = (
        _names(row.name for row in rows if row.effect is Effect.HAS) if whole else "all that are not listed here"
    )
    text = f"With an effect, as `carina {script} --help` says: {with_effect}."
    others = [(_names(row.names), row.effect, _text(row)) for row in rows if row.effect is not Effect.HAS]
    return "\n\n".join([_paragraph(text), *_listed("option", others, whole)])


def _variables(whole: bool) -> str:
    """Variables that stand for an option are one paragraph, unless `whole`; so are those without an effect."""
    rows = [(f"`{row.name}`", row.effect, row.help.replace("|", "\\|")) for row in VARIABLES]
    if whole:
        return _table("variable", rows)
    aliases = [(name, text.removeprefix("As ")) for name, _, text in rows if text.startswith("As ")]
    shown = [row for row in rows if row[1] is not Effect.NONE and not row[2].startswith("As ")]
    same = _paragraph("As an option: " + ", ".join(f"{name} ({text})" for name, text in aliases) + ".")
    rest = sum(effect is Effect.NONE for _, effect, _ in rows)
    return f"{same}\n\n{_table('variable', shown)}\n\nThe other {rest} variables make no difference."


def setup_rows(script: str) -> Iterator[tuple[str, Effect, str]]:
    """The Arm backend's options of scripts/setup.sh: lines "name=effect=text" of its list."""
    listed = re.search(r"^arm_options=\(\n(.*?)^\)$", script, flags=re.MULTILINE | re.DOTALL)
    for name, effect, text in re.findall(
        r"^  '(--[\w-]+)\|(\w+)\|(.*)'$", listed.group(1) if listed else "", flags=re.MULTILINE
    ):
        yield name, Effect[effect], text


def tables(setup: str, whole: bool = False) -> dict[str, str]:
    """Name -> table. setup: the text of scripts/setup.sh."""
    found = {script: _script(script, rows, whole) for script, rows in _SCRIPTS.items()}
    of_setup = [(f"`{name}`", effect, text) for name, effect, text in setup_rows(setup)]
    found["setup"] = "\n\n".join(_listed("option", of_setup, whole))
    found["variables"] = _variables(whole)
    return found


def with_tables(page: str, setup: str, whole: bool = False) -> str:
    """The page with new tables. Raises: KeyError for an unknown mark."""
    made = tables(setup, whole)
    marks = re.compile(r"(<!-- table (\S+) -->\n)(.*?)(<!-- end -->)", flags=re.DOTALL)
    return marks.sub(lambda match: f"{match.group(1)}{made[match.group(2)]}\n{match.group(4)}", page)


def main() -> None:
    """Writes the tables into the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("page", type=Path)
    options.add_argument("setup", type=Path)
    options.add_argument("--whole", type=Path)
    args = options.parse_args()
    page = with_tables(args.page.read_text(), args.setup.read_text(), whole=args.whole is not None)
    (args.whole or args.page).write_text(page)


if __name__ == "__main__":
    main()
