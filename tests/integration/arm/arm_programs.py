"""Programs that run in one process, because PyTorch and ExecuTorch take longer to load than they run: arm_partition.py and arm_checks.py.
The names of those that passed go into a file. Standard output also has the text of C++ libraries, which may end in the middle of a line."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

PASSED, ERRORS = "passed.txt", "errors.txt"


def note_passed(name):
    """Called by a program's process, in the folder where run_programs() started it."""
    with open(PASSED, "a") as passed:
        passed.write(name + "\n")


def run_programs(carina, tmp_path_factory, script, *arguments, seconds):
    """The names of the programs of a script that passed, and what its process wrote to standard error. One of pytest's
    workers runs the script, for minutes; another one that has tests of the same file waits for its outcome."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / script
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ERRORS).exists():
            (folder / ERRORS).write_text(_errors_of(carina, folder, script, arguments, seconds))
    return (folder / PASSED).read_text().splitlines(), (folder / ERRORS).read_text()


def _errors_of(carina, folder, script, arguments, seconds):
    environment = {**os.environ, "PYTHONPATH": str(carina.parents[1] / "python"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(Path(__file__).parent / script), *arguments]
    (folder / PASSED).touch()  # for a process that ends before any program
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"{script} was stopped after {seconds} s"
    return done.stderr
