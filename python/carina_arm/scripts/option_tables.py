"""Makes the tables of docs/guide/script-options.md from the rows of the scripts' parsers.

`python -m carina_arm.scripts.option_tables PAGE SETUP` writes them into the page, between its marks.
"""

import argparse
import re
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


def _row(names: str, effect: Effect, text: str) -> str:
    return f"| {names} | {effect.value} | {text} |"


def _table(title: str, rows: Iterable[str]) -> str:
    return "\n".join([f"| {title} | effect | what, or why not |", "|---|---|---|", *rows])


def setup_rows(script: str) -> Iterator[tuple[str, Effect, str]]:
    """The Arm backend's options of scripts/setup.sh: lines "name=effect=text" of its list."""
    listed = re.search(r"^arm_options=\(\n(.*?)^\)$", script, flags=re.MULTILINE | re.DOTALL)
    for name, effect, text in re.findall(
        r"^  '(--[\w-]+)\|(\w+)\|(.*)'$", listed.group(1) if listed else "", flags=re.MULTILINE
    ):
        yield name, Effect[effect], text


def tables(setup: str) -> dict[str, str]:
    """Name -> table. setup: the text of scripts/setup.sh."""
    found = {
        script: _table(
            "option", (_row(", ".join(f"`{name}`" for name in row.names), row.effect, _text(row)) for row in rows)
        )
        for script, rows in _SCRIPTS.items()
    }
    found["setup"] = _table("option", (_row(f"`{name}`", effect, text) for name, effect, text in setup_rows(setup)))
    found["variables"] = _table(
        "variable", (_row(f"`{row.name}`", row.effect, row.help.replace("|", "\\|")) for row in VARIABLES)
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
