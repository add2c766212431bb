"""The simulator as EthosUBackend in the official ExecuTorch runtime (interop/executorch). It gives the bits of `carina run` for Carina's
and the peer's programs, from Python and from C++, and reports errors. Each run has its own process, because a registry of backends lasts
for a whole process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import executorch
import numpy as np
import pytest
from conftest import ROOT

EXECUTORCH = Path(executorch.__path__[0])
DIGITS = ROOT / "models" / "digits"

RUN = """
import json, sys
import numpy as np, torch
import carina.executorch as npu
program, input, output, *how = sys.argv[1:]
npu.register(timed="untimed" not in how)
import executorch.kernels.quantized
from executorch.runtime import Runtime
data = open(program, "rb").read()
try:
    loaded = Runtime.get().load_program(data)
    method = loaded.load_method("forward")
    for _ in range(2):
        outputs = method.execute([torch.from_numpy(np.load(input))])
    np.save(output, outputs[0].numpy())
except RuntimeError as error:
    print(json.dumps({"error": npu.last_error()}))
    sys.exit(0)
print(json.dumps({"reports": npu.reports(), "error": npu.last_error()}))
"""


@pytest.fixture(scope="session")
def library(carina):
    path = carina.parents[1] / "lib" / "libcarina_executorch.so"
    assert path.exists(), f"{path} is missing: run `make build`"
    return path


@pytest.fixture
def official(library, forked_python, tmp_path):
    """official(program, input array, ...) -> the child's answer, with its output under "output"."""

    def run(program, array, *how):
        np.save(tmp_path / "official_in.npy", array)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "CARINA_EXECUTORCH_LIBRARY": str(library)}
        files = [program, tmp_path / "official_in.npy", tmp_path / "official_out.npy"]
        done = forked_python("torch", "executorch.exir").run(RUN, *files, *how, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr[-3000:]
        said = json.loads(done.stdout.splitlines()[-1])
        if "reports" in said:
            said["output"] = np.load(tmp_path / "official_out.npy")
        return said

    return run


@pytest.fixture(scope="session")
def digits(run_carina, tmp_path_factory):
    program = tmp_path_factory.mktemp("digits") / "digits.pte"
    run_carina(
        [
            "compile",
            DIGITS / "digits.pt2",
            "--target",
            "ethos-u55-128",
            "--quantize",
            "int8",
            "--calibrate",
            DIGITS / "calibration.npz",
            "-o",
            program,
        ]
    )
    return program


def carina_run(run_carina, program, array, folder):
    np.save(folder / "in.npy", array)
    report = run_carina(["run", program, "-i", folder / "in.npy", "-o", folder / "out", "--timed", "--json"]).json
    return np.load(folder / "out" / "output_0.npy"), report


def digit():
    return np.load(DIGITS / "test.npz")["x"][:1]


def test_own_program_equals_carina_run(digits, official, run_carina, tmp_path):
    ours, report = carina_run(run_carina, digits, digit(), tmp_path)
    theirs = official(digits, digit())
    np.testing.assert_array_equal(theirs["output"], ours)
    assert [r["npu"]["cycles"] for r in theirs["reports"]] == [report["npu"]["cycles"]] * 2
    assert theirs["reports"][0]["npu"]["layers"] == report["npu"]["layers"]


@pytest.mark.parametrize("target", ["ethos-u65-256", "ethos-u65-512", "ethos-u85-128", "ethos-u85-2048"])
def test_our_programs_of_other_lines(target, official, run_carina, tmp_path):
    program = tmp_path / "digits.pte"
    run_carina(
        ["compile", DIGITS / "digits.pt2", "--target", target, "--calibrate", DIGITS / "calibration.npz", "-o", program]
    )
    ours, report = carina_run(run_carina, program, digit(), tmp_path)
    theirs = official(program, digit())
    np.testing.assert_array_equal(theirs["output"], ours)
    assert theirs["reports"][0]["npu"]["target"] == target
    assert [r["npu"]["cycles"] for r in theirs["reports"]] == [report["npu"]["cycles"]] * 2


def test_untimed_has_no_cycles(digits, official):
    assert all("npu" not in report for report in official(digits, digit(), "untimed")["reports"])


@pytest.mark.cases("kws", "resnet20", "mobilenet_v2")
@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_programs_of_the_peer(case, target, official, run_carina, tmp_path):
    program = case.path / target / "model.pte"
    assert program.exists()
    ours, report = carina_run(run_carina, program, case.inputs[0], tmp_path)
    theirs = official(program, case.inputs[0])
    np.testing.assert_allclose(theirs["output"], ours, rtol=1e-5, atol=1e-6)
    calls = report["delegate_calls"]
    assert len(theirs["reports"]) == 2 * calls
    assert sum(r["npu"]["cycles"] for r in theirs["reports"]) == 2 * report["npu"]["cycles"]


@pytest.mark.parametrize("calibrate", [[], ["--calibrate", DIGITS / "calibration.npz"]], ids=["float", "int8"])
def test_vgf_program_equals_carina_run(calibrate, official, run_carina, tmp_path):
    program = tmp_path / "digits.pte"
    run_carina(["compile", DIGITS / "digits.pt2", "--target", "vgf", *calibrate, "-o", program])
    ours, _ = carina_run(run_carina, program, digit(), tmp_path)
    theirs = official(program, digit())
    np.testing.assert_array_equal(theirs["output"], ours)
    assert [len(report["vgf_nanoseconds"]) for report in theirs["reports"]] == [1, 1]


@pytest.mark.parametrize(
    "delegates", [["--no-delegate"], ["--delegate-all", "--cpu-node", "linear"]], ids=["CPU", "partly"]
)
def test_cortex_m_kernels(delegates, official, run_carina, tmp_path):
    """Operators of the Cortex-M backend, which the official runtime lacks. Here they are compared with `carina run`.
    test_int8_on_the_cpu.py and test_cortex_m_kernels.py compare them with the backend's Python implementations."""
    program = tmp_path / "digits.pte"
    run_carina(
        [
            "compile",
            DIGITS / "digits.pt2",
            "--target",
            "ethos-u55-128",
            "--calibrate",
            DIGITS / "calibration.npz",
            "--cpu-kernels",
            "cortex-m",
            *delegates,
            "-o",
            program,
        ]
    )
    ours, report = carina_run(run_carina, program, digit(), tmp_path)
    assert any(kernel.startswith("cortex_m::quantized_") for kernel in report["cpu_kernels"])
    theirs = official(program, digit())
    np.testing.assert_array_equal(theirs["output"], ours)


def test_every_cortex_m_kernel_is_registered(library):
    """A program that calls any operator of the wheel's table for the backend can be loaded."""
    import yaml

    wanted = {
        row["func"].split("(")[0]
        for row in yaml.safe_load((EXECUTORCH / "backends/cortex_m/ops/operators.yaml").read_text())
    }
    ask = "import carina.executorch as npu\nnpu.register()\nfrom executorch.extension.pybindings.portable_lib import _get_operator_names\nprint(*_get_operator_names())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "CARINA_EXECUTORCH_LIBRARY": str(library)}
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert len(wanted) > 20 and wanted <= set(done.stdout.split())


def test_a_damaged_stream_is_rejected(digits, official, tmp_path):
    data = bytearray(digits.read_bytes())
    at = data.find(b"COP1")
    assert at > 0
    data[at : at + 4] = b"COPX"
    (tmp_path / "damaged.pte").write_bytes(data)
    said = official(tmp_path / "damaged.pte", digit())
    assert "reports" not in said and "EthosUBackend" in said["error"], said


def test_from_c_plus_plus(digits, library, run_carina, tmp_path):
    runner = tmp_path / "runner"
    includes = [
        f"-I{ROOT}",
        "-isystem",
        EXECUTORCH / "include",
        "-isystem",
        EXECUTORCH / "include/executorch/runtime/core/portable_type/c10",
    ]
    libraries = [f"-L{EXECUTORCH}/lib", "-lexecutorch", "-Wl,--no-as-needed", "-lexecutorch_kernels_optimized", "-lexecutorch_kernels_quantized",
                 "-lexecutorch_threadpool", library, f"-Wl,-rpath,{EXECUTORCH}/lib:{library.parent}"]  # fmt: skip
    source = Path(__file__).with_name("official_runner.cpp")
    subprocess.run(
        [
            "g++",
            "-std=c++17",
            "-O1",
            "-DC10_USING_CUSTOM_GENERATED_MACROS",
            *includes,
            source,
            "-o",
            runner,
            *libraries,
        ],
        check=True,
    )
    ours, _ = carina_run(run_carina, digits, digit(), tmp_path)
    digit().tofile(tmp_path / "in.bin")
    done = subprocess.run([runner, digits, tmp_path / "in.bin", tmp_path / "out.bin"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1"
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out.bin", ours.dtype), ours.ravel())


def test_asking_before_registering():
    ask = "import carina.executorch as npu\ntry:\n  npu.reports()\nexcept RuntimeError as error:\n  print(error)"
    done = subprocess.run(
        [sys.executable, "-c", ask],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )
    assert "register() was not called" in done.stdout, done.stderr


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_state_passes_from_run_to_run(target, official, run_carina, tmp_path):
    """The official runtime runs the program twice, on the same input."""
    import torch

    class Sum(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.linear = torch.nn.Linear(8, 8)
            self.register_buffer("sum", torch.full((1, 8), 0.5))

        def forward(self, x):
            self.sum.copy_(torch.tanh(self.linear(self.sum) + x))
            return self.sum * 2

    x = np.linspace(-1, 1, 8, dtype=np.float32)[None]
    model, program, steps = (tmp_path / name for name in ("model.pt2", "model.pte", "steps.npz"))
    torch.export.save(torch.export.export(Sum().requires_grad_(False), (torch.from_numpy(x),)), model)
    np.savez(steps, x=np.stack([x, x, x]))
    run_carina(["compile", model, "--target", target, "--calibrate", steps, "-o", program])
    report = run_carina(["run", program, "--sequence", steps, "-o", tmp_path / "out", "--json"]).json
    ours = np.load(tmp_path / "out" / "output_0.npy")
    assert report["delegate_calls"] == 1 and not np.array_equal(ours[0], ours[1])
    np.testing.assert_array_equal(official(program, x)["output"], ours[1])
