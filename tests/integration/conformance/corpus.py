"""The tests of the official generator: a fixed sample for every change, and the whole corpus in batches.

The sample of `make test-all` has all operators of TOSA 1.0.2, small shapes, a few tests for each type and mode, and a test for each error
condition of each operator. It has some 2,400 tests and 70 MB with their results, and takes two minutes of CPU time to make. The sample of
`make test` has the same for the operators of FEW: some 350 tests. The whole corpus is made by tosa_verif_conformance_generator with its own
configuration, one operator at a time.
"""

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tosa_reference_model

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tier_plugin

VERSION = "1.0.2"
EXTENSIONS = [
    f"tosa-ext-{name}"
    for name in (
        "bf16", "controlflow", "doubleround", "dynamic", "fft", "fp8e4m3", "fp8e5m2", "inexactround", "int16", "int4", "variable",
    )
]  # fmt: skip

PACKAGES = Path(tosa_reference_model.__file__).resolve().parents[1]
CONFIG = PACKAGES / "conformance" / "cts-config_v1.0.json"
PROGRAMS = Path(sys.executable).parent

# Additional tests beside the special ones that the generator always makes: at most `maximum` for each value of
# `permutes`.
CONVOLUTIONS = {"permutes": ["type", "acc_type"], "full_params": ["stride", "kernel"], "maximum": 3}
SELECTIONS = {
    "cast": {"permutes": ["type", "out_type"], "maximum": 1},
    "rescale": {
        "permutes": ["type", "rounding_mode", "output_dtype"],
        "full_params": ["per_channel", "input_unsigned", "output_unsigned"],
        "maximum": 3,
    },
    "avg_pool2d": CONVOLUTIONS,
    "conv2d": CONVOLUTIONS,
    "conv3d": CONVOLUTIONS,
    "depthwise_conv2d": CONVOLUTIONS,
    "transpose_conv2d": CONVOLUTIONS,
    "max_pool2d": {"permutes": ["type"], "full_params": ["stride", "kernel"], "maximum": 3},
    "resize": {"permutes": ["type", "mode"], "maximum": 4},
}
OTHERS = {"permutes": ["rank", "type"], "maximum": 1}
# One operator from each chapter: sums of products, activations, elements, reductions, gathering and type conversion.
FEW = ["conv2d", "matmul", "sigmoid", "add", "abs", "greater", "reduce_sum", "gather", "rescale"]
CONTROL_FLOW = ["cond_if", "while_loop"]  # the generator's option for constant inputs fails on these
LATER = [
    "gather/gather_*_b_*",
    "scatter/scatter_*_b_*",
]  # the generator makes them for any version, but bool came with 1.1


def official_config():
    config = json.loads(CONFIG.read_text())
    config.pop("$comment", None)
    return config


def operators():
    """The operators of 1.0, under the generator's names."""
    return [name for name, row in official_config().items() if row.get("from_version", "1.0.0") <= VERSION]


def run(command, log):
    """Runs one of tosa-tools' programs; its output goes to the log."""
    environment = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    with open(log, "a") as out:
        done = subprocess.run([str(word) for word in command], stdout=out, stderr=subprocess.STDOUT, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed, see {log}: {' '.join(map(str, command))}")


def build(folder, names, selection, kind, extra, log):
    run(
        [
            PROGRAMS / "tosa_verif_build_tests", "-o", folder, "--tosa-version", VERSION, "--test-type", kind,
            "--generate-lib-path", PACKAGES / "tosa_reference_model" / "libtosa_reference_generate_lib.so",
            "--test-selection-config", selection, "--filter", f"^({'|'.join(names)})$",
            "--profile", "all", "--extension", *EXTENSIONS, *extra,
        ],
        log,
    )  # fmt: skip


def sample_key():
    text = Path(__file__).read_text() + importlib.metadata.version("tosa-tools")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@contextlib.contextmanager
def alone(root):
    """Locks the folders: other processes wait until this one has finished. The lock ends with its process."""
    Path(root).mkdir(parents=True, exist_ok=True)
    with open(Path(root) / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sampled_operators():
    return tier_plugin.sampled(FEW, operators())


def sample(root):
    """The folder of this tier's tests. Missing tests are made and kept, and the folder of an older sample is removed."""
    name, names = tier_plugin.sampled("few", "sample"), sampled_operators()
    folder = Path(root) / f"{name}-{sample_key()}"
    if (folder / "complete").exists():
        return folder
    for stale in Path(root).glob(f"{name}-*"):
        shutil.rmtree(stale)
    making = Path(root) / "making"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    selection = making / "selection.json"
    selection.write_text(json.dumps({name: {"selection": {"default": SELECTIONS.get(name, OTHERS)}} for name in names}))
    log = Path(root) / "generator.log"
    log.unlink(missing_ok=True)
    small = ["--tensor-dim-range", "1,10"]
    plain = [name for name in names if name not in CONTROL_FLOW]
    jobs = [
        (making / "positive", plain[0::2], selection, "positive", [*small, "--random-const-inputs"]),
        (making / "positive", plain[1::2], selection, "positive", [*small, "--random-const-inputs"]),
        (making / "positive", [name for name in names if name in CONTROL_FLOW], selection, "positive", small),
        (making / "negative", names, CONFIG, "negative", ["--tensor-dim-range", "1,16"]),
    ]
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for done in [pool.submit(build, *job, log) for job in jobs if job[1]]:
            done.result()
    for pattern in LATER:
        for test in (making / "positive").glob(pattern):
            shutil.rmtree(test)
    (making / "complete").touch()
    making.rename(folder)
    return folder


def batch(root, operator, jobs):
    """The whole corpus's tests of one operator. Missing tests are made; the caller removes the folder."""
    folder = Path(root) / "batch" / operator
    if (folder / "complete").exists():
        return folder / "tests"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(
        [
            PROGRAMS / "tosa_verif_conformance_generator", "--operators", operator, "--tosa-version", VERSION,
            "--profile", "all", "--extension", *EXTENSIONS, "--test-type", "both", "--output-type", "binary",
            "--ref-model-path", PACKAGES / "bin" / "tosa_reference_model",
            "--generate-lib-path", PACKAGES / "tosa_reference_model" / "libtosa_reference_generate_lib.so",
            "--schema-path", PACKAGES / "bin" / "tosa.fbs", "--flatc-path", PACKAGES / "bin" / "flatc",
            "--build-directory", folder / "build", "--output-directory", folder / "tests", "-j", jobs,
        ],
        folder.parent / f"{operator}.log",
    )  # fmt: skip
    shutil.rmtree(folder / "build", ignore_errors=True)
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "complete").touch()
    return folder / "tests"


def tests_in(folder):
    return sorted(path.parent for path in Path(folder).rglob("desc.json"))
