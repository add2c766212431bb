"""Damaged files on the command line give a result or a message, within 20 s and 4 GB, but never a signal or exit code 3.

100 files, in `make test-all` 300; the environment variable N=30000 sets more. A failure names the mutation, which damaged_files.py can repeat.
"""

import os
import resource
import subprocess

import numpy as np
import pytest
from conftest import ROOT
from damaged_files import mutate
from tier_plugin import sampled

MODEL = ROOT / "models" / "digits" / "digits.pt2"
CALIBRATION = ROOT / "models" / "digits" / "calibration.npz"
COUNT = int(os.environ.get("N", sampled(100, 300)))
SECONDS = 20
ADDRESS_SPACE = 4 << 30
T = ["--target", "ethos-u55-128"]

# kind of file, its name among the sources, and the command lines that read it. FILE is the damaged file.
READERS = [
    ("pt2", "digits.pt2", [["compile", "FILE", *T, "-o", "out.pte"], ["explain", "FILE", *T, "--calibrate", str(CALIBRATION)], ["inspect", "FILE"]]),
    ("pte", "digits.pte", [["run", "FILE"], ["run", "FILE", "--timed"], ["inspect", "FILE"], ["disasm", "FILE"]]),
    ("pte", "float.pte", [["run", "FILE"], ["inspect", "FILE", "--json"]]),
    ("tosa", "digits.tosa", [["interpret", "FILE"], ["compile", "FILE", *T, "-o", "out.pte"], ["tosa", "--verify", "FILE", "--json"]]),
    ("npz", "stream.npz", [["npu", "run", "FILE", "--check"], ["npu", "run", "FILE", "--timed"], ["disasm", "FILE"]]),
    ("npz", "data.npz", [["compile", str(MODEL), *T, "--calibrate", "FILE", "-o", "out.pte"], ["accuracy", str(MODEL), "digits.pte", "--data", "FILE"]]),
    ("npy", "x.npy", [["run", "digits.pte", "-i", "FILE"], ["inspect", "FILE"]]),
]  # fmt: skip


@pytest.fixture(scope="module")
def sources(run_carina, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mutations")
    run_carina(
        ["compile", MODEL, *T, "--calibrate", CALIBRATION, "--dump", folder / "dump", "-o", folder / "digits.pte"]
    )
    run_carina(["compile", MODEL, *T, "-o", folder / "float.pte"])
    (folder / "digits.pt2").write_bytes(MODEL.read_bytes())
    (folder / "digits.tosa").write_bytes(next((folder / "dump").glob("*.tosa")).read_bytes())
    (folder / "stream.npz").write_bytes((folder / "dump" / "output_tag0_vela.npz").read_bytes())
    data = np.load(ROOT / "models" / "digits" / "test.npz")
    np.savez(folder / "data.npz", x=data["x"][:20], y=data["y"][:20])
    np.save(folder / "x.npy", data["x"][:1])
    return folder


def little():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def outcome(carina, args, folder):
    try:
        done = subprocess.run([carina, *args], cwd=folder, capture_output=True, timeout=SECONDS, preexec_fn=little)
    except subprocess.TimeoutExpired:
        return f"took more than {SECONDS} s"
    if done.returncode in (0, 1, 2) and (done.returncode == 0 or done.stdout or done.stderr):
        return None
    return f"exit code {done.returncode}: {done.stderr[-300:].decode(errors='replace')}"


@pytest.mark.small_memory
@pytest.mark.parametrize("reader", range(len(READERS)), ids=[f"{name}" for _, name, _ in READERS])
def test_no_damaged_file_ends_in_a_signal(carina, sources, reader):
    kind, name, commands = READERS[reader]
    original = (sources / name).read_bytes()
    file = f"damaged_{name}"
    failures = []
    for number in range(COUNT // len(READERS) + 1):
        (sources / file).write_bytes(mutate(kind, original, number))
        args = [file if a == "FILE" else a for a in commands[number % len(commands)]]
        problem = outcome(carina, args, sources)
        if problem:
            failures.append(f"{kind} {number} of {name}: carina {' '.join(args)}: {problem}")
    assert not failures, "\n".join(failures)
    assert mutate(kind, original, 1) == mutate(kind, original, 1) != original
