"""Runs programs and measures their cost."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("CARINA_BUILD", "build") / "release" / "bin"
SHARED = Path(os.environ.get("CARINA_SHARED", ROOT.parent / "shared"))
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def commit():
    """The commit that is measured, for the pages that say what has been measured; followed by "+" if tracked files differ from it."""
    git = ["git", "-c", "safe.directory=*", "-C", ROOT]
    name = subprocess.run(
        [*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    differs = (
        subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src", "include", "facts"], check=False).returncode != 0
    )
    return name + ("+" if differs else "")


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
            done = subprocess.run(
                [str(word) for word in [*launcher, *command]], capture_output=True, text=True, env=ONE_THREAD, **options
            )
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr[-2000:]}")
            measured = json.load(cost_file)
        cost = Cost(measured["cpu"], measured["wall"], measured["megabytes"])
        best = cost if best is None or cost.seconds < best.seconds else best
    return best, done.stdout


# Benchmarks with several threads, for which only the CPU time of the calling thread is known.
WALL_ONLY = ("two",)


def google_benchmark(program, *args, repetitions=3, seconds=0.2):
    """{name: Cost} of one of Carina's benchmark programs: the best repetition."""
    command = [
        BUILD / program,
        "--benchmark_format=json",
        f"--benchmark_repetitions={repetitions}",
        f"--benchmark_min_time={seconds}",
        *args,
    ]
    cost, text = process(command)
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    costs = {}
    for run in json.loads(text)["benchmarks"]:
        if run.get("error_occurred"):
            raise RuntimeError(f"{program} {run['name']}: {run['error_message']}")
        if run["run_type"] != "iteration":
            continue
        name, factor = run["name"].split("/")[0], unit[run["time_unit"]]
        new = Cost(run["cpu_time"] * factor, run["real_time"] * factor, cost.megabytes)
        costs[name] = min(new, costs.get(name, new), key=lambda c: c.wall if name in WALL_ONLY else c.seconds)
    return costs


def best_of(function, seconds=0.6, min_calls=3):
    """The cost of the fastest call in this process, after one warm-up call."""
    function()
    best, end, calls = None, time.perf_counter() + seconds, 0
    while calls < min_calls or time.perf_counter() < end:
        wall, cpu = time.perf_counter(), time.process_time()
        function()
        cost = Cost(time.process_time() - cpu, time.perf_counter() - wall)
        best, calls = min(cost, best or cost, key=lambda c: c.seconds), calls + 1
    return best


def program_peer(*arguments):
    """The output of program_peer.py."""
    return process([sys.executable, ROOT / "bench" / "program_peer.py", *arguments])[1]


def peer_inference(program, input_file):
    """The cost of a warm inference of a program in the official ExecuTorch runtime on one thread."""
    measured = json.loads(program_peer("run", program, input_file).splitlines()[-1])
    return Cost(measured["cpu"], measured["wall"])
