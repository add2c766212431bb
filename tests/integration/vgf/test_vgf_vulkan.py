"""Runs Carina's VGF files on a Vulkan device: Arm's scenario-runner, then `carina run --on vulkan`, over its emulation layers of the ML
extensions and Mesa's lavapipe. lavapipe is a Debian package and not on PyPI. Without it these tests are reported as not run."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scenario_runner
from random_tosa_graphs import generate
from random_tosa_ir import D
from random_tosa_reference import Sample
from test_random_tosa_graphs import FIRST, rows  # noqa: F401  a fixture
from vulkan_device import vulkan  # noqa: F401  a fixture

SITE = Path(scenario_runner.__file__).parents[1]
RUNNER = SITE / "scenario_runner/binaries/bin/scenario-runner"
DUMP = SITE / "vgf_lib/binaries/bin/vgf_dump"
INTEGERS = {D.INT8, D.INT16, D.INT32}
OPERATORS = [
    "ADD", "ARGMAX", "AVG_POOL2D", "CLAMP", "CONCAT", "CONV2D", "DEPTHWISE_CONV2D", "GATHER", "MATMUL", "MAX_POOL2D", "MUL", "NEGATE", "PAD",
    "REDUCE_SUM", "RESCALE", "RESIZE", "TABLE", "TRANSPOSE", "TRANSPOSE_CONV2D",
]  # fmt: skip


@pytest.fixture
def run_on_vulkan(vulkan, tmp_path):  # noqa: F811
    def run(vgf, inputs):
        scenario = tmp_path / "scenario.json"
        subprocess.run([DUMP, "-i", vgf, "--scenario-template", "-o", scenario], check=True, capture_output=True)
        described = json.loads(scenario.read_text())
        outputs = 0
        for resource in described["resources"]:
            tensor, graph = resource.get("tensor", {}), resource.get("graph")
            if graph:
                graph["src"] = str(vgf)
            if "src" in tensor:
                place = int(tensor["src"].rsplit("_", 1)[1])
                np.save(tmp_path / f"in_{place}.npy", inputs[place])
                tensor["src"] = f"in_{place}.npy"
            if "dst" in tensor:
                tensor["dst"] = f"out_{int(tensor['dst'].rsplit('_', 1)[1])}.npy"
                outputs += 1
        scenario.write_text(json.dumps(described))
        command = [RUNNER, "--scenario", scenario, "--output", tmp_path / "made"]
        (tmp_path / "made").mkdir(exist_ok=True)
        done = subprocess.run(command, cwd=tmp_path, env=vulkan, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return [np.load(tmp_path / "made" / f"out_{place}.npy") for place in range(outputs)]

    return run


def interpreted(run_carina, vgf, inputs, folder):
    options = []
    for place, array in enumerate(inputs):
        np.save(folder / f"input_{place}.npy", array)
        options += ["-i", folder / f"input_{place}.npy"]
    run_carina(["interpret", vgf, *options, "-o", folder / "interpreted"])
    return [
        np.load(npy)
        for npy in sorted((folder / "interpreted").glob("output_*.npy"), key=lambda p: int(p.stem.split("_")[1]))
    ]


def integer_sample(rows, op):  # noqa: F811
    for seed in range(FIRST, FIRST + 400):
        graph = generate(rows, 3 * seed + 2, 7, 2, {op})  # a seed without careless graphs
        types = {value.dtype for value in graph.values}
        if (
            not graph.careless
            and op in {node.op for node in graph.nodes}
            and types <= INTEGERS | {D.SHAPE}
            and len(set(graph.outputs)) == len(graph.outputs)
        ):
            return Sample(graph, op)
    pytest.fail(f"no integer graph of {op}")


@pytest.mark.parametrize("op", OPERATORS)
def test_integer_operators(op, rows, vulkan, run_on_vulkan, run_carina, tmp_path):  # noqa: F811
    sample = integer_sample(rows, op)
    (tmp_path / "in.tosa").write_bytes(sample.tosa)
    run_carina(["tosa", tmp_path / "in.tosa", "-o", tmp_path / "m.vgf"])
    inputs = [np.ascontiguousarray(array).reshape(np.shape(array) or (1,)) for array in sample.arrays]
    wanted = interpreted(run_carina, tmp_path / "m.vgf", inputs, tmp_path)
    made = run_on_vulkan(tmp_path / "m.vgf", inputs)
    assert wanted and [array.tobytes() for array in made] == [array.tobytes() for array in wanted]


@pytest.mark.cases("add_float", "kws", "ds_cnn", "softmax", "mobilenet_v2", either=True)
def test_device_gives_the_recorded_bits(case, vulkan, run_on_vulkan, run_carina, tmp_path):  # noqa: F811
    run_carina(["tosa", case.path / "out.tosa", "-o", tmp_path / "m.vgf"])
    made = run_on_vulkan(tmp_path / "m.vgf", case.arrays("tosa_in_"))
    assert [array.tobytes() for array in made] == [array.tobytes() for array in case.arrays("tosa_out_")]


# --- Carina's own Vulkan runtime -----------------------------------------------------------------------------------------


def own_run(run_carina, program, inputs, folder, vulkan):  # noqa: F811
    folder.mkdir(exist_ok=True)
    options = []
    for place, array in enumerate(inputs):
        np.save(folder / f"in_{place}.npy", array)
        options += ["-i", folder / f"in_{place}.npy"]
    done = run_carina(
        ["run", program, "--on", "vulkan", *options, "-o", folder / "out", "--timed", "--json"], env=vulkan
    )
    assert done.json["delegate_calls"] == len(done.json["vgf_nanoseconds"]) > 0
    made = sorted((folder / "out").glob("output_*.npy"), key=lambda path: int(path.stem.split("_")[1]))
    return [np.load(path) for path in made]


@pytest.mark.parametrize("op", OPERATORS)
def test_own_runtime_on_integer_operators(op, rows, vulkan, run_carina, tmp_path):  # noqa: F811
    sample = integer_sample(rows, op)
    (tmp_path / "in.tosa").write_bytes(sample.tosa)
    run_carina(["compile", tmp_path / "in.tosa", "--target", "vgf", "-o", tmp_path / "m.pte"])
    inputs = [np.asarray(array, order="C") for array in sample.arrays]
    wanted = interpreted(run_carina, tmp_path / "in.tosa", inputs, tmp_path)
    made = own_run(run_carina, tmp_path / "m.pte", inputs, tmp_path / "run", vulkan)
    assert wanted and [array.tobytes() for array in made] == [array.tobytes() for array in wanted]


@pytest.mark.cases("add_int32", "kws", "ds_cnn", "softmax", "lstm", "mobilenet_v2", either=True)
def test_own_runtime_on_integer_cases(case, vulkan, run_carina, tmp_path):  # noqa: F811
    run_carina(["compile", case.path / "out.tosa", "--target", "vgf", "-o", tmp_path / "m.pte"])
    made = own_run(run_carina, tmp_path / "m.pte", case.arrays("tosa_in_"), tmp_path / "run", vulkan)
    assert [array.tobytes() for array in made] == [array.tobytes() for array in case.arrays("tosa_out_")]


@pytest.mark.cases("add_float", "kws", "softmax", "mobilenet_v2", either=True)
def test_own_runtime_on_float_cases(case, vulkan, run_carina, tmp_path):  # noqa: F811
    run_carina(["compile", case.model, "--target", "vgf", "-o", tmp_path / "m.pte"])
    made = own_run(run_carina, tmp_path / "m.pte", case.inputs, tmp_path / "run", vulkan)
    for got, wanted in zip(made, case.arrays("out_torch_float_"), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)


def test_no_device_for_graphs(vulkan, run_carina, tmp_path):  # noqa: F811
    run_carina(["compile", "models/digits/digits.pt2", "--target", "vgf", "-o", tmp_path / "m.pte"])
    done = run_carina(["run", tmp_path / "m.pte", "--on", "vulkan"], expect=1, env={**vulkan, "VK_INSTANCE_LAYERS": ""})
    assert "lacks extension VK_ARM_tensors" in done.stderr


@pytest.mark.parametrize("mode", [[], ["--host-emulator"]])
@pytest.mark.parametrize("layers", [True, False])
def test_check_env(layers, mode, vulkan, carina):  # noqa: F811
    environment = {**vulkan, "PYTHONPATH": str(carina.parents[1] / "python"), "CARINA_BIN": str(carina)}
    if not layers:
        environment["VK_INSTANCE_LAYERS"] = ""
    done = subprocess.run(
        [sys.executable, "-m", "carina.vgf.check_env", *mode, "--json"], capture_output=True, text=True, env=environment
    )
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["Vulkan loader"]["status"] == "PASS" and (checks["Vulkan device"]["status"] == "PASS") == layers
    assert done.returncode == (0 if layers else 1) and bool(checks["Vulkan device"]["action"]) != layers
