#!/usr/bin/env python3
"""Runs every test and ends with one plain line, "N passed, N failed". Standard library only.

usage: scripts/test.py [core] [integration] [fuzz]      (default: all three; JOBS and FUZZ_SECONDS from the environment)

core    ctest over the dev build
integration  pytest over tests/integration, with the environment that tests/integration/setup.sh made, on the release build
fuzz    each fuzz target for some seconds

A step that breaks before it counts anything counts as one failure. What was not run is named with its reason.
"""

import collections
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "results"
JOBS = os.environ.get("JOBS", "2")

passed, failed, not_run = [], [], collections.Counter()


def run(command, **options):
    print("$ " + " ".join(str(word) for word in command), flush=True)
    return subprocess.run(command, cwd=ROOT, **options)


def skip_reason(case):
    skipped = case.find("skipped")
    if skipped is None:
        return None if case.get("status") not in ("notrun", "disabled") else case.get("status")
    reason = (skipped.get("message") or "skipped").strip()
    return reason.removeprefix("Skipped: ").removeprefix("not run: ")


def count_junit(step, path, exit_code):
    """Adds the cases of a JUnit file to the sums; a file that is missing or hides a failing exit code is a failure."""
    if not path.exists():
        failed.append(f"{step}: broke before any test ran (exit code {exit_code})")
        return
    before, ran = len(failed), 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        ran += 1
        name = f"{step}: {case.get('classname', '')}.{case.get('name')}"
        reason = skip_reason(case)
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            failed.append(name)
        elif reason is not None:
            not_run[f"{step}: {reason}"] += 1
        else:
            passed.append(name)
    if ran == 0:
        failed.append(f"{step}: no tests found")
    elif exit_code != 0 and len(failed) == before:
        failed.append(f"{step}: exit code {exit_code}")


def core():
    junit = RESULTS / "core.xml"
    done = run(["ctest", "--preset", "dev", "-j", JOBS, "--output-on-failure", "--no-tests=error", "--output-junit", junit])
    count_junit("core", junit, done.returncode)


def integration():
    junit = RESULTS / "integration.xml"
    python = ROOT / "build" / "test-env" / "main" / "bin" / "python"
    if not python.exists():
        failed.append("integration: no environment (tests/integration/setup.sh makes it)")
        return
    done = run([python, "-m", "pytest", "tests/integration", "-q", "-n", JOBS, f"--junitxml={junit}"])
    count_junit("integration", junit, done.returncode)


def fuzz():
    done = run(["scripts/fuzz.sh", os.environ.get("FUZZ_SECONDS", "10")], stdout=subprocess.PIPE, text=True)
    before = len(failed)
    for line in done.stdout.splitlines():
        if line.startswith("fuzz: "):
            print(line)
            (failed if line.startswith("fuzz: FAIL") else passed).append(line)
    if done.returncode != 0 and len(failed) == before:
        print(done.stdout[-4000:])
        failed.append(f"fuzz: broke (exit code {done.returncode})")


def main():
    steps = {"core": core, "integration": integration, "fuzz": fuzz}
    chosen = sys.argv[1:] or list(steps)
    for name in chosen:
        if name not in steps:
            sys.exit(f"unknown step '{name}' ({', '.join(steps)})")
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        (RESULTS / f"{name}.xml").unlink(missing_ok=True)
        start = time.monotonic()
        print(f"\n== {name}", flush=True)
        steps[name]()
        print(f"== {name}: {time.monotonic() - start:.0f} s", flush=True)

    print()
    for reason, count in sorted(not_run.items()):
        print(f"not run: {count} x {reason}")
    for name in failed:
        print(f"failed: {name}")
    print(f"{len(passed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
