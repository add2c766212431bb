"""Tests carina.arm as a replacement of the Arm backend. The tutorials' scripts run with changed imports, and unchanged after install().
Their programs run in the official runtime, on the simulator, and are compared with the command line's. The Arm backend's own API tests run
on Carina's classes."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import suite

TUTORIALS = Path(__file__).parent / "tutorials"
NAMES = ("ethos_u", "builder")

RUN = """
import sys
import numpy as np, torch
import carina.executorch as npu
npu.register(timed=False)
import executorch.kernels.quantized
from executorch.runtime import Runtime
for name in sys.argv[1:]:
    data = open(name + ".pte", "rb").read()  # the runtime reads it where it lies
    program = Runtime.get().load_program(data)
    method = program.load_method("forward")
    np.save(name + "_official.npy", method.execute([torch.from_numpy(np.load(name + "_input.npy"))])[0].numpy())
"""
OWN = """
import sys, torch, torchao.quantization.pt2e
import carina, carina.arm
for name in sys.argv[1:]:
    spec = carina.arm.EthosUCompileSpec("ethos-u55-128").dump_intermediate_artifacts_to("own")
    partitioner = carina.arm.EthosUPartitioner(spec)
    manager = carina.arm.to_edge_transform_and_lower(torch.export.load(name + ".pt2"), partitioner=[partitioner])
    with open(name + "_own.pte", "wb") as file:
        manager.to_executorch().write_to_file(file)
assert "executorch.exir" not in sys.modules
"""

COMPOSITE = """
import numpy as np, torch
import carina, carina.arm
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(16, 16), torch.nn.LayerNorm(16)
        self.attention = torch.nn.MultiheadAttention(16, 2, batch_first=True)
    def forward(self, x):
        x = self.norm(self.linear(x))
        return torch.softmax(x + self.attention(x, x, x)[0], -1)

torch.manual_seed(0)
inputs = (torch.randn(1, 4, 16),)
spec = carina.arm.EthosUCompileSpec("ethos-u85-256")
quantizer = carina.arm.EthosUQuantizer(spec).set_global(carina.arm.get_symmetric_quantization_config())
prepared = prepare_pt2e(torch.export.export(Model().eval(), inputs).module(), quantizer)
for _ in range(8):
    prepared(torch.randn(1, 4, 16))
quantized = convert_pt2e(prepared)
program = torch.export.export(quantized, inputs)
manager = carina.arm.to_edge_transform_and_lower(program, partitioner=[carina.arm.EthosUPartitioner(spec)])
made = manager.to_executorch().program
assert [node for node in made.explain().nodes if node["runs_on"] == "cpu"] == []
result, eager = made.run(*inputs)[0], quantized(*inputs).detach().numpy()
step = np.diff(np.unique(result)).min()
assert result.max() > 0.1 and np.abs(result - eager).max() <= 4 * step, np.abs(result - eager).max() / step
"""

CHANNELS_LAST = """
import numpy as np, torch
import carina.executorch as npu
npu.register(timed=False)
import carina.arm
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.runtime import Runtime
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.next = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Conv2d(8, 4, 3, stride=2)
    def forward(self, x):
        y = torch.relu(self.conv(x))
        return self.next(y * y), (y + y).contiguous()

torch.manual_seed(0)
sample = lambda: (torch.randn(1, 3, 10, 12).to(memory_format=torch.channels_last),)
inputs = sample()
spec = carina.arm.EthosUCompileSpec("ethos-u55-128")
quantizer = carina.arm.EthosUQuantizer(spec).set_global(carina.arm.get_symmetric_quantization_config())
prepared = prepare_pt2e(torch.export.export(Model().eval(), inputs).module(check_guards=False), quantizer)
for _ in range(8):
    prepared(*sample())
quantized = convert_pt2e(prepared)
edge = to_edge_transform_and_lower(torch.export.export(quantized, inputs), partitioner=[carina.arm.EthosUPartitioner(spec)])
assert "convolution" not in edge.exported_program().graph_module.code and "conv2d" not in edge.exported_program().graph_module.code
data = edge.to_executorch(config=ExecutorchBackendConfig(extract_delegate_segments=False)).buffer
program = Runtime.get().load_program(data)
for result, eager in zip(program.load_method("forward").execute(list(inputs)), quantized(*inputs), strict=True):
    result, eager = result.numpy(), eager.detach().numpy()
    step = np.diff(np.unique(result)).min()
    assert result.shape == eager.shape and np.abs(result - eager).max() <= 3 * step, np.abs(result - eager).max() / step
"""

DEBUG_INFO = """
import sys, torch, torchao.quantization.pt2e
import carina, carina.arm
from carina.arm import EthosUCompileSpec, EthosUPartitioner

class Nowhere:
    def is_node_supported(self, modules, node):
        return "dropout" not in node.name and "linear" not in node.name

