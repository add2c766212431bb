"""Runs the Arm backend's own pytest files on Carina and on the Arm backend itself: `make arm-suite DIR=CHECKOUT`.

    suite.py DIR [FILE ...] [--peer failed|all] [--cases N] [--page]
    suite.py DIR FILE ... --times [--cases N] [--page]

DIR is a checkout of ExecuTorch, or its folder backends/arm/test. FILE is "ops/test_add.py". Without files: all of misc, quantizer, ops and
modules. `--cases 1` runs the first case of each test function, `test_add_tensor_tosa_INT[rand]` but no other of its cases. On Carina a file
runs with `-p carina.arm.pytest_plugin`, on the Arm backend without it. `--peer failed`, the default, runs the Arm backend only on the tests
that fail with Carina. It counts the others as passed by the Arm backend. Outcomes are stored in build/test-env/cache/arm_suite, file by
file. `--times` stores the CPU time of each file on both instead, in a process of its own. `--page` writes
build/pages/conformance-arm-api.md, its summary in docs, and suite.json from all that is stored. There are no FVPs and Vulkan devices: the suite itself skips such tests or expects them to fail.
"""

import argparse
import contextlib
import json
import os
import random
import re
import resource
import subprocess
import sys
from pathlib import Path

import suite_reasons
from backend_tests import run_pytest, tests_folder, without_folders
from row_json import rows_text

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import format_markdown  # noqa: E402
import generated_pages  # noqa: E402

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
KEPT = FOLDER / "suite.json"
COMMAND = "make docs"
CACHE = ROOT / "build" / "test-env" / "cache" / "arm_suite"
TIMES = CACHE / "times.json"
PARTS = ("misc", "quantizer", "ops", "modules")
SAMPLE = 200
NO_RUNNER = "Did not find build arm_executor_runner"  # ends a test whose network was compiled and would now run on a device or an FVP
BATCH = 25  # files in one process


def folder_of(checkout):
    inner = Path(checkout) / "backends" / "arm" / "test"
    return (inner if inner.is_dir() else Path(checkout)).resolve()


def files_of(root):
    return [str(path.relative_to(root)) for part in PARTS for path in sorted((root / part).rglob("test_*.py"))]


class Recorder:
    """The pytest plugin that records the outcome of each test. If a test reports twice, the last outcome counts."""

    def __init__(self, root, output, cases=0):
        self.root, self.output, self.cases, self.outcomes, self.seconds = root, Path(output), cases, {}, {}

    def name_of(self, nodeid):
        path, _, test = nodeid.partition("::")
        return re.sub(r"^.*backends/arm/test/", "", path) + "::" + test

    def write(self):
        self.output.write_text(json.dumps({"outcomes": self.outcomes, "seconds": self.seconds}))

    def pytest_collection_modifyitems(self, config, items):
        """Keeps the first `cases` cases of each function, if it is not 0."""
        seen, chosen, left = {}, [], []
        for item in items:
            function = item.nodeid.partition("[")[0]
            seen[function] = seen.get(function, 0) + 1
            (left if self.cases and seen[function] > self.cases else chosen).append(item)
        items[:] = chosen
        config.hook.pytest_deselected(items=left)

    def pytest_runtest_logfinish(self):
        self.write()  # after a crash, only one outcome is missing

    def pytest_runtest_logreport(self, report):
        name = self.name_of(report.nodeid)
        self.seconds[name] = self.seconds.get(name, 0.0) + report.duration
        if report.when != "call" and report.outcome == "passed":
            return
        outcome = "xfailed" if hasattr(report, "wasxfail") and report.outcome != "passed" else report.outcome
        text = last_line(report.longrepr) if report.longrepr and report.outcome == "failed" else ""
        if NO_RUNNER in text:
            outcome, text = "xfailed", ""
        if self.outcomes.get(name, ["passed"])[0] == "passed":
            self.outcomes[name] = [outcome, text]

    def pytest_collectreport(self, report):
        if report.failed:
            self.outcomes[self.name_of(report.nodeid).rstrip(":") + "::collection"] = [
                "failed",
                last_line(report.longrepr),
            ]


