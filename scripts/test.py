#!/usr/bin/env python3
"""Builds and runs the tests of a tier. The last line is "N passed, N failed, N skipped". Standard library only.

usage: scripts/test.py TIER [STEP...]     runs a tier, or only these steps of it
       scripts/test.py totals TIER...     one line for tiers that have run

test        the release build: unit tests, command line, integration tests; the compiler's internal checks are enabled
fast        the release build: unit tests and the integration tests of FAST below
check       the release build: unit tests
sanitizers  ASan and UBSan over the unit tests and SANITIZED below, TSan over THREADS below, Valgrind over the runtime's unit tests, fuzz targets
all         both, including slow tests: those marked `long`, and whole samples
coverage    the tests of `test` on a build that counts lines; writes the table of docs/testing.md

From the environment: JOBS, FUZZ_SECONDS, CARINA_BUILD (build folder, else build), CARINA_TEST_ENV, CARINA_DEADLINE (when a CI ends the
run, in seconds since 1970: steps and tests that would not end before it are not begun and count as skipped, with this reason).
A step that fails before it counts a test is one failure. Skipped steps are listed with their reasons.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import junit

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("CARINA_BUILD", "build")
# The build folder of each configuration is its preset's name.
RELEASE, ASAN, TSAN, COVERAGE = "release", "dev", "tsan", "coverage"
ENVIRONMENT = Path(os.environ.get("CARINA_TEST_ENV", BUILD / "test-env"))
PYTHON = ENVIRONMENT / "main" / "bin" / "python"
INTEGRATION = "tests/integration"
RESULTS = BUILD / "results"
LOGS = BUILD / "logs"
os.environ.setdefault("CARINA_CASES", str(BUILD / "cases"))
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(BUILD / "pycache"))  # the source tree may be read-only
JOBS = os.environ.get("JOBS", "2")
FUZZ_SECONDS = os.environ.get("FUZZ_SECONDS", "10")
PROGRESS_SECONDS = 60

# Integration tests of `make test FAST=1`: the main workflow and the command line, without a peer.
FAST = ["main_job", "demo", "usage", "outputs", "vela_ini", "docs"]
# Integration tests that run the program with sanitizers: readers of hostile files, outputs, the main workflow.
SANITIZED = ["main_job", "bad_input", "program_mutations", "outputs", "vela_ini", "run_inputs"]
# Without the large networks, and with one network of each name.
SANITIZED_CASES = "not resnet20 and not mobilenet and not shared-"
# Unit tests under TSan: the thread pool, the interpreter's workers, the simulator.
THREADS = {
    "base_test": "Parallel*",
    "interpret_test": "Workers*:SameBits.*",
    "simulate_test": "*",
}
# Calibration too in `make test-all`: a third of the build is for it alone.
MORE_THREADS = {**THREADS, "quantize_test": "*"}

DEADLINE = float(os.environ.get("CARINA_DEADLINE", "inf"))
# Minutes that these steps take on the slowest machine seen, which is a third as fast as the one that COSTS was measured
# on.
LONGEST = {"sanitized": 36, "threads": 6, "uninitialized": 2, "fuzz": 25}

passed, failed, not_run = [], [], Counter()
of_other_tiers = 0  # integration tests marked `long`, outside of `make test-all`


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def last_line(path):
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 2000))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1][:100] if lines else ""


def run(name, command, tail=40, **variables):
    """Runs a command whose output goes to a log. Prints the log's last line once a minute, and its tail on failure. Returns the exit code."""
    log = LOGS / f"{name}.log"
    ended = threading.Event()

    def show():
        while not ended.wait(PROGRESS_SECONDS):
            print(f"    {clock()}  {last_line(log)}", flush=True)

    watcher = threading.Thread(target=show, daemon=True)
    with open(log, "w") as out:
        out.write("$ " + " ".join(map(str, command)) + "\n")
        out.flush()
        watcher.start()
        options = {"cwd": ROOT, "stdout": out, "stderr": subprocess.STDOUT, "env": {**os.environ, **variables}}
        try:
            code = subprocess.run(command, **options).returncode
        except OSError as error:  # no such program
            code = out.write(f"{error}\n") and 127
    ended.set()
    watcher.join()
    if code != 0:
        print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-tail:]), end="")
        print(f"    exit code {code}, log {log}", flush=True)
    return code