program = torch.export.load(sys.argv[1])
for mode in EthosUCompileSpec.DebugMode:
    spec = EthosUCompileSpec("ethos-u55-128").dump_intermediate_artifacts_to(mode.name).dump_debug_info(mode)
    carina.arm.to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(spec, [Nowhere()])])
"""


@pytest.fixture(scope="module")
def python(carina, forked_python):
    """python(source, *arguments, folder): runs a program with the package of the build. `lean`: without ExecuTorch."""
    build = carina.parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(build / "python"), str(TUTORIALS)]),
        "CARINA_EXECUTORCH_LIBRARY": str(build / "lib" / "libcarina_executorch.so"),
        "OMP_NUM_THREADS": "1",
    }

    def run(source, *arguments, folder, lean=False):
        modules = ["torch", "torchao.quantization.pt2e.quantize_pt2e", *([] if lean else ["executorch.exir"])]
        done = forked_python(*modules).run(source, *arguments, cwd=folder, env=environment)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return done

    return run


def with_other_imports(script):
    """The script's text, in which only the part between `from` and `import` differs."""
    text, count = re.subn(
        r"(?m)^from executorch\.backends\.arm[\w.]* import", "from carina.arm import", script.read_text()
    )
    assert count >= 2
    return text


@pytest.fixture(scope="module")
def converted(python, tmp_path_factory):
    """A folder with the output of the scripts with changed imports."""
    folder = tmp_path_factory.mktemp("converted")
    texts = [with_other_imports(TUTORIALS / f"{name}.py") for name in NAMES]
    python("\n".join(f"exec(compile({text!r}, 'script', 'exec'), {{}})" for text in texts), folder=folder)
    return folder


@pytest.fixture(scope="module")
def unchanged(python, tmp_path_factory):
    """A folder with the output of the unchanged scripts after install()."""
    folder = tmp_path_factory.mktemp("unchanged")
    run = "import runpy, sys, carina.arm\ncarina.arm.install()\nfor script in sys.argv[1:]: runpy.run_path(script)"
    python(run, *(TUTORIALS / f"{name}.py" for name in NAMES), folder=folder)
    return folder


def test_scripts_give_the_programs_of_the_command_line(converted, unchanged, python, run_carina):
    python(RUN, *NAMES, folder=converted)
    for name in NAMES:
        assert (converted / f"{name}.pte").read_bytes() == (unchanged / f"{name}.pte").read_bytes()
        run_carina(
            ["compile", converted / f"{name}.pt2", "--target", "ethos-u55-128", "-o", converted / f"{name}_cli.pte"]
        )
        report = run_carina(
            [
                "run",
                converted / f"{name}_cli.pte",
                "-i",
                converted / f"{name}_input.npy",
                "-o",
                converted / name,
                "--json",
            ]
        ).json
        official = np.load(converted / f"{name}_official.npy")
        np.testing.assert_array_equal(official, np.load(converted / name / "output_0.npy"))
        step = np.diff(np.unique(official)).min()
        assert np.abs(official - np.load(converted / f"{name}_eager.npy")).max() <= 2 * step
        assert report


def test_our_own_way_gives_the_bytes_of_the_command_line(converted, python, run_carina):
    python(OWN, *NAMES, folder=converted, lean=True)
    for name in NAMES:
        run_carina(
            ["compile", converted / f"{name}.pt2", "--target", "ethos-u55-128", "-o", converted / f"{name}_cli.pte"]
        )
        assert (converted / f"{name}_own.pte").read_bytes() == (converted / f"{name}_cli.pte").read_bytes()
    assert any((converted / "own").glob("output_tag0_*.tosa"))


def test_our_own_way_says_where_operators_come_from(converted, python, run_carina):
    """A user's check rejects a layer, and a dropout that is removed."""
    python(DEBUG_INFO, "ethos_u.pt2", folder=converted)
    events = json.loads((converted / "JSON" / "debug.json").read_text())
    assert events == json.loads((converted / "JSON" / "output_tag0_debug.json").read_text())
    (graph,) = (converted / "JSON").glob("output_tag0_*.tosa")
    (located,) = (converted / "TOSA").glob("output_tag0_*.tosa")
    convolutions = [event for event in events if event["tosa_info"]["operator_name"] == "CONV2D"]
    assert len(convolutions) == len(re.findall(r"tosa\.CONV2D\b", run_carina(["inspect", graph]).stdout))
    for event in convolutions:
        assert event["aten_info"]["operator_name"].startswith("conv2d")
        assert "network.py" in "".join(event["torch_info"]["stack_trace"]) and event["torch_info"]["nn_module_stack"]
    assert not [event for event in events if "linear" in event["aten_info"]["node_name"]]
    assert events[-1]["aten_info"]["node_name"].encode() in located.read_bytes()
    assert b"torch_info" not in graph.read_bytes() and b"torch_info" in located.read_bytes()


