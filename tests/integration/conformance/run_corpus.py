"""Runs the whole corpus of the official conformance generator, one operator at a time, and writes docs/conformance-tosa.md.

run_corpus.py [--operators NAME...] [--program PATH] [--jobs N] [--again] [--report-only]

Each operator's tests are generated, run in portions and removed. Outcomes are stored in build/test-env/conformance, so that an interrupted
run continues where it stopped. The largest operator needs some 15 GB of disk space for a while. With less than 20 GB free, the run stops.
--again deletes the stored outcomes of the named operators.
"""

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import corpus
import official
import tosa_page

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("CARINA_TEST_ENV", ROOT / "build" / "test-env")) / "conformance"
RESULTS = FOLDER / "results"
PORTION = 100  # tests per portion
LEAST_FREE_BYTES = 20 << 30


def save(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".part").write_text(json.dumps(value, indent=1))
    path.with_suffix(".part").rename(path)


def check_disk():
    FOLDER.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(FOLDER).free
    if free < LEAST_FREE_BYTES:
        sys.exit(f"{FOLDER}: {free >> 30} GB free, {LEAST_FREE_BYTES >> 30} GB wanted; run again when there is enough")


def run_operator(operator, program, jobs):
    """Runs the tests in portions. The outcomes are stored beside the tests until all have run."""
    started = time.monotonic()
    check_disk()
    print(f"{operator}: making the tests", flush=True)
    folder = corpus.batch(FOLDER, operator, jobs)
    tests = corpus.tests_in(folder)
    kept = folder.parent / "outcomes.json"
    outcomes = json.loads(kept.read_text()) if kept.exists() else {}
    while portion := [test for test in tests if str(test) not in outcomes][:PORTION]:
        for o in official.check(folder, portion, program, jobs, FOLDER / "batch" / f"{operator}-runner.log"):
            outcomes[str(folder / o.test)] = {"passed": o.passed, "skipped": o.skipped, "message": o.message[:2000]}
        save(kept, outcomes)
        print(f"{operator}: {len(outcomes)} run", flush=True)
        for test in portion:
            shutil.rmtree(test, ignore_errors=True)  # deletes the test's data; only the outcome is needed from here on
    wrong = [
        {"test": Path(test).name, "message": o["message"]}
        for test, o in sorted(outcomes.items())
        if not o["passed"] and not o["skipped"]
    ]
    result = {
        "operator": operator,
        "made": len(outcomes),
        "negative": sum("_ERRORIF_" in test for test in outcomes),
        "skipped": sum(o["skipped"] for o in outcomes.values()),
        "failed": wrong,
    }
    save(RESULTS / f"{operator}.json", result)
    shutil.rmtree(FOLDER / "batch" / operator, ignore_errors=True)
    print(f"{operator}: {result['made']} made, {len(wrong)} failed, {time.monotonic() - started:.0f} s", flush=True)


def run_all(arguments):
    for operator in arguments.operators:
        kept = RESULTS / f"{operator}.json"
        if arguments.again:
            kept.unlink(missing_ok=True)
        if not kept.exists():
            run_operator(operator, arguments.program, arguments.jobs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", nargs="+", default=corpus.operators())
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "bin" / "carina")
    parser.add_argument("--jobs", default=os.environ.get("JOBS", "2"))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report-only", action="store_true")
    arguments = parser.parse_args()
    unknown = set(arguments.operators) - set(corpus.operators())
    if unknown:
        parser.error(f"no such operator: {', '.join(sorted(unknown))}")
    if not arguments.report_only:
        with corpus.alone(FOLDER / "batch"):
            run_all(arguments)
    (ROOT / "docs" / "conformance-tosa.md").write_text(tosa_page.text(RESULTS, corpus.operators()))
    wrong = tosa_page.failures(RESULTS, arguments.operators)
    print(f"{len(wrong)} failed; see docs/conformance-tosa.md")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
