"""Runs the matrix of programs and runtimes and writes build/pages/interop.md and its summary in docs.

run_matrix.py [--rows TEXT] [--carina PATH] [--page]

--rows: only rows whose names contain TEXT. The outcomes of the other rows come from earlier runs, which are stored in
build/test-env/interop.json.
--page: writes the page.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.extend(str(Path(__file__).resolve().parents[1] / folder) for folder in ("", "runtime"))
import matrix
import matrix_page
import rows
from cases import store

ROOT = Path(__file__).resolve().parents[3]
KEPT = Path(os.environ.get("CARINA_TEST_ENV", ROOT / "build" / "test-env")) / "interop.json"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="")
    parser.add_argument("--carina", type=Path, default=ROOT / "build" / "release" / "bin" / "carina")
    parser.add_argument("--page", action="store_true")
    return parser.parse_args()


def run(chosen: list[rows.Row], carina: Path, cases: Path) -> list[matrix.Outcome]:
    official = matrix.Official(carina.parents[1] / "lib" / "libcarina_executorch.so", carina.parents[1] / "python")
    outcomes = []
    for row in chosen:
        started = time.monotonic()
        outcomes.append(matrix.check(row, carina, cases, official))
        print(f"{row.name}: {outcomes[-1].problem or 'as it should'} ({time.monotonic() - started:.1f} s)", flush=True)
    official.close()
    return outcomes


def kept() -> dict[str, matrix.Outcome]:
    return {row["row"]: matrix.Outcome(**row) for row in json.loads(KEPT.read_text())} if KEPT.exists() else {}


def main() -> int:
    asked = arguments()
    sys.path.insert(0, str(asked.carina.parents[1] / "python"))  # for rows that take Carina's Python package
    os.environ.setdefault("CARINA", str(asked.carina))
    store.ensure()
    cases = Path(os.environ.get("CARINA_SHARED", ROOT.parent / "shared")) / "cases"
    if not cases.is_dir():
        cases = store.CASES
    every = rows.rows(cases)
    outcomes = run([row for row in every if asked.rows in row.name], asked.carina, cases)
    known = kept() | {outcome.row: outcome for outcome in outcomes}
    KEPT.write_text(matrix.as_json(list(known.values())))
    if asked.page:
        matrix_page.write([known[row.name] for row in every])
    wrong = sum(bool(outcome.problem) for outcome in outcomes)
    print(f"{len(outcomes)} rows, {wrong} not as they should")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
