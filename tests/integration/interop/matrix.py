"""Runs rows in both runtimes and compares the outputs."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rows import Call, Made, Row, Workshop

RELATIVE = 1e-5  # for floats: the largest difference of an output, relative to its largest value


@dataclass
class Outcome:
    row: str
    reference: str
    delegates: int = 0
    kernels: int = 0
    integers: int = 0  # number of integer and boolean outputs, which must be bit-exact
    floats: int = 0
    largest: float = 0.0  # relative difference of floats
    with_host_kernels: float = 0.0  # the same for Carina's faster kernels, which add floats in another order
    problem: str = ""


class Official:
    """The official runtime in a child process, because its registry of delegates cannot be changed in a process."""

    def __init__(self, library: Path, python: Path) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": str(python),
            "CARINA_EXECUTORCH_LIBRARY": str(library),
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, Path(__file__).with_name("worker.py")]
        self.child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def run(self, made: Made, call: Call, folder: Path) -> list[np.ndarray]:
        job = {"program": made.program, "method": call.method, "inputs": folder / "inputs.npz", "outputs": folder / "official.npz",
               "data": made.data, "times": call.times, "channels_last": call.channels_last}  # fmt: skip
        assert self.child.stdin and self.child.stdout
        self.child.stdin.write(json.dumps(job, default=str) + "\n")
        self.child.stdin.flush()
        said = json.loads(self.child.stdout.readline() or '{"error": "the official runtime ended its process"}')
        assert "error" not in said, f"the official runtime: {said['error']}"
        outputs = np.load(folder / "official.npz")
        return [outputs[f"output_{i}"] for i in range(len(outputs.files))]

    def close(self) -> None:
        assert self.child.stdin
        self.child.stdin.close()
        self.child.wait()


def ours(carina: Path, made: Made, call: Call, folder: Path, *options: str) -> tuple[list[np.ndarray], dict]:
    """Runs the program in Carina. Returns the outputs and the report's data on the program."""
    inputs = folder / "inputs.npz"
    if call.times > 1:  # one run per sample
        inputs = folder / "samples.npz"
        np.savez(inputs, **{f"input_{i}": np.stack([x] * call.times) for i, x in enumerate(call.inputs)})
    output = folder / "ours"
    command = [carina, "run", made.program, "--method", call.method, "-i", inputs, "-o", output, "--json", *options]
    command += ["--data", made.data] if made.data else []
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, f"carina run: {done.stderr[-400:]}"
    found = [np.load(output / f"output_{i}.npy") for i in range(len(list(output.glob("output_*.npy"))))]
    if call.times > 1:
        found = [
            np.split(y, call.times)[-1].reshape(y.shape[1:] if y.shape[0] == call.times else (-1, *y.shape[1:]))
            for y in found
        ]
    shutil.rmtree(output)
    return found, json.loads(done.stdout)


def difference(got: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, relative to the largest expected value."""
    return float(np.abs(got.astype(np.float64) - wanted).max(initial=0)) / max(
        float(np.abs(wanted).max(initial=0)), 1e-30
    )


def compare(outcome: Outcome, got: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    """Raises: AssertionError that names the wrong output."""
    assert len(got) == len(wanted), f"{len(got)} outputs, expected {len(wanted)}"
    for i, (a, b) in enumerate(zip(got, wanted)):
        assert a.dtype == b.dtype and a.shape == b.shape, (
            f"output {i}: {a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
        )
        if b.dtype.kind != "f":
            assert np.array_equal(a, b), f"output {i}: {int((a != b).sum())} of {b.size} integers differ"
            outcome.integers += 1
            continue
        assert np.isfinite(b).all(), f"output {i}: not finite, which proves little"
        outcome.largest = max(outcome.largest, difference(a, b))
        assert difference(a, b) <= RELATIVE, f"output {i}: floats differ by {difference(a, b):.1e} of the largest"
        outcome.floats += 1


def compare_call(outcome: Outcome, made: Made, call: Call, carina: Path, official: Official, folder: Path) -> None:
    np.savez(folder / "inputs.npz", **{f"input_{i}": x for i, x in enumerate(call.inputs)})
    got, report = ours(carina, made, call, folder, "--portable-kernels")
    wanted = call.wanted if call.wanted is not None else official.run(made, call, folder)
    outcome.delegates += report["delegate_calls"]
    outcome.kernels += len(report["cpu_kernels"])
    compare(outcome, got, wanted)
    fast, _ = ours(carina, made, call, folder)
    for a, b in zip(fast, wanted):
        if b.dtype.kind == "f":
            outcome.with_host_kernels = max(outcome.with_host_kernels, difference(a, b))


def check(row: Row, carina: Path, cases: Path, official: Official) -> Outcome:
    """Makes the row's program, runs it in both runtimes and compares. Errors are stored in Outcome.problem."""
    outcome = Outcome(row.name, row.reference)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            made = row.make(Workshop(carina, cases, folder))
            for call in made.calls:
                compare_call(outcome, made, call, carina, official, folder)
        except (AssertionError, RuntimeError, OSError) as error:
            outcome.problem = (str(error) or repr(error))[:400].replace(str(folder), "")
    if not outcome.problem and outcome.integers + outcome.floats == 0:
        outcome.problem = "nothing was compared"
    return outcome


def as_json(outcomes: list[Outcome]) -> str:
    return json.dumps([asdict(outcome) for outcome in outcomes], indent=1)
