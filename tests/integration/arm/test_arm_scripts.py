"""Carina's replacements of the Arm backend's scripts: `python -m carina.aot_arm_compiler`, `carina aot`, `carina arm-run`, `carina
evaluate-model`. References: the peer's own argument parsers and summary printer, its own tests of its evaluators, ExecuTorch's runtime and
its reader of bundled programs, eager PyTorch."""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT
from executorch.backends.arm.scripts import aot_arm_compiler as peer

DIGITS = ROOT / "models" / "digits" / "digits.pt2"

MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.last = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Linear(8, 5)

    def forward(self, x):
        return torch.softmax(self.last(torch.relu(self.first(x)).mean((2, 3))), 1)

ModelUnderTest = Net().eval()
ModelInputs = (torch.randn(1, 3, 12, 12, generator=torch.Generator().manual_seed(1)),)
"""

# torch.topk over a row of this length stays on the CPU for every target.
SPLIT = """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x), torch.topk(x, 2)[0]

ModelUnderTest = Net().eval()
ModelInputs = (torch.randn(1, 2, 8, 128, generator=torch.Generator().manual_seed(1)),)
"""


@pytest.fixture(scope="session")
def package(carina):
    """The package in the build tree, laid out as in an installed wheel."""
    folder = carina.parents[1] / "python"
    assert list((folder / "carina").glob("_native*")), f"{folder} has no carina._native: run `make build`"
    return folder


@pytest.fixture(scope="session")
def environment(package, carina):
    return {
        **os.environ,
        "PYTHONPATH": str(package),
        "CARINA_PYTHON": sys.executable,
        "CARINA_BIN": str(carina),
        "PYTHONWARNINGS": "ignore",
        "OMP_NUM_THREADS": "1",
    }


@dataclass
class Done:
    code: int
    stdout: str
    stderr: str


@pytest.fixture
def script(ours, tmp_path, monkeypatch, capfd):
    """script("aot_arm_compiler", arg, ...) -> its messages. The exit code must be `expect`. Runs in this process, because PyTorch takes
    seconds to start."""
    monkeypatch.chdir(tmp_path)

    def run(name, *arguments, expect=0):
        capfd.readouterr()
        try:
            code = ours(f"carina.{name}").main([str(argument) for argument in arguments])
        except SystemExit as stop:  # from argparse
            code = stop.code
        done = Done(code, *capfd.readouterr())
        assert done.code == expect, f"{arguments}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done

    return run


@pytest.fixture
def model(tmp_path):
    (tmp_path / "net.py").write_text(MODEL)
    return tmp_path / "net.py"


@pytest.fixture(scope="module")
def ours(package):
    """The package's modules, in this process."""
    sys.path.insert(0, str(package))
    yield __import__("importlib").import_module
    sys.path.remove(str(package))


# --- arguments -----------------------------------------------------------------------------------------------------------


class Parsed(Exception):
    """Carries a parser out of a function that builds one and parses with it."""


def parser_in(function, monkeypatch):
    def capture(parser, *_):
        raise Parsed(parser)

    with monkeypatch.context() as patch, pytest.raises(Parsed) as caught:
        patch.setattr(argparse.ArgumentParser, "parse_args", capture)
        function()
    return caught.value.args[0]


def options_of(parser):
    return {name: action for action in parser._actions for name in action.option_strings}


def check_options(theirs, mine):
    """Checks that every option of `theirs` is an option of `mine`, with the same meaning in argparse."""
    for name, action in options_of(theirs).items():
        assert name in options_of(mine), name
        own = options_of(mine)[name]
        for trait in ("dest", "default", "nargs", "const", "type", "required"):
            assert getattr(own, trait) == getattr(action, trait), (name, trait)
        assert type(own) is type(action), name
        if action.choices is not None:
            assert set(action.choices) <= set(own.choices), name


def test_every_option_of_aot_arm_compiler(ours, monkeypatch):
    theirs = parser_in(peer._get_args, monkeypatch)
    assert len(options_of(theirs)) > 30
    check_options(theirs, ours("carina_arm.scripts.aot_options").parser())


