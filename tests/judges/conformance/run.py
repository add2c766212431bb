"""The whole corpus of the official conformance generator, an operator at a time; docs/conformance-tosa.md is its result.

run.py [--operators NAME...] [--program PATH] [--jobs N] [--again] [--report-only]

Each operator's tests are generated, run in portions and removed; outcomes are kept in build/judges/conformance, so that a run
that was broken off goes on where it stopped. --again forgets the kept outcomes of the named operators.
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
import judge
import report

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("CARINA_JUDGES", ROOT / "build" / "judges")) / "conformance"
RESULTS = FOLDER / "results"
PORTION = 100  # tests


def save(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".part").write_text(json.dumps(value, indent=1))
    path.with_suffix(".part").rename(path)


def run_operator(operator, program, jobs):
    """In portions, whose outcomes are kept beside the tests until all are run."""
    started = time.monotonic()
    folder = corpus.batch(FOLDER, operator, jobs)
    tests = corpus.tests_in(folder)
    kept = folder.parent / "outcomes.json"
    outcomes = json.loads(kept.read_text()) if kept.exists() else {}
    while portion := [test for test in tests if str(test) not in outcomes][:PORTION]:
        for o in judge.judge(folder, portion, program, jobs, FOLDER / "batch" / f"{operator}-runner.log"):
            outcomes[str(folder / o.test)] = {"passed": o.passed, "skipped": o.skipped, "message": o.message[:2000]}
        save(kept, outcomes)
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
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", nargs="+", default=corpus.operators())
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "bin" / "tosa_tool")
    parser.add_argument("--jobs", default=os.environ.get("JOBS", "2"))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report-only", action="store_true")
    arguments = parser.parse_args()
    unknown = set(arguments.operators) - set(corpus.operators())
    if unknown:
        parser.error(f"no such operator: {', '.join(sorted(unknown))}")
    good = True
    for operator in arguments.operators if not arguments.report_only else []:
        kept = RESULTS / f"{operator}.json"
        if arguments.again:
            kept.unlink(missing_ok=True)
        if not kept.exists():
            good = run_operator(operator, arguments.program, arguments.jobs) and good
    (ROOT / "docs" / "conformance-tosa.md").write_text(report.text(RESULTS, corpus.operators()))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
