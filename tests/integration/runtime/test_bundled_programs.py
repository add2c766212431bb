"""Bundled programs (.bpte) and records of runs (ETDump), exchanged between `carina` and ExecuTorch's devtools in both directions.

The references are executorch.devtools: its writer and reader of bundled programs, its runtime's comparison, its Inspector.
"""

import numpy as np
import pytest
import torch
from torch import nn


class Gate(nn.Module):
    """Two inputs and two outputs. One of them is integer, one is channels-last."""

    def forward(self, x, y):
        return (x * torch.sigmoid(y)).sum(1), (x > y).to(torch.int32)


class Scaled(nn.Module):
    def forward(self, x, times):
        return x * times


def exported(module, inputs):
    from executorch.exir import EdgeCompileConfig, to_edge

    return to_edge(
        torch.export.export(module.eval(), inputs), compile_config=EdgeCompileConfig(_check_ir_validity=False)
    ).to_executorch()


def samples(count=3, seed=5):
    generator = torch.Generator().manual_seed(seed)
    return [
        (torch.randn(2, 3, 4, 5, generator=generator), torch.randn(2, 3, 4, 5, generator=generator))
        for _ in range(count)
    ]


def bundled(program, cases):
    """The bytes of a .bpte that ExecuTorch's devtools write for these (inputs, expected outputs)."""
    from executorch.devtools import BundledProgram
    from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
    from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer

    tests = [MethodTestCase(inputs=inputs, expected_outputs=expected) for inputs, expected in cases]
    return serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, [MethodTestSuite("forward", tests)]))


def verified(bundle, case, rtol=1e-5, atol=1e-8):
    """Runs a test case in ExecuTorch's runtime, which raises if an output differs."""
    from executorch.extension.pybindings import portable_lib

    loaded = portable_lib._load_bundled_program_from_buffer(bundle)
    loaded.verify_result_with_bundled_expected_output("forward", case, rtol, atol)


def test_bundles_of_executorch_run_and_are_compared(run_carina, tmp_path):
    inputs = samples()
    wanted = [Gate()(*sample) for sample in inputs]
    wrong = wanted[1][0].clone()
    wrong[1, 2, 3] += 0.5
    cases = list(zip(inputs, [wanted[0], (wrong, wanted[1][1]), wanted[2]], strict=True))
    path = tmp_path / "gate.bpte"
    path.write_bytes(bundled(exported(Gate(), inputs[0]), cases))
    report = run_carina(["run", path, "--json", "-o", tmp_path / "out", "--atol", "1e-6"], expect=1).json["tests"]
    assert [case["passed"] for case in report["cases"]] == [True, False, True]
    output = report["cases"][1]["outputs"][0]
    assert (output["wrong"], output["first_wrong"][:8]) == (1, "[1,2,3]:")
    assert output["largest_difference"] == pytest.approx(0.5, abs=1e-5)
    for n, sample in enumerate(wanted):
        np.testing.assert_allclose(np.load(tmp_path / "out" / f"forward_{n}" / "output_0.npy"), sample[0], atol=1e-6)
    assert "forward 1: FAIL" in run_carina(["run", path, "--atol", "1e-6"], expect=1).stdout
    assert run_carina(["run", path, "--json", "--atol", "0.6"]).json["tests"]["passed"]


def test_integers_are_compared_exactly(run_carina, tmp_path):
    inputs = samples(1)
    floats, integers = Gate()(*inputs[0])
    integers = integers.clone()
    integers[0, 0, 0, 0] ^= 1
    path = tmp_path / "gate.bpte"
    path.write_bytes(bundled(exported(Gate(), inputs[0]), [(inputs[0], (floats, integers))]))
    outputs = run_carina(["run", path, "--json", "--atol", "5"], expect=1).json["tests"]["cases"][0]["outputs"]
    assert [output["wrong"] for output in outputs] == [0, 1]


def test_channels_last_and_numbers_in_test_cases(run_carina, tmp_path):
    x = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(1)).to(memory_format=torch.channels_last)
    path = tmp_path / "scaled.bpte"
    path.write_bytes(bundled(exported(Scaled(), (x, 1.5)), [((x, 1.5), (x * 1.5,))]))
    assert run_carina(["run", path, "--json"]).json["tests"]["passed"]


def test_a_bundle_without_expectations_is_not_called_right(run_carina, tmp_path):
    inputs = samples(1)
    path = tmp_path / "gate.bpte"
    path.write_bytes(bundled(exported(Gate(), inputs[0]), [(inputs[0], ())]))
    assert "forward 0: not checked" in run_carina(["run", path]).stdout


def test_bundles_of_ours_are_right_for_executorch(run_carina, tmp_path):
    inputs = samples()
    program, path = tmp_path / "gate.pte", tmp_path / "gate.bpte"
    program.write_bytes(exported(Gate(), inputs[0]).buffer)
    stacks = {f"input_{i}": np.stack([sample[i].numpy() for sample in inputs]) for i in range(2)}
    np.savez(tmp_path / "inputs.npz", **stacks)
    run_carina(["run", program, "-i", tmp_path / "inputs.npz", "--bundle", path])

    from executorch.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program

    read = deserialize_from_flatbuffer_to_bundled_program(path.read_bytes())
    assert read.version == 2 and bytes(read.program) == program.read_bytes()
    assert [suite.method_name for suite in read.method_test_suites] == ["forward"]
    for n, case in enumerate(read.method_test_suites[0].test_cases):
        assert [list(value.val.sizes) for value in case.inputs] == [[2, 3, 4, 5]] * 2
        assert bytes(case.inputs[1].val.data) == inputs[n][1].numpy().tobytes()
        verified(path.read_bytes(), n, 1e-5, 1e-6)  # raises if an output differs
    run_carina(["run", path])