def test_every_option_of_evaluate_model(ours, monkeypatch):
    # The peer's evaluators need torchvision; its options do not.
    monkeypatch.setitem(
        sys.modules, "executorch.backends.arm.util.arm_model_evaluator", ours("carina_arm.scripts.metrics")
    )
    from executorch.backends.arm.scripts import evaluate_model

    theirs = parser_in(evaluate_model._get_args, monkeypatch)
    assert len(options_of(theirs)) > 20
    check_options(theirs, ours("carina_arm.scripts.evaluate_options").parser())


# Options of examples/arm/run.sh and backends/arm/scripts/run_fvp.sh, which are in no package. Source: ExecuTorch at
# cff6f4dd.
RUN_SH = """--model_name --model_input --aot_arm_compiler_flags --no_delegate --no_quantize --select_ops_list --target --output --bundleio --etdump --build_type
    --build-dir --build_only --extra_build_flags --toolchain --system_config --config --memory_mode --pte_placement --specify_ethosu_scratch --et_build_root
    --scratch-dir --qdq_fusion_op --model_explorer --perf_overlay --visualize_tosa --visualize_pte"""
RUN_FVP_SH = "--elf --data --bundle --target --timeout --etrecord --trace_file --semihosting-cwd --fast"


def test_every_option_of_the_shell_scripts(ours):
    own = options_of(ours("carina_arm.scripts.runner_options").parser())
    assert not {*RUN_SH.split(), *RUN_FVP_SH.split()} - set(own)


def test_options_without_meaning_are_taken_and_explained(script, model):
    said = script(
        "aot_arm_compiler", "-m", model, "--enable_qdq_fusion_pass", "-e", "mv2", "--cortex-m-explicit-layout"
    ).stderr
    for option in ("--enable_qdq_fusion_pass", "--evaluate", "--cortex-m-explicit-layout"):
        assert len([line for line in said.splitlines() if f"{option} makes no difference: " in line]) == 1, said


# --- output files --------------------------------------------------------------------------------------------------------


def compiled(script, folder, *arguments):
    """The only .pte or .bpte in a fresh folder, and the script's messages."""
    done = script("aot_arm_compiler", *arguments, "-o", folder)
    (file,) = folder.iterdir()
    return file, done.stdout


def test_files_are_named_as_the_peer_names_them(script, model, tmp_path):
    ways = {
        (): "net_arm_ethos-u55-128.pte",
        ("-d", "-q", "-t", "ethos-u85-256"): "net_arm_delegate_ethos-u85-256.pte",
        ("-d", "-q", "--bundleio"): "net_arm_delegate_ethos-u55-128.bpte",
        ("-q", "-t", "cortex-m55", "-d"): "net_arm_cortex-m55.pte",
        ("-t", "cortex-m55+int8"): "net_arm_cortex-m55.pte",
    }
    for place, (options, name) in enumerate(ways.items()):
        file, said = compiled(script, tmp_path / str(place), "-m", model, *options)
        assert file.name == name
        assert f"PTE file saved as {file}" in said


