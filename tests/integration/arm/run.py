"""Runs the Arm backend's own tests (executorch/backends/arm/test of the wheel) on carina.

run.py [--dirs ops,modules,models] [--ops PATTERN] [--kind FP,INT,...] [--case TEXT] [--jobs N] [--program PATH] [--json OUT]
run.py --capture [...]      only capture the tests (torch.export and the peer's quantizer) into build/test-env/cache/arm
run.py --report IN.json     the tables of an earlier run
run.py --page IN.json...    build/pages/conformance-arm.md and its summary in docs, from the merged outcomes of earlier runs
run.py --choose IN.json...  sample.json from earlier runs: the cases of `make test`; --capture-sample captures just these

A file that is not in the cache is captured first (needs torch, once). The comparison needs only numpy and the program.
kinds: FP INT U55 U85 U65 (Carina's quantizer), PT2E PT2E-U55 PT2E-U85 (the peer's quantizer, compared at one step),
INT-A16W8 U55-A16W8 U85-A16W8, the same with A8W4 and Q32 (peer's quantizer), NS-FP NS-INT NS-U55 (what the peer must leave), VGF-FP VGF-INT.
"""

import argparse
import fnmatch
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "support")]

import cache
import capture
import reference
import page
import report
import sample
from backend_tests import tests_folder
from program import Program

DEFAULT_KINDS = [k for k in reference.RUN if not k.startswith(("VGF", "PT2E-"))]


def matches(path, patterns):
    return any(fnmatch.fnmatch(path.name, form) for p in patterns for form in (p, f"test_{p}.py", f"test_{p}_arm.py"))


def test_files(directories, patterns):
    """Test files with names like ops/test_add.py."""
    root = tests_folder()
    found = [p for d in directories for p in sorted((root / d).rglob("test_*.py"))]
    return [str(p.relative_to(root)) for p in found if matches(p, patterns)]


def cases_of(files, pattern):
    return [case for f in files for case in cache.cases_of(f) if pattern in case["id"]]


def selected(cases, kinds):
    """[(case, kind)]. A kind that is not run is counted once."""
    pairs = [(case, kind) for case in cases for kind in reference.kinds_of(case)]
    return [(case, kind) for case, kind in pairs if kind in kinds or kind not in reference.RUN]


def check_all(program, pairs, jobs, progress=True):
    started, outcomes = time.monotonic(), []
    with ThreadPoolExecutor(jobs) as pool:
        for number, outcome in enumerate(pool.map(lambda pair: reference.outcome(program, *pair), pairs), 1):
            outcomes.append(outcome)
            if progress and number % 250 == 0:
                print(f"{number}/{len(pairs)} checked, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return outcomes


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dirs", default="ops,modules,models")
    parser.add_argument("--ops", default="*", help="test files: add, 'conv*', test_add.py; several with commas")
    parser.add_argument("--kind", default=",".join(DEFAULT_KINDS), help="with commas, or all")
    parser.add_argument("--case", default="", help="only cases whose name contains this")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--program", type=Path, default=os.environ.get("CARINA", cache.ROOT / "build" / "release" / "bin" / "carina")
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--capture", action="store_true", help="only capture")
    parser.add_argument("--float", action="store_true", help="capture without the graphs of the peer's quantizer")
    parser.add_argument("--again", action="store_true", help="capture anew")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--page", type=Path, nargs="+")
    parser.add_argument("--choose", type=Path, nargs="+")
    parser.add_argument(
        "--capture-sample",
        choices=["whole", "part"],
        help="only capture the cases of sample.json, or those of `make test`",
    )
    return parser.parse_args()


def kept(paths):
    """The outcomes of several runs. If a case is in two, the later outcome counts."""
    together = {(o["id"], o["kind"]): o for path in paths for o in json.loads(path.read_text())["outcomes"]}
    return [together[key] for key in sorted(together)]


def show_earlier(given):
    """Shows outcomes of earlier runs as the options say. Returns False if the tests are to be run."""
    if given.report:
        print(report.text(kept([given.report])))
    if given.page:
        page.write(kept(given.page))
    if given.choose:
        sample.write(sample.choose(kept(given.choose)))
    return bool(given.report or given.page or given.choose)


def main():
    given = arguments()
    if show_earlier(given):
        return
    if given.capture_sample:
        sample.captured(sample.share_of(given.capture_sample))
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    files = test_files(given.dirs.split(","), given.ops.split(","))
    kinds = reference.RUN if given.kind == "all" else given.kind.split(",")
    if unknown := set(kinds) - set(reference.RUN):
        sys.exit(f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(reference.RUN)}")
    quantized = not given.float and any(reference.needs_peer(k) for k in kinds)
    capture.capture([capture.Order(f, quantized) for f in files], given.again)
    if given.capture:
        return
    started = time.monotonic()
    outcomes = check_all(Program(given.program), selected(cases_of(files, given.case), kinds), given.jobs)
    if given.json:
        seconds = round(time.monotonic() - started)
        cache.write(
            given.json, {"program": str(given.program), "kinds": list(kinds), "seconds": seconds, "outcomes": outcomes}
        )
    print(report.text(outcomes))


if __name__ == "__main__":
    main()