def last_line(report):
    """The last line of an error, without this machine's folders."""
    lines = [line for line in str(report).strip().splitlines() if line.strip()]
    errors = [line[2:].strip() for line in lines if line.startswith("E ")]
    return without_folders((errors or lines or [""])[0].strip())[:200]


def child(root, tests, output, cases):
    recorder = Recorder(Path(root), output, cases)
    options = ("--continue-on-collection-errors", "--tb=short", "--show-capture=no")
    run_pytest(root, [Path(root) / test for test in tests], Path(output).with_suffix(".ini"), recorder, *options)
    recorder.write()


def run(root, tests, output, package=None, seconds=7200, cases=0):
    """{test: [outcome, first line of the error]} of files or tests. With `package` they run on Carina, otherwise on the Arm backend."""
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # model-converter, without which VGF tests are skipped
    environment = {
        **os.environ,
        "PATH": tools,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if package:
        environment |= {"PYTHONPATH": str(package), "PYTEST_PLUGINS": "carina.arm.pytest_plugin"}
    output = Path(output).resolve()
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    command = [
        sys.executable,
        str(FOLDER / "suite.py"),
        str(root),
        *tests,
        "--child",
        str(output),
        "--cases",
        str(cases),
    ]
    with output.with_suffix(".log").open("w") as log, contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command, cwd=output.parent, env=environment, stdout=log, stderr=subprocess.STDOUT, timeout=seconds
        )
    if not output.exists():
        return {}, {}
    found = json.loads(output.read_text())
    return found["outcomes"], found["seconds"]


def place_of(name, who):
    return CACHE / who / (name.replace("/", "__") + ".json")


def measure(root, names, package, peer, cases):
    """Runs files in one process, because PyTorch and ExecuTorch take seconds to load, and stores the outcomes."""
    found, seconds = run(root, names, place_of(names[0], "carina"), package, cases=cases)
    failed = [test for test, (outcome, _) in found.items() if outcome == "failed"]
    whole = {name for name in names if peer == "all" or f"{name}::collection" in failed}
    tests = [*sorted(whole), *(test for test in failed if test.partition("::")[0] not in whole)]
    beside, own = run(root, tests, place_of(names[0], "peer"), cases=cases) if tests else ({}, {})
    for name in names:
        summary = {
            "carina": of_file(name, found),
            "peer": of_file(name, beside),
            "all": name in whole,
            "seconds": of_file(name, seconds),
            "own": of_file(name, own),
            "cases": cases,
        }
        place_of(name, "both").parent.mkdir(parents=True, exist_ok=True)
        place_of(name, "both").write_text(json.dumps(summary))
        row = row_of(summary)
        print(f"{name}: {row['passed']} of {row['peer']} that the Arm backend passes", flush=True)