def test_one_model_in_every_form_is_one_program(script, model, run_carina, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    import net

    torch.save(net.ModelUnderTest, tmp_path / "saved.pt")
    torch.save(net.ModelUnderTest, tmp_path / "saved.pth")
    torch.save(net.ModelInputs, tmp_path / "inputs.pt")
    exported = torch.export.export(net.ModelUnderTest, net.ModelInputs, strict=True)
    torch.export.save(exported, tmp_path / "exported.pt2")
    (tmp_path / "only.py").write_text(MODEL.replace("ModelInputs =", "Unused ="))
    inputs = ("--model_input", tmp_path / "inputs.pt")
    forms = [
        (model,),
        (tmp_path / "saved.pt", *inputs),
        (tmp_path / "saved.pth", *inputs),
        (tmp_path / "exported.pt2",),
        (tmp_path / "only.py", *inputs),
    ]
    made = [
        compiled(script, tmp_path / str(place), "-d", "-q", "-m", *form)[0].read_bytes()
        for place, form in enumerate(forms)
    ]
    np.save(tmp_path / "x.npy", net.ModelInputs[0].numpy())
    run_carina(
        [
            "compile",
            tmp_path / "exported.pt2",
            "-t",
            "ethos-u55-128",
            "-q",
            "int8",
            "--calibrate",
            tmp_path / "x.npy",
            "--delegate-all",
            "-o",
            tmp_path / "cli.pte",
        ]
    )
    made.append((tmp_path / "cli.pte").read_bytes())
    assert len(set(made)) == 1


def test_calibration_data_is_a_file_or_a_folder(script, model, tmp_path):
    (tmp_path / "samples" / "more").mkdir(parents=True)
    x = torch.randn(1, 3, 12, 12, generator=torch.Generator().manual_seed(5))
    torch.save((x,), tmp_path / "samples" / "a.pt")
    torch.save([x], tmp_path / "one.pth")
    one, _ = compiled(script, tmp_path / "1", "-m", model, "-d", "-q", "--calibration_data", tmp_path / "one.pth")
    folder, _ = compiled(script, tmp_path / "2", "-m", model, "-d", "-q", "--calibration_data", tmp_path / "samples")
    torch.save(x * 3, tmp_path / "samples" / "more" / "b.pt")
    wider, _ = compiled(script, tmp_path / "3", "-m", model, "-d", "-q", "--calibration_data", tmp_path / "samples")
    assert one.read_bytes() == folder.read_bytes() != wider.read_bytes()


class Writes:
    """An object whose reader writes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("option", ["--calibration_data", "--model_input"])
def test_data_do_not_run_code_unless_trusted(script, model, tmp_path, option):
    written = tmp_path / "written"
    torch.save([Writes(written)], tmp_path / "evil.pt")
    arguments = ("-m", model, "-d", "-q", option, tmp_path / "evil.pt")
    said = script("aot_arm_compiler", *arguments, expect=1).stderr
    assert "evil.pt holds more than tensors" in said and "--trust_data" in said and not written.exists()
    script("aot_arm_compiler", *arguments, "--trust_data", expect=1)  # it is read, and is no sample
    assert written.exists()


def test_intermediates_hold_what_came_between(script, model, tmp_path, reference_model):
    _, said = compiled(
        script, tmp_path / "out", "-m", model, "-d", "-q", "-i", tmp_path / "between", "-t", "ethos-u85-256"
    )
    assert torch.export.load(tmp_path / "between" / "net_exported_program.pt2").module()
    (graph,) = (tmp_path / "between").glob("output_tag0_TOSA-1.0*.tosa")
    assert reference_model(graph, [np.zeros((1, 3, 12, 12), np.int8)])[0].shape == (1, 5)
    info = tmp_path / "between" / "delegation_info.txt"
    assert f"Full delegation report:\n  {info}" in said
    assert "Total delegated subgraphs: 1" in info.read_text()


def test_debug_json_leads_from_tosa_to_the_model(script, model, tmp_path):
    compiled(
        script, tmp_path / "out", "-m", model, "-d", "-q", "-i", tmp_path / "between", "--enable_debug_mode", "json"
    )
    events = json.loads((tmp_path / "between" / "debug.json").read_text())
    found = {event["aten_info"]["operator_name"]: event for event in events}
    assert {"conv2d.default", "mean.dim", "softmax.int", "linear.default"} <= set(found)
    (conv,) = (
        event
        for event in events
        if event["tosa_info"]["operator_name"].lower().endswith("conv2d")
        and "conv2d" in event["aten_info"]["node_name"]
    )
    assert any("net.py" in line for line in conv["torch_info"]["stack_trace"])
    assert any("first" in str(entry) for entry in conv["torch_info"]["nn_module_stack"].values())


# --- the delegation summary -------------------------------------------------------------------------------------------------


class PeersInfo:
    """The attributes of ExecuTorch's DelegationInfo that the peer's printer reads."""

    class Row:
        def __init__(self, op_type, non_delegated):
            self.op_type, self.non_delegated = op_type, non_delegated

    def __init__(self, delegation):
        self.num_delegated_nodes = delegation.delegated.total()
        self.num_non_delegated_nodes = delegation.non_delegated.total()
        self.num_delegated_subgraphs = delegation.subgraphs
        self.delegation_by_operator = {op: self.Row(op, count) for op, count in delegation.non_delegated.items()}


@pytest.mark.parametrize(
    ("delegated", "outside"),
    [
        ({}, {}),
        ({}, {"aten_add_out": 2}),
        ({"aten_relu_default": 3}, {}),
        ({"aten_relu_default": 3}, {"b": 1, "a": 1, "c": 4}),
    ],
)
@pytest.mark.parametrize("folder", [None, "work"])
def test_the_summary_is_the_peers(ours, capsys, delegated, outside, folder):
    delegation = ours("carina_arm.scripts.delegation").Delegation(len(delegated), Counter(delegated), Counter(outside))
    peer.print_delegation_summary(PeersInfo(delegation), folder)
    assert delegation.summary(folder) + "\n" == capsys.readouterr().out


def test_delegation_summary_agrees_with_the_program(script, tmp_path):
    (tmp_path / "split.py").write_text(SPLIT)
    file, said = compiled(script, tmp_path / "out", "-m", tmp_path / "split.py", "-d", "-q")
    assert "Model was partially delegated." in said
    assert "Delegated partitions for silicon acceleration: 1" in said
    operators = executorch_operators(file)
    assert f"Non-delegated ops: {len(operators)}" in said
    for name, count in Counter(operators).items():
        assert f"    - {name.replace('::', '_').replace('.', '_')}: {count}" in said
    assert re.search(r"- topk \(split\.py:6\): aten\.topk\.default: .+", said)
    assert "Model was not delegated." in compiled(script, tmp_path / "cpu", "-m", tmp_path / "split.py")[1]


def executorch_operators(file):
    """The kernel calls of a program with one method, as ExecuTorch's own deserializer reads them."""
    from executorch.exir._serialize._program import deserialize_pte_binary
    from executorch.exir.schema import KernelCall

    plan = deserialize_pte_binary(file.read_bytes()).program.execution_plan[0]
    calls = [
        step.instr_args
        for chain in plan.chains
        for step in chain.instructions
        if isinstance(step.instr_args, KernelCall)
    ]
    return [
        ".".join(filter(None, (plan.operators[call.op_index].name, plan.operators[call.op_index].overload)))
        for call in calls
    ]


# --- errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-m", "nothing"], 1, ["'nothing' is not a valid name", "qadd", "mobilenet"[:3]]),
        (["-m", "gone.py"], 1, ["there is no file gone.py"]),
        (["-m", "gone.pt"], 1, ["there is no file gone.pt"]),
        (["-m", "empty.py"], 1, ["ModelUnderTest and ModelInputs"]),
        (["-m", "weights.pt", "--model_input", "in.pt"], 1, ["not a module", "torch.save(model"]),
        (["-m", "qadd", "--model_input", "in.npy"], 1, ["in.npy", "--model_input <FILE>.pt"]),
        (["-m", "qadd", "-d", "--calibration_data", "in.pt"], 1, ["--calibration_data requires --quantize"]),
        (["-m", "qadd", "-q", "--calibration_data", "nowhere"], 1, ["'nowhere' is not a file or directory"]),
        (["-m", "qadd", "-q", "--calibration_data", "in.pt"], 1, ["[7, 7]", "[13, 3]"]),
        (["-m", "qadd", "--bundleio", "-o", "x.pte"], 1, ["--bundleio expects a .bpte"]),
        (["-m", "qadd", "-o", "x.bpte"], 1, ["When not using --bundleio"]),
        (["-m", "qadd", "-t", "ethos-u99"], 2, ["ethos-u99", "ethos-u55-128"]),
        (["-m", "qadd", "-d", "-q", "--memory_mode", "Elsewhere"], 2, ["Elsewhere", "Shared_Sram"]),
        (["-m", "qadd", "-d", "-q", "--direct_drive"], 1, ["COP1"]),
        (["-m", "mv2"], 1, ["mv2", "torchvision"]),
    ],
)  # fmt: skip
def test_wrong_arguments_are_rejected_with_a_reason(script, tmp_path, arguments, code, words):
    torch.save(torch.zeros(7, 7), tmp_path / "in.pt")
    torch.save({"w": torch.zeros(1)}, tmp_path / "weights.pt")
    (tmp_path / "empty.py").write_text("")
    said = script("aot_arm_compiler", *arguments, expect=code).stderr
    assert "error: " in said and not list(tmp_path.glob("*.[pb]*te"))
    for word in words:
        assert word in said


