#!/usr/bin/env python3
"""Writes the long pages that programs generate into build/pages: they are not in the repository. `make docs` runs it.

usage: generated_pages.py [--summaries] [FOLDER]      default: build/pages; needs `make build`

    SUPPORTED_OPS.md        every operator, by `carina ops`
    tosa-operators.md       every TOSA operator and rule of the verifier, by tosa_test
    kernels.md              every kernel with its types; needs the environment of the integration tests (make test-env)
    script-options.md       every option of the Arm backend's scripts, with the reason if it makes no difference
    conformance-arm-api.md  outcomes of the Arm backend's own tests, as stored in tests/integration/arm/suite.json

A page of the same name in docs is its summary of at most 100 lines. --summaries writes docs/SUPPORTED_OPS.md too;
programs that measure write the summaries of their pages themselves (write()).
"""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("CARINA_BUILD", "build")
PAGES = BUILD / "pages"
PROGRAMS = BUILD / "release" / "bin"
MAX_LINES = 100  # of a summary

DETAILS = "<!-- details -->\n"  # a page with this line has its summary before it
WHERE = "The details are in `build/pages/{name}`, which `{command}` writes, and among the files of a release.\n"


def summary(name: str, text: str, command: str) -> str:
    """The part of a page that is kept in the repository."""
    head = text.split(DETAILS)[0].rstrip("\n")
    return f"{head}\n\n{textwrap.fill(WHERE.format(name=name, command=command), 100)}\n"


def write(name: str, text: str, command: str) -> None:
    """Writes the whole page to build/pages, and its summary to docs."""
    PAGES.mkdir(parents=True, exist_ok=True)
    (PAGES / name).write_text(text.replace(DETAILS, ""))
    (ROOT / "docs" / name).write_text(summary(name, text, command))


# --- operators -----------------------------------------------------------------------------------------------------

OPERATORS = """# Operators

Carina reads {aten} overloads of ATen operators from a `.pt2`, and all {tosa} operators of TOSA 1.0.
{npu} of the ATen operators have a lowering to TOSA or are rewritten into operators that have one,
{cpu} have a CPU kernel or are rewritten into operators that have one. Types, shapes and limits of
the target also count: `carina explain` gives the reason for each node. `carina ops NAME` shows one
operator, and `make docs` writes `build/pages/SUPPORTED_OPS.md`, the table of all, which is also
among the files of a release. `python3 scripts/generated_pages.py --summaries` writes this page.
"""


def base_names(rows: list[dict], is_chosen) -> list[str]:
    """Names of operators without overloads: "conv2d" for aten.conv2d.default and aten.conv2d.padding."""
    prefixed = (row["name"].split(".") for row in rows if is_chosen(row))
    return sorted({name if space == "aten" else f"{space}.{name}" for space, name, *_ in prefixed}, key=str.lower)


def is_on(cell: str) -> bool:
    return cell == "yes" or not (cell == "-" or cell.startswith("no"))


def listed(title: str, names: list[str]) -> str:
    text = textwrap.fill(", ".join(names), 100, break_long_words=False, break_on_hyphens=False)
    return f"\n## {title}\n{text}\n"


def operators_summary(operators: dict) -> str:
    """The text of docs/SUPPORTED_OPS.md. `operators`: the JSON of `carina ops --json`."""
    aten, tosa = operators["aten"], operators["tosa"]
    on_npu = base_names(aten, lambda row: is_on(row["npu"]))
    page = OPERATORS.format(
        aten=len(aten),
        tosa=len(tosa),
        npu=sum(is_on(row["npu"]) for row in aten),
        cpu=sum(is_on(row["cpu"]) for row in aten),
    )
    page += listed("ATen operators on the NPU", on_npu)
    on_cpu = base_names(aten, lambda row: is_on(row["cpu"]) and not is_on(row["npu"]))
    if cpu_only := [name for name in on_cpu if name not in on_npu]:
        page += listed("ATen operators on the CPU only", cpu_only)
    neither = base_names(aten, lambda row: not is_on(row["cpu"]) and not is_on(row["npu"]))
    known = {*on_npu, *on_cpu}
    page += listed("ATen operators that are read and rejected by name", [name for name in neither if name not in known])
    lines_of: dict[tuple, list[str]] = {}  # families of NPUs with the same operators
    for line in tosa[0]["npus"]:
        missing = tuple(row["name"].removeprefix("tosa.") for row in tosa if row["npus"][line] != "yes")
        lines_of.setdefault(missing, []).append(line)
    for names, families in lines_of.items():
        page += listed(f"TOSA operators that the compiler rejects for {' and '.join(families)}", list(names))
    return page


# --- the pages -----------------------------------------------------------------------------------------------------


def printed(*command) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if argument != "--summaries"]
    folder = Path(arguments[0]) if arguments else PAGES
    folder.mkdir(parents=True, exist_ok=True)
    if not (PROGRAMS / "carina").exists():
        sys.exit(f"generated_pages: {PROGRAMS / 'carina'} is missing: make build")
    (folder / "SUPPORTED_OPS.md").write_text(printed(PROGRAMS / "carina", "ops"))
    if "--summaries" in sys.argv:
        operators = json.loads(printed(PROGRAMS / "carina", "ops", "--json"))
        (ROOT / "docs" / "SUPPORTED_OPS.md").write_text(operators_summary(operators))
    subprocess.run(["cmake", "--build", BUILD / "release", "--target", "tosa_test"], check=True, capture_output=True)
    subprocess.run(
        [PROGRAMS / "tosa_test", "--gtest_filter=SupportedOps.page*"],
        check=True,
        capture_output=True,
        env={**os.environ, "CARINA_PAGES": str(folder)},
    )
    subprocess.run(
        [sys.executable, "-m", "carina_arm.scripts.option_tables", ROOT / "docs" / "guide" / "script-options.md"]
        + [ROOT / "scripts" / "setup.sh", "--whole", folder / "script-options.md"],
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )
    python = BUILD / "test-env" / "main" / "bin" / "python"
    if python.exists():
        tests = ROOT / "tests" / "integration"
        subprocess.run([python, tests / "runtime" / "kernel_page.py", folder / "kernels.md"], check=True)
        subprocess.run([python, tests / "arm" / "suite_page.py", folder / "conformance-arm-api.md"], check=True)
    else:
        print("generated_pages: without kernels.md and conformance-arm-api.md, which need `make test-env`")
    for page in sorted(folder.glob("*.md")):
        print(f"{page}: {len(page.read_text().splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