def cpu_seconds():
    """User and system time of the processes that have ended, which `run` started."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def kept_times():
    """{file: {carina, peer, cases}}, with seconds of CPU time"""
    before = json.loads(KEPT.read_text())["times"] if KEPT.exists() else {}
    return before | (json.loads(TIMES.read_text()) if TIMES.exists() else {})


def measure_times(root, names, package, cases):
    """Stores the CPU time of each file on Carina and on the Arm backend. It includes the loading of PyTorch."""
    for name in names:
        spent = {"cases": cases}
        for who, of in (("carina", package), ("peer", None)):
            before = cpu_seconds()
            run(root, [name], CACHE / "times" / f"{who}.json", of, cases=cases)
            spent[who] = cpu_seconds() - before
        TIMES.write_text(json.dumps(kept_times() | {name: spent}, indent=0, sort_keys=True))
        print(f"{name}: {spent['carina']:.1f} s, the Arm backend {spent['peer']:.1f} s", flush=True)


def of_file(name, values):
    """The entries of {test: value} for the tests of a file."""
    return {test: value for test, value in values.items() if test.partition("::")[0] == name}


def row_of(summary):
    """{passed, peer, not_run, internal, differences, cases, functions} of a file.

    `functions`: how many test functions pass in all cases that ran, and how many the Arm backend passes. Cases do not weigh there.
    """
    carina, peer = summary["carina"], summary["peer"]
    differences, passed, by_peer, not_run, functions = {}, 0, 0, 0, {}
    for test in {**carina, **(peer if summary["all"] else {})}:
        mine = carina.get(test, ["lost", ""])
        its = peer.get(test, mine if not summary["all"] and mine[0] == "passed" else ["lost", ""])
        if mine[0] in ("skipped", "xfailed"):
            not_run += 1
        elif mine[0] == "passed":
            passed += its[0] == "passed"
            by_peer += its[0] == "passed"
            if its[0] == "passed":
                functions.setdefault(test.partition("[")[0], True)
        elif its[0] == "passed":
            by_peer += 1
            differences[test] = mine[1]
            if not suite_reasons.is_internal(test):
                functions[test.partition("[")[0]] = False
    internal = sum(suite_reasons.is_internal(test) for test in differences)
    return {
        "passed": passed,
        "peer": by_peer - internal,
        "not_run": not_run,
        "internal": internal,
        "differences": differences,
        "cases": summary.get("cases", 0),
        "functions": [sum(functions.values()), len(functions)],
    }


def stored():
    """{file: summary} of the files that have been run here."""
    return {
        path.stem.replace("__", "/"): json.loads(path.read_text()) for path in sorted((CACHE / "both").glob("*.json"))
    }


def kept():
    """{file: row} of all files that have been run, here or before suite.json was written."""
    rows = dict(json.loads(KEPT.read_text())["rows"]) if KEPT.exists() else {}
    rows |= {name: row_of(summary) for name, summary in stored().items()}
    return dict(sorted(rows.items()))


def name_of(name, row):
    """The file in the page: with the number of cases of each function, if not all have run."""
    return f"{name}, the first {row['cases']} of each function" if row["cases"] else name


def is_in_wheel(test):
    """Whether ExecuTorch's wheel has the test too, with a case of this name. The wheel may be older than the checkout."""
    name, _, inner = test.partition("::")
    function, _, case = inner.rpartition("::")[2].partition("[")
    file = tests_folder() / name
    text = file.read_text() if file.exists() else ""
    return f"def {function}(" in text and case.rstrip("]") in text


