"""Programs that run in one process, because PyTorch and ExecuTorch take longer to load than they run: arm_partition.py and arm_checks.py.
The names of those that passed go into a file. Standard output also has the text of C++ libraries, which may end in the middle of a line."""

import os
import subprocess
import sys
from pathlib import Path

PASSED = "passed.txt"


def note_passed(name):
    """Called by a program's process, in the folder where run_programs() started it."""
    with open(PASSED, "a") as passed:
        passed.write(name + "\n")


def run_programs(carina, folder, script, *arguments, seconds):
    """The names of the programs of a script that passed, and what its process wrote to standard error."""
    environment = {**os.environ, "PYTHONPATH": str(carina.parents[1] / "python"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(Path(__file__).parent / script), *arguments]
    (folder / PASSED).touch()  # for a process that ends before any program
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds)
    return (folder / PASSED).read_text().splitlines(), process.stderr
