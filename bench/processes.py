"""Runs programs and says what they cost."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("CARINA_BUILD", ROOT / "build" / "release")) / "bin"
SHARED = Path(os.environ.get("CARINA_SHARED", ROOT.parent / "shared"))
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass
class Cost:
    seconds: float  # of CPU time, user and system
    wall: float
    megabytes: float = 0.0  # peak of the process; 0: not measured


def carina(*args):
    return [BUILD / "carina", *args]


def process(command, repeat=1, **options):
    """(cost, standard output) of a fresh process: the best of `repeat`."""
    best = None
    for _ in range(repeat):
        with tempfile.NamedTemporaryFile() as cost_file:
            launcher = [sys.executable, "-I", "-S", ROOT / "bench" / "measured.py", cost_file.name]
            done = subprocess.run([str(word) for word in [*launcher, *command]], capture_output=True, text=True, env=ONE_THREAD, **options)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr[-2000:]}")
            measured = json.load(cost_file)
        cost = Cost(measured["cpu"], measured["wall"], measured["megabytes"])
        best = cost if best is None or cost.seconds < best.seconds else best
    return best, done.stdout