def page(rows):
    """The page conformance-arm-api.md."""
    passed, peer = (sum(row[key] for row in rows.values()) for key in ("passed", "peer"))
    internal = sum(row["internal"] for row in rows.values())
    whole, functions = (sum(row["functions"][place] for row in rows.values()) for place in (0, 1))
    open_ones = {
        test: text
        for row in rows.values()
        for test, text in row["differences"].items()
        if not suite_reasons.is_internal(test)
    }
    more = sum(suite_reasons.delegates_more(test) for test in open_ones)
    inside = [test for row in rows.values() for test in row["differences"] if suite_reasons.is_internal(test)]
    first = sum(row["cases"] > 0 for row in rows.values())
    lines = [
        "# The Arm backend's own tests",
        "",
        "Generated by `make arm-suite DIR=CHECKOUT`: pytest files of `backends/arm/test` in a checkout of",
        "ExecuTorch, run on [`carina.arm`](guide/from-the-arm-backend.md) with `-p carina.arm.pytest_plugin`, which limits",
        "partitions to what the Arm backend delegates.",
        "The Arm backend was run on what fails; a test that passes here counts as passed by it. Not run:",
        "what the suite skips, or expects to fail, itself. A file's outcomes are those of its last run,",
        f"which may have been on an earlier version of Carina: all cases of {len(rows) - first} files, and the first",
        f"case or cases of each function of {first}.",
        "",
        f"{passed} of {peer} tests that the Arm backend passes pass ({100 * passed / max(peer, 1):.1f} %);",
        f"{internal} more are about what is inside of it. {more} of those that differ expect a node on the CPU",
        f"that Carina delegates. Of the {functions} test functions {whole} ({100 * whole / max(functions, 1):.1f} %) pass in all cases that ran.",
        "",
        *time_of(kept_times()),
        "## What differs",
        "",
        "| tests | number | reason |",
        "|---|---|---|",
        *grouped(open_ones),
        "",
        generated_pages.DETAILS.rstrip("\n"),
        "",
        "## Files",
        "",
        "| file | passed by the Arm backend | passed by Carina | about its inside | not run |",
        "|---|---|---|---|---|",
        *(
            f"| {name_of(name, row)} | {row['peer']} | {row['passed']} | {row['internal']} | {row['not_run']} |"
            for name, row in rows.items()
        ),
        f"| all | {peer} | {passed} | {internal} | {sum(row['not_run'] for row in rows.values())} |",
        "",
        "## About its inside",
        "",
        "| tests | number | what they look at |",
        "|---|---|---|",
        *grouped(dict.fromkeys(inside, "")),
    ]
    return format_markdown.formatted("\n".join(lines))


def time_of(times):
    """The paragraph of the page about CPU time."""
    if not times:
        return []
    carina, peer = (sum(row[who] for row in times.values()) for who in ("carina", "peer"))
    limited = sum(row["cases"] > 0 for row in times.values())
    return [
        f"CPU time of {len(times)} files, of {limited} only the first case or cases of each function (user and system, a process for each",
        "file, with the loading of PyTorch):",
        f"{carina:.0f} s on Carina, {peer:.0f} s on the Arm backend ({carina / peer:.2f} of it).",
        "",
    ]


def grouped(tests):
    """Rows of the page. Tests of one function with the same reason share a row."""
    groups = {}
    for test, text in sorted(tests.items()):
        key = (
            test.partition("[")[0],
            suite_reasons.reason_of(test) or f"`{text.replace('|', ' ').replace('`', chr(39))[:110]}`",
        )
        groups.setdefault(key, []).append(test)
    return [f"| {name} | {len(found)} | {reason} |" for (name, reason), found in groups.items()]


def sample():
    """Tests that pass: those of the last sample, without what fails now, and as many others as are missing."""
    before = json.loads(KEPT.read_text())["sample"] if KEPT.exists() else []
    outcomes = {}
    for summary in stored().values():
        outcomes |= {test: outcome for test, (outcome, _) in summary["carina"].items()}
    stays = [test for test in before if outcomes.get(test, "passed") == "passed"]
    others = [
        test for test, outcome in outcomes.items() if outcome == "passed" and test not in stays and is_in_wheel(test)
    ]
    return sorted([*stays, *random.Random(0).sample(sorted(others), min(SAMPLE - len(stays), len(others)))])


def write_page():
    rows = kept()
    KEPT.write_text(rows_text({"rows": rows, "sample": sample(), "times": kept_times()}, depth=2))
    generated_pages.write("conformance-arm-api.md", page(rows), COMMAND)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--peer", choices=("failed", "all"), default="failed")
    parser.add_argument("--cases", metavar="N", type=int, default=0)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--package", default=ROOT / "build" / "release" / "python")
    parser.add_argument("--child", metavar="OUTPUT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.checkout, options.files, options.child, options.cases)
    root = folder_of(options.checkout)
    names = options.files or files_of(root)
    if options.times:
        measure_times(root, names, options.package, options.cases)
    for first in range(0, 0 if options.times else len(names), BATCH):
        measure(root, names[first : first + BATCH], options.package, options.peer, options.cases)
    if options.page:
        write_page()


if __name__ == "__main__":
    main()