def test_compile_writes_bundles(run_carina, tmp_path):
    inputs = samples(2)
    torch.export.save(torch.export.export(Gate(), inputs[0]), tmp_path / "gate.pt2")
    stacks = {name: np.stack([sample[i].numpy() for sample in inputs]) for i, name in enumerate("xy")}
    np.savez(tmp_path / "inputs.npz", **{f"input_{i}": stacks[name] for i, name in enumerate("xy")})
    for expected in ("run", "model"):
        path = tmp_path / f"{expected}.bpte"
        run_carina(["compile", tmp_path / "gate.pt2", "--target", "ethos-u55-128", "--no-delegate", "--expected", expected,
                    "--test-inputs", tmp_path / "inputs.npz", "-o", path])  # fmt: skip
        for n in range(2):
            verified(path.read_bytes(), n, 1e-5, 1e-6)
        assert run_carina(["run", path, "--json", "--atol", "1e-6"]).json["tests"]["passed"]
    failed = run_carina(
        ["compile", tmp_path / "gate.pt2", "--target", "ethos-u55-128", "--no-delegate", "-o", tmp_path / "none.bpte"],
        expect=2,
    )
    assert "--test-inputs" in failed.stderr


def test_damaged_bundles_are_rejected(run_carina, tmp_path):
    inputs = samples(1)
    program = exported(Gate(), inputs[0])
    whole = bundled(program, [(inputs[0], Gate()(*inputs[0]))])
    path = tmp_path / "damaged.bpte"
    for size in (4, 9, 100, len(whole) // 2, len(whole) - 300):
        path.write_bytes(whole[:size])
        run_carina(["run", path], expect=1)
    sizes = np.array([2, 3, 4, 5], np.int32).tobytes()
    start = whole.index(program.buffer)
    at = whole.find(sizes, 0, start) if sizes in whole[:start] else whole.index(sizes, start + len(program.buffer))
    path.write_bytes(whole[:at] + np.array([2, 3, 4, -5], np.int32).tobytes() + whole[at + 16 :])
    assert "impossible shape" in run_carina(["run", path], expect=1).stderr
    path.write_bytes(whole[:at] + np.array([2, 3, 4, 6], np.int32).tobytes() + whole[at + 16 :])
    assert "test case 0: a tensor's data does not have the size" in run_carina(["run", path], expect=1).stderr


@pytest.fixture(scope="module")
def quantized_program(run_carina, tmp_path_factory):
    folder = tmp_path_factory.mktemp("npu")
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.Flatten(), nn.Softmax(1)).eval()
    x = torch.randn(1, 3, 12, 12, generator=torch.Generator().manual_seed(2))
    torch.export.save(torch.export.export(model, (x,)), folder / "model.pt2")
    np.save(folder / "x.npy", x.numpy())
    run_carina(
        [
            "compile",
            folder / "model.pt2",
            "--target",
            "ethos-u55-128",
            "-q",
            "int8",
            "--calibrate",
            folder / "x.npy",
            "-o",
            folder / "model.pte",
        ]
    )
    return folder


def events_of(path):
    from executorch.devtools import Inspector
    from executorch.devtools.inspector import TimeScale

    inspector = Inspector(etdump_path=str(path), source_time_scale=TimeScale.NS, target_time_scale=TimeScale.NS)
    inspector.print_data_tabular()
    return [event for block in inspector.event_blocks for event in block.events]


def test_the_inspector_reads_our_record_of_a_run(run_carina, quantized_program, tmp_path):
    program, path = quantized_program / "model.pte", tmp_path / "run.etdp"
    report = run_carina(["run", program, "-i", quantized_program / "x.npy", "--etdump", path, "--timed", "--json"]).json
    events = events_of(path)
    kernels = ["native_call_" + name.split("::")[1] for name in report["cpu_kernels"]]
    assert [event.name for event in events if event.name.startswith("native_call_")] == kernels
    assert [event.name for event in events].count("DELEGATE_CALL") == report["delegate_calls"]
    call = next(event for event in events if event.name == "DELEGATE_CALL")
    clock_hz = report["npu"]["clock_hz"]
    assert call.perf_data.raw[0] == pytest.approx(report["npu"]["cycles"] * 1e9 / clock_hz, abs=2)
    layers = [event for event in events if event.is_delegated_op]
    assert {event.name for event in layers} == {layer["name"] for layer in report["npu"]["layers"]}
    total = sum(eval(event.delegate_debug_metadatas[0])["macs"] for event in layers)
    assert total == report["npu"]["macs"]
    whole = next(event for event in events if event.name == "Method::execute")
    assert whole.perf_data.raw[0] >= call.perf_data.raw[0]


def test_runs_of_several_samples_are_one_table(run_carina, quantized_program, tmp_path):
    path = tmp_path / "run.etdp"
    x = np.load(quantized_program / "x.npy")
    np.save(tmp_path / "xs.npy", np.concatenate([x, -x, x]))
    run_carina(["run", quantized_program / "model.pte", "-i", tmp_path / "xs.npy", "--etdump", path])
    whole = [event for event in events_of(path) if event.name == "Method::execute"]
    assert [len(event.perf_data.raw) for event in whole] == [3]
