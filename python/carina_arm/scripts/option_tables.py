"""Makes the tables of docs/guide/script-options.md from the rows of the scripts' parsers.

`python -m carina_arm.scripts.option_tables PAGE SETUP` writes them into the page, between its marks.
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


def _script(script: str, rows: Iterable[Option]) -> str:
    """The options of a script: the names of those with an effect, which --help describes, and a table of the others."""
    with_effect = [row.name for row in rows if row.effect is Effect.HAS]
    text = f"With an effect, as `carina {script} --help` says: {_names(with_effect)}."
    others = ((_names(row.names), row.effect, _text(row)) for row in rows if row.effect is not Effect.HAS)
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False) + "\n\n" + _table("option", others)


def setup_rows(script: str) -> Iterator[tuple[str, Effect, str]]:
    """The Arm backend's options of scripts/setup.sh: lines "name=effect=text" of its list."""
    listed = re.search(r"^arm_options=\(\n(.*?)^\)$", script, flags=re.MULTILINE | re.DOTALL)
    for name, effect, text in re.findall(
        r"^  '(--[\w-]+)\|(\w+)\|(.*)'$", listed.group(1) if listed else "", flags=re.MULTILINE
    ):
        yield name, Effect[effect], text


def tables(setup: str) -> dict[str, str]:
    """Name -> table. setup: the text of scripts/setup.sh."""
    found = {script: _script(script, rows) for script, rows in _SCRIPTS.items()}
    found["setup"] = _table("option", ((f"`{name}`", effect, text) for name, effect, text in setup_rows(setup)))
    found["variables"] = _table(
        "variable", ((f"`{row.name}`", row.effect, row.help.replace("|", "\\|")) for row in VARIABLES)
    )
    return found


def with_tables(page: str, setup: str) -> str:
    """The page with new tables. Raises: KeyError for an unknown mark."""
    made = tables(setup)
    marks = re.compile(r"(<!-- table (\S+) -->\n)(.*?)(<!-- end -->)", flags=re.DOTALL)
    return marks.sub(lambda match: f"{match.group(1)}{made[match.group(2)]}\n{match.group(4)}", page)


def main() -> None:
    """Writes the tables into the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("page", type=Path)
    options.add_argument("setup", type=Path)
    args = options.parse_args()
    args.page.write_text(with_tables(args.page.read_text(), args.setup.read_text()))


if __name__ == "__main__":
    main()