def count(step, path, exit_code):
    """Adds the tests of a JUnit file. A missing file is a failure, and so is a nonzero exit code without a failed test."""
    tests = junit.read(path)
    if not tests:
        failed.append(f"{step}: no test ran (exit code {exit_code})")
        return
    before = len(failed)
    for test in tests:
        if test.outcome == "failed":
            failed.append(f"{step}: {test.name}")
        elif test.outcome == "skipped":
            not_run[f"{step}: {test.reason}"] += 1
        else:
            passed.append(f"{step}: {test.name}")
    if exit_code != 0 and len(failed) == before:
        failed.append(f"{step}: exit code {exit_code}")


# --- steps ------------------------------------------------------------------------------------------------------------


def packages():
    if run("packages", ["scripts/setup.sh", "--full"]) != 0:
        sys.exit("packages could not be installed")


def environment():
    which = "all" if sys.argv[1] == "all" else "main"
    if run("environment", ["tests/integration/setup.sh", which], CARINA_TEST_ENV=str(ENVIRONMENT)) != 0:
        sys.exit("the integration tests' environment could not be made")


def cases():
    """Makes the networks of unit and integration tests. Does nothing if they exist."""
    if run("cases", [PYTHON, "tests/integration/make_cases.py"]) != 0:
        failed.append("cases: the networks of the tests could not be made")


def built(preset, *targets):
    """Configures and builds. A failed build counts as a failure and returns False."""
    folder = BUILD / preset
    configured = run(f"configure-{preset}", ["cmake", "--preset", preset, "-B", folder])
    wanted = ["--target", *targets] if targets else []
    if configured == 0 and run(f"build-{preset}", ["cmake", "--build", folder, "-j", JOBS, *wanted]) == 0:
        return True
    failed.append(f"build: preset {preset}")
    return False


def results_of(step):
    """The path of the step's JUnit file. Removes the file of the last run."""
    path = RESULTS / f"{step}.xml"
    path.unlink(missing_ok=True)
    return path


def ctest(step, preset, *options):
    path = results_of(step)
    command = ["ctest", "--test-dir", BUILD / preset, "-j", JOBS, "--output-on-failure", "--no-tests=error", *options]
    count(step, path, run(step, [*command, "--output-junit", path], 100, CARINA_DEV_CHECKS="1"))


def integration_files(names):
    """The paths of integration tests: plan -> tests/integration/plan/test_plan.py. Each name is one file, in whichever folder."""
    found = {name: list((ROOT / INTEGRATION).glob(f"*/test_{name}.py")) for name in names}
    wrong = [name for name, paths in found.items() if len(paths) != 1]
    assert not wrong, f"FAST and SANITIZED name tests that are not one file of {INTEGRATION}: {', '.join(wrong)}"
    return [str(paths[0].relative_to(ROOT)) for paths in found.values()]


def pytest(step, files, *options, **variables):
    path = results_of(step)
    if not os.access(PYTHON, os.X_OK):
        failed.append(f"{step}: no environment (tests/integration/setup.sh makes it)")
        return
    names = integration_files(files) or [INTEGRATION]
    workers = str(int(JOBS) + 1)  # a quarter of the time, a test waits: for an emulator, a cluster or a browser
    command = [PYTHON, "-m", "pytest", *names, "-q", "-n", workers, "--dist", "worksteal", f"--junitxml={path}"]
    command += ["-o", f"cache_dir={BUILD / 'pytest_cache'}"]
    variables = {"CARINA_DEV_CHECKS": "1", "CARINA_BUILD": str(BUILD), **variables}
    count(step, path, run(step, [*command, *options], 200, **variables))
    global of_other_tiers
    of_other_tiers += sum(map(int, re.findall(r", (\d+) deselected", last_line(LOGS / f"{step}.log"))))


def gtest(step, preset, filters, launcher=(), **variables):
    """Runs GoogleTest programs with a filter each, one process per program. A process per test would take longer than the tests."""

    def run_one(program):
        path = results_of(f"{step}-{program}")
        command = [*launcher, BUILD / preset / "bin" / program, "--gtest_brief=1", f"--gtest_filter={filters[program]}"]
        return path, run(path.stem, [*command, f"--gtest_output=xml:{path}"], 100, CARINA_DEV_CHECKS="1", **variables)

    with ThreadPoolExecutor(int(JOBS)) as pool:
        for path, code in pool.map(run_one, filters):
            count(path.stem, path, code)