# --- runs -----------------------------------------------------------------------------------------------------------------

OFFICIAL = """
import sys
import carina.executorch as npu
npu.register()
import executorch.kernels.quantized
from executorch.extension.pybindings import portable_lib
for bundle in sys.argv[1:]:
    held = portable_lib._load_bundled_program_from_buffer(open(bundle, "rb").read())
    with npu.recorded() as calls:
        try:
            held.verify_result_with_bundled_expected_output("forward", 0, 0.0, 0.0)
            found = "as expected"
        except RuntimeError:
            found = "other outputs"
    print(found, [call["npu"]["cycles"] > 0 for call in calls])
"""


def test_a_bundle_passes_in_the_official_runtime_to_the_bit(script, ours, model, environment, tmp_path):
    bundle, _ = compiled(script, tmp_path / "b", "-m", model, "-d", "-q", "--bundleio", "-i", tmp_path / "between")
    (given,), (wanted,) = (
        torch.load(tmp_path / "between" / "input_0.pt"),
        torch.load(tmp_path / "between" / "output_ref_0.pt"),
    )
    assert given.shape == (1, 3, 12, 12)
    program, _ = compiled(script, tmp_path / "p", "-m", model, "-d", "-q")
    other = tmp_path / "other.bpte"
    other.write_bytes(
        ours("carina_arm.scripts.bundle").bundle(ours("carina").Program.load(program), [given], [wanted + 1 / 256])
    )
    done = subprocess.run(
        [sys.executable, "-c", OFFICIAL, bundle, other], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert [line for line in done.stdout.splitlines() if line.startswith(("as", "other"))] == [
        "as expected [True]",
        "other outputs [True]",
    ]


def test_arm_run_is_compile_and_run(run_carina, environment, model, tmp_path):
    torch.save((torch.full((1, 3, 12, 12), 0.25),), tmp_path / "in.pt")
    options = [f"--model_name={model}", "--target=ethos-u85-256", f"--model_input={tmp_path / 'in.pt'}"]
    outputs = []
    for place in ("host", "qemu"):
        done = run_carina(["arm-run", *options, f"--output={tmp_path / place}", f"--on={place}"], env=environment)
        assert f"pte_file: {tmp_path / place / 'net_arm_delegate_ethos-u85-256.pte'}" in done.stdout
        assert "Delegation summary:" in done.stdout
        outputs.append(np.load(tmp_path / place / "outputs" / "output_0.npy"))
    np.testing.assert_array_equal(outputs[0], outputs[1])
    eager = __import__("runpy").run_path(str(model))["ModelUnderTest"](torch.load(tmp_path / "in.pt")[0])
    np.testing.assert_allclose(outputs[0], eager.detach().numpy(), atol=0.02)
    elf = tmp_path / "qemu" / "net_arm_delegate_ethos-u85-256.elf"
    assert "Ethos-U PMU report:" in run_carina(["arm-run", f"--elf={elf}", "--timeout=100"], env=environment).stdout


def test_carina_starts_python_or_says_why_not(run_carina, carina, environment, tmp_path):
    assert "--calibration_data" in run_carina(["aot", "--help"], env=environment).stdout
    nowhere = run_carina(
        ["aot", "-m", "qadd"], expect=1, env={**environment, "CARINA_PYTHON": str(tmp_path / "python")}
    )
    assert "this command needs Python" in nowhere.stderr and "CARINA_PYTHON" in nowhere.stderr
    bare = subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], capture_output=True, check=False
    )
    assert bare.returncode == 0
    without = run_carina(
        ["aot", "-m", "qadd"], expect=1, env={**environment, "CARINA_PYTHON": str(tmp_path / "bare" / "bin" / "python")}
    )
    assert "No module named 'torch'" in without.stderr and "pip install" in without.stderr


