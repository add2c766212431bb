"""CARINA_DEADLINE: what would not end in time is not begun, counts as skipped, and is no failure."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def run_tier(minutes, tmp_path, *names):
    variables = {**os.environ, "CARINA_DEADLINE": str(time.time() + 60 * minutes), "CARINA_BUILD": str(tmp_path)}
    variables.pop("TEST_TOTALS_LATER", None)  # CI sets it, which gives the last line another form
    command = [sys.executable, ROOT / "scripts/test.py", *names]
    return subprocess.run(command, env=variables, capture_output=True, text=True)


def test_steps_that_would_end_too_late_are_skipped_with_the_reason(tmp_path):
    done = run_tier(3, tmp_path, "sanitizers", "sanitized", "threads")
    assert done.returncode == 0
    assert "not run: 1 x sanitized: may take 36 minutes, and the time limit of this run is nearer" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 passed, 0 failed, 2 skipped"


def test_tests_that_would_begin_too_late_are_skipped(tmp_path):
    (tmp_path / "test_late.py").write_text("def test_wrong():\n    assert False\n")
    variables = {**os.environ, "CARINA_DEADLINE": str(time.time() + 60), "PYTHONPATH": str(Path(__file__).parent)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tier_plugin",
        "-p",
        "no:cacheprovider",
        "-rs",
        "--rootdir",
        tmp_path,
        tmp_path,
    ]
    late = subprocess.run(command, env=variables, capture_output=True, text=True, cwd=tmp_path)
    assert late.returncode == 0 and "the time limit of this run is too near" in late.stdout, late.stdout
    variables["CARINA_DEADLINE"] = str(time.time() + 3600)
    assert subprocess.run(command, env=variables, capture_output=True, cwd=tmp_path).returncode == 1
