"""The cache of captured cases of the Arm backend's tests.

build/test-env/cache/arm/<executorch version>/
    files/<ops.test_add>.json      the cases of one test file: what the suite tests, and which graphs each case uses
    sample/<ops.test_add>.json     the same for the cases of the sample (sample.py), if the whole file is not captured
    graphs/<key>/                  an exported program with its expected results
        model.pt2                  torch.export.save
        x0.npy ... ref0.npy ...    the inputs and the outputs of eager PyTorch; bfloat16 and fp8 inputs as bits, outputs widened to float32
        cal.npz                    the inputs by name, for --calibrate
        graph.json                 names and types; for a graph of the peer's quantizer the parameters of inputs and outputs

A graph is captured once for all cases (FP, INT, U55 ...) that test the same module on the same inputs.
"""

import contextlib
import fcntl
import importlib.metadata
import json
import os
from pathlib import Path

import vgf_case

ROOT = Path(__file__).resolve().parents[3]
TEST_ENV = Path(os.environ.get("CARINA_TEST_ENV", ROOT / "build" / "test-env"))


def folder():
    return TEST_ENV / "cache" / "arm" / importlib.metadata.version("executorch")


def file_record(test_file, part="files"):
    """The record of a test file with a name like ops/test_add.py."""
    return folder() / part / (test_file.removesuffix(".py").replace("/", ".") + ".json")


def graph(key):
    return folder() / "graphs" / key


def cases_of(test_file, part="files"):
    """The captured cases, or None when the file has not been captured."""
    record = file_record(test_file, part)
    return vgf_case.with_peer_graphs(json.loads(record.read_text())["cases"]) if record.exists() else None


def is_captured(test_file, quantized, part="files"):
    """Whether the cache has the file, and if `quantized` also the graphs of the peer's quantizer."""
    record = file_record(test_file, part)
    return record.exists() and (not quantized or json.loads(record.read_text())["quantized"])


def write(path, value):
    """Replaces the file atomically: a reader finds the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(value, indent=0))
    part.rename(path)


@contextlib.contextmanager
def alone(test_file):
    """Lets one process capture a file while the others wait for it."""
    lock = file_record(test_file).with_suffix(".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