def build():
    if not built(RELEASE, "all", "unit_tests"):
        finish()


def unit():
    ctest("unit", RELEASE)


def integration():
    seed = os.environ.setdefault("CARINA_MODULES_SEED", str(int(time.time())))
    print(f"    random modules: CARINA_MODULES_SEED={seed} repeats them", flush=True)
    pytest("integration", [], "-m", "not long")


def integration_fast():
    pytest("integration", FAST, "-m", "not long")


def integration_whole():
    pytest("integration", [], CARINA_TIER="all")


def sanitized():
    if built(ASAN, "carina", "unit_tests"):
        programs = sorted(path.name for path in (BUILD / ASAN / "bin").glob("*_test"))
        gtest("asan", ASAN, dict.fromkeys(programs, "*"))
        binary = BUILD / ASAN / "bin" / "carina"
        pytest(
            "asan-integration",
            SANITIZED,
            "-m",
            "not long and not small_memory",
            "-k",
            SANITIZED_CASES,
            CARINA_BIN=str(binary),
        )


def threads(programs=THREADS):
    if built(TSAN, *programs):
        gtest("tsan", TSAN, programs, TSAN_OPTIONS="halt_on_error=1")


def threads_whole():
    threads(MORE_THREADS)


def uninitialized():
    """Runs the runtime's unit tests under Valgrind, which reports decisions on values that were never written. Clang's sanitizer for
    this needs a C++ library and a GoogleTest that are built with it."""
    if built(RELEASE, "runtime_test"):
        gtest("valgrind", RELEASE, {"runtime_test": "*"}, launcher=["valgrind", "--quiet", "--error-exitcode=9"])


def fuzz():
    code = run("fuzz", ["scripts/fuzz.sh", FUZZ_SECONDS], CARINA_BUILD=str(BUILD))
    lines = [line for line in (LOGS / "fuzz.log").read_text(errors="replace").splitlines() if line.startswith("fuzz: ")]
    wrong = [line for line in lines if line.startswith("fuzz: FAIL")]
    passed.extend(line for line in lines if line not in wrong)
    failed.extend(wrong or ([f"fuzz: broke (exit code {code})"] if code else []))


def covered():
    """Runs all tests on the build for coverage. Their outcome is counted too."""
    if not built(COVERAGE, "all", "unit_tests"):
        return
    folder, gcovr = BUILD / COVERAGE, BUILD / COVERAGE / "gcovr"
    for counts in folder.rglob("*.gcda"):
        counts.unlink()
    ctest("coverage-unit", COVERAGE)
    places = {"CARINA_BIN": folder / "bin" / "carina", "CARINA_FIRMWARE": folder / "share" / "carina" / "firmware"}
    pytest("coverage-integration", [], "-m", "not long", **{name: str(path) for name, path in places.items()})
    steps = [
        ["python3", "-m", "venv", gcovr],
        [gcovr / "bin" / "pip", "install", "--quiet", "gcovr==8.4"],
        ["python3", "scripts/coverage.py", gcovr / "bin" / "python"],
    ]
    if any(run(f"coverage-{number}", step) for number, step in enumerate(steps)):
        failed.append("coverage: no page")


SETUP = {"packages": packages, "environment": environment}
TESTS = {**SETUP, "cases": cases, "build": build, "unit": unit, "integration": integration}
SANITIZERS = {
    **SETUP,
    "cases": cases,
    "sanitized": sanitized,
    "threads": threads,
    "uninitialized": uninitialized,
    "fuzz": fuzz,
}
TIERS = {
    "test": TESTS,
    "fast": {**SETUP, "build": build, "unit": unit, "integration": integration_fast},
    "check": {"build": build, "unit": unit},
    "sanitizers": SANITIZERS,
    "coverage": {**SETUP, "cases": cases, "covered": covered},
    "all": {**TESTS, **SANITIZERS, "integration": integration_whole, "threads": threads_whole},
}
# Measured for a fresh clone on two idle cores: minutes, and disk space in GB.
COSTS = {"test": (17, 3), "fast": (5, 1), "check": (4, 1), "sanitizers": (20, 4), "coverage": (35, 7), "all": (90, 9)}