def test_channels_last_tensors_cross_the_boundaries_of_delegates(python, tmp_path):
    """Runs in the official runtime. The reference is torchao's own evaluation of the quantized graph."""
    python(CHANNELS_LAST, folder=tmp_path)


def test_options_of_rewrites_that_have_no_effect_are_said(python, tmp_path):
    said = python(
        """
import logging
logging.basicConfig(format="%(message)s")
from carina.arm import ArmPassPipelineConfig, EthosUCompileSpec, QuantizeInfConfig, SoftmaxDecompositionConfig
spec = EthosUCompileSpec("ethos-u55-128")
spec.set_pass_pipeline_config(ArmPassPipelineConfig(softmax=SoftmaxDecompositionConfig.STABLE))
spec.set_pass_pipeline_config(ArmPassPipelineConfig(quantize_inf=QuantizeInfConfig(neg_inf=-8.0, pos_inf=7.0)))
""",
        folder=tmp_path,
    ).stderr.splitlines()
    assert len(said) == 1 and "quantize_inf.pos_inf has no effect" in said[0]


def test_values_within_operators_are_observed(python, tmp_path):
    """Attention, a norm and a softmax. The reference is torchao's own evaluation of the quantizer's graph."""
    python(COMPOSITE, folder=tmp_path)


@pytest.mark.long
def test_the_arm_backends_tests_of_its_api(carina, tmp_path):
    """Specs, recipes, a saved model and the flow of its public API. `suite.py` runs all of its files."""
    files = [
        "misc/test_compile_spec.py",
        "misc/test_save_exported_model.py",
        "recipes/test_arm_recipes.py",
        "public_api_bc/test_ethosu_flow.py",
    ]
    found, _ = suite.run(suite.tests_folder(), files, tmp_path / "outcomes.json", carina.parents[1] / "python", 600)
    assert not {test: outcome for test, outcome in found.items() if outcome[0] != "passed"}
    assert len(found) >= 35 and {test.partition("::")[0] for test in found} == set(files)


OLD_NAMES = """
import sys
import torch
import carina.arm
carina.arm.install()
from executorch.backends.arm.arm_backend import ArmBackend, generate_ethosu_compile_spec, get_intermediate_path, is_tosa
from executorch.backends.arm.vgf_backend import VgfBackend
from executorch.backends.arm._passes import FoldAndAnnotateQParamsPass, InsertCastForOpsWithInt64InputPass
from executorch.backends.arm.ethosu import EthosUBackend, EthosUCompileSpec
from executorch.backends.arm.tosa import TosaSpecification
from executorch.exir import to_edge
assert VgfBackend is carina.arm.VgfBackend and FoldAndAnnotateQParamsPass.__module__.startswith("executorch")
spec = EthosUCompileSpec("ethos-u55-128").dump_intermediate_artifacts_to("between")
assert (spec.get_intermediate_path(), spec.get_output_format()) == ("between", "vela")
entries = spec._to_list()
assert get_intermediate_path(entries) == "between" and not is_tosa(entries)
assert is_tosa(carina.arm.TosaCompileSpec("TOSA-1.0+INT")._to_list())
class Sum(torch.nn.Module):
    def forward(self, x):
        return x + x
x = torch.ones(5, dtype=torch.int32)
edge = to_edge(torch.export.export(Sum(), (x,))).transform([InsertCastForOpsWithInt64InputPass()]).exported_program()
plain = generate_ethosu_compile_spec("ethos-u55-128")
made = ArmBackend.preprocess(edge, plain).processed_bytes
assert made == EthosUBackend.preprocess(edge, plain).processed_bytes and len(made) > 100
try:
    TosaSpecification.create_from_string("TOSA-0.80+BI")
except ValueError as error:
    assert "Wrong TOSA version: 0.80" in str(error) and "--tosa-version 0.80" in str(error), error
else:
    raise AssertionError("0.80 is taken")
"""


def test_names_of_older_documents(python, tmp_path):
    """The reference for the old backend's delegate is the current backend's delegate."""
    done = python(OLD_NAMES, folder=tmp_path)
    assert "today's runtimes look for EthosUBackend" in done.stderr


DYNAMIC = """
import torch
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e
from carina.arm import EthosUCompileSpec, EthosUQuantizer, get_symmetric_quantization_config
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
inputs = (torch.ones(1, 4),)
quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128")).set_global(get_symmetric_quantization_config(is_dynamic=True))
try:
    prepare_pt2e(torch.export.export(model, inputs).module(check_guards=False), quantizer)
except NotImplementedError as error:
    assert "is_dynamic=True" in str(error) and "is_dynamic=False" in str(error)
else:
    raise AssertionError("taken")
"""


def test_scales_of_run_time_are_rejected_with_the_reason(python, tmp_path):
    python(DYNAMIC, folder=tmp_path)