# --- evaluate_model -----------------------------------------------------------------------------------------------------------


def test_figures_are_those_of_numpy(ours, script, model, tmp_path):
    said = script(
        "evaluate_model", "-m", model, "-t", "ethos-u55-128", "-q", "int8", "-e", "numerical", "-i", tmp_path / "work"
    )
    written = json.loads((tmp_path / "work" / "ethos-u55-128_metrics.json").read_text())
    assert (written["name"], written["target"]) == (
        "net",
        "ethos-u55-128",
    ) and "Model was partially delegated." in said.stdout
    program, _ = compiled(script, tmp_path / "out", "-m", model, "-d", "-q")
    module = __import__("runpy").run_path(str(model))
    wanted = module["ModelUnderTest"](*module["ModelInputs"]).detach().numpy().astype(np.float64)
    got = ours("carina").Program.load(program).run(*module["ModelInputs"])[0].astype(np.float64)
    figures = written["metrics"]
    np.testing.assert_allclose(figures["max_absolute_error"], np.abs(wanted - got).max(), rtol=1e-9)
    np.testing.assert_allclose(figures["mean_absolute_error"], np.abs(wanted - got).mean(), rtol=1e-9)
    np.testing.assert_allclose(figures["max_error"], (wanted - got).max(), rtol=1e-9)
    np.testing.assert_allclose(figures["max_percentage_error"], ((wanted - got) / wanted).max() * 100, rtol=1e-9)
    assert figures["compression_ratio"] > 1