# --- the run ----------------------------------------------------------------------------------------------------------

started = time.monotonic()


def clock():
    seconds = int(time.monotonic() - started)
    return f"{seconds // 60}:{seconds % 60:02}"


def finish():
    tier = sys.argv[1]
    print()
    for reason, number in sorted(not_run.items()):
        print(f"not run: {number} x {reason}")
    for name in failed:
        print(f"failed: {name}")
    if of_other_tiers:
        print(f"only in make test-all: {of_other_tiers} tests, which take minutes or an environment of their own")
    if passed:
        junit.write_durations(RESULTS, RESULTS / "durations.md")
    print(
        f"{tier}: {clock()} minutes, {cpu_seconds():.0f} s of processor time; durations in {RESULTS / 'durations.md'}"
    )
    sums = {"passed": len(passed), "failed": len(failed), "skipped": sum(not_run.values())}
    (RESULTS / f"{tier}.json").write_text(json.dumps(sums))
    print_sums(sums, plain="TEST_TOTALS_LATER" not in os.environ)
    sys.exit(1 if failed else 0)


def print_sums(sums, plain):
    """Prints the line that CI reads. If totals of several tiers follow, the line has another form."""
    line = f"{sums['passed']} passed, {sums['failed']} failed, {sums['skipped']} skipped"
    print(line if plain else f"this tier: {line}")


def totals(tiers):
    """Prints the sums of earlier tiers. A tier that did not finish is a failure."""
    sums = Counter()
    for tier in tiers:
        path = RESULTS / f"{tier}.json"
        if not path.exists():
            print(f"failed: {tier} did not come to its end")
        sums.update(json.loads(path.read_text()) if path.exists() else {"failed": 1})
    print_sums(sums, plain=True)
    sys.exit(1 if sums["failed"] else 0)


def longest_of(step):
    """The step's minutes of LONGEST. The fuzz targets take seconds each once `sanitized` has built their libraries."""
    built_before = step == "fuzz" and (BUILD / ASAN / "bin" / "carina").exists()
    return 8 if built_before else LONGEST.get(step, 0)


def announce(tier, steps):
    minutes, gigabytes = COSTS[tier]
    free = shutil.disk_usage(BUILD).free / 1e9
    print(f"{tier}: {', '.join(steps)}")
    print(
        f"In a fresh clone this takes about {minutes} minutes on two cores and {gigabytes} GB in {BUILD} ({free:.0f} GB are free)."
    )


def main():
    # If the parent process ignores SIGCHLD, every exit code would be read as 0.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if len(sys.argv) < 2 or sys.argv[1] not in {*TIERS, "totals"}:
        sys.exit(__doc__)
    if sys.argv[1] == "totals":
        totals(sys.argv[2:])
    tier, steps = sys.argv[1], TIERS[sys.argv[1]]
    unknown = set(sys.argv[2:]) - set(steps)
    if unknown:
        sys.exit(f"no step {', '.join(unknown)} in {tier} ({', '.join(steps)})")
    chosen = [name for name in steps if name in sys.argv[2:]] or list(steps)
    for folder in (RESULTS, LOGS):
        folder.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{tier}.json").unlink(missing_ok=True)
    announce(tier, chosen)
    for number, name in enumerate(chosen, 1):
        before, used, start = (len(passed), len(failed)), cpu_seconds(), time.monotonic()
        print(f"[{number}/{len(chosen)}] {clock()}  {name}", flush=True)
        longest = longest_of(name)
        if time.time() + 60 * longest > DEADLINE:
            not_run[f"{name}: may take {longest} minutes, and the time limit of this run is nearer"] += 1
        else:
            steps[name]()
        ran = (
            f"{len(passed) - before[0]} passed, {len(failed) - before[1]} failed; "
            if (len(passed), len(failed)) != before
            else ""
        )
        print(
            f"    {clock()}  {name}: {ran}{time.monotonic() - start:.0f} s, {cpu_seconds() - used:.0f} s of processor time",
            flush=True,
        )
    finish()


if __name__ == "__main__":
    main()
