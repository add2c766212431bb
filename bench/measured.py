"""Runs a command and prints its cost as JSON to a file: {"wall", "cpu" (seconds), "megabytes" (peak), "exit"}.

usage: measured.py COST.json COMMAND...

A process inherits the peak memory of the process that starts it. So run.py, which loads torch and numpy, starts its programs through this
small one.
"""

import json
import os
import sys
import time

cost_file, *command = sys.argv[1:]
start = time.perf_counter()
pid = os.posix_spawnp(command[0], command, os.environ)
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - start
code = os.waitstatus_to_exitcode(status)
with open(cost_file, "w") as file:
    json.dump(
        {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "megabytes": usage.ru_maxrss / 1024, "exit": code}, file
    )
sys.exit(code if code >= 0 else 1)