@pytest.mark.parametrize(
    ("target", "options"),
    [("TOSA-1.0+INT", ["-q", "int8"]), ("TOSA-1.0+FP", []), ("TOSA-1.0+INT+int16", ["-q", "a16w8"]), ("vgf", [])],
)
def test_tosa_targets_are_evaluated_in_the_interpreter(script, model, tmp_path, target, options):
    script(
        "evaluate_model",
        "-m",
        model,
        "-t",
        target,
        *options,
        "-e",
        "numerical",
        "-i",
        tmp_path / "work",
        "-o",
        tmp_path / "m.json",
    )
    figures = json.loads((tmp_path / "m.json").read_text())["metrics"]
    assert figures["max_absolute_error"] < (0.01 if options else 1e-5) and figures["compression_ratio"] > 1


def test_top_1_and_top_5_of_a_folder_of_classes(script, tmp_path):
    data = np.load(ROOT / "models" / "digits" / "test.npz")
    for place in range(60):
        folder = tmp_path / "val" / str(int(data["y"][place]))
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{place:03}.npy", data["x"][place].astype(np.float32))
    torch.save(torch.from_numpy(data["x"][:1]), tmp_path / "sample.pt")
    script("evaluate_model", "-m", DIGITS, "-t", "ethos-u55-128", "-q", "int8", "-e", "imagenet", "--evaluation_dataset", tmp_path / "val",
           "--max_samples", 50, "--batch_size", 8, "-i", tmp_path / "work", "-o", tmp_path / "m.json", "--calibration_data", tmp_path / "sample.pt")  # fmt: skip
    metrics = json.loads((tmp_path / "m.json").read_text())["metrics"]
    assert metrics["num_samples"] == 50
    assert 0.9 <= metrics["accuracy"]["top-1"] <= metrics["accuracy"]["top-5"] <= 1


def test_the_peers_own_tests_of_its_evaluators(package, tmp_path):
    """Runs the peer's tests with Carina's classes instead of the peer's. torchvision, which the peer's modules import, is not needed."""
    (tmp_path / "conftest.py").write_text(
        "import sys\nimport carina_arm.scripts.metrics as ours\nsys.modules['executorch.backends.arm.util.arm_model_evaluator'] = ours\n"
    )
    theirs = Path(peer.__file__).parents[1] / "test" / "misc" / "test_model_evaluator.py"
    (tmp_path / "test_theirs.py").write_text(theirs.read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", tmp_path],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
    )
    assert re.search(r"4 passed", done.stdout), done.stdout[-3000:]
