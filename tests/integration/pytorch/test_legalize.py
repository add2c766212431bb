"""`--legalize` rewrites operators that an NPU rejects, without changing any number. The reference is the official TOSA reference model on
the original graph."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from function_as_module import Fn

TARGET = ["--target", "ethos-u55-128"]


# name: (module, shape of the input, the rule that rejects it)
MODELS = {
    "dilated": (lambda: nn.Conv2d(2, 4, 3, stride=4, dilation=2), (1, 2, 180, 180), "window.stride"),
    "depthwise": (lambda: nn.Conv2d(4, 4, 3, stride=5, padding=1, groups=4), (1, 4, 180, 180), "window.stride"),
    "max_pool": (lambda: Fn(lambda x: F.max_pool2d(x, 5, stride=4, padding=2)), (1, 2, 140, 140), "window.stride"),
    "avg_pool": (lambda: Fn(lambda x: F.avg_pool2d(x, 4)), (1, 2, 140, 140), "window.stride"),
    "greatest": (lambda: Fn(lambda x: F.max_pool2d(x, (300, 7))), (1, 3, 300, 7), "window.height"),
    "long": (lambda: nn.Conv1d(1, 2, 9, stride=2, padding=4), (1, 1, 140_001), "axis.size"),
}


@pytest.fixture
def model(request, tmp_path):
    make, shape, rule = MODELS[request.param]
    torch.manual_seed(3)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    torch.export.save(torch.export.export(make().eval(), (x,)), tmp_path / "model.pt2")
    np.save(tmp_path / "x.npy", x.numpy())
    return tmp_path, rule


def quantized(folder):
    return [folder / "model.pt2", "--quantize", "int8", "--calibrate", folder / "x.npy"]


@pytest.mark.parametrize("model", MODELS, indirect=True)
def test_no_number_changes(model, run_carina, reference_model):
    folder, rule = model
    before = run_carina(["explain", *quantized(folder), *TARGET, "--json"]).json
    assert rule in {node["rule"] for node in before["nodes"] if node["runs_on"] != "npu"}, before["nodes"]

    said = run_carina(
        [
            "compile",
            *quantized(folder),
            *TARGET,
            "--legalize",
            "--delegate-all",
            "--io",
            "int8",
            "-o",
            folder / "m.pte",
            "--json",
        ]
    ).json
    assert [fix["rule"] for fix in said["legalized"]] == [rule] and said["legalized"][0]["change"]
    assert all(node["runs_on"] in ("npu", "folded") for node in said["nodes"]), said["nodes"]

    run_carina(["tosa", *quantized(folder), "-o", folder / "m.tosa"])
    like = np.load(folder / "x.npy")
    integers = np.random.default_rng(2).integers(-128, 128, like.shape, dtype=np.int8)
    np.save(folder / "in.npy", integers)
    run_carina(["run", folder / "m.pte", "-i", folder / "in.npy", "-o", folder / "out"])
    np.testing.assert_array_equal(
        np.load(folder / "out" / "output_0.npy"), reference_model(folder / "m.tosa", [integers])[0]
    )


@pytest.mark.parametrize("model", ["dilated"], indirect=True)
def test_rewrites_are_reported(model, run_carina):
    folder, _ = model
    text = run_carina(["explain", *quantized(folder), *TARGET, "--legalize"]).stdout
    assert "rewritten:\n" in text and "stride_y is 4, ethos-u55-128 supports at most 3: the kernel moves by one" in text
    assert "--legalize" in run_carina(["explain", *quantized(folder), *TARGET]).stdout


@pytest.mark.parametrize("model", ["dilated"], indirect=True)
def test_the_old_spelling_is_taken_with_a_note(model, run_carina):
    folder, _ = model
    old = run_carina(["explain", *quantized(folder), *TARGET, "--fix"])
    assert old.stdout == run_carina(["explain", *quantized(folder), *TARGET, "--legalize"]).stdout
    assert "--fix" in old.stderr and "the option is called --legalize now" in old.stderr


# Layers that need no rewriting: first layers on raw audio, as convolutions in one and two dimensions, and patches.
LONG = {
    "pitch": (lambda: nn.Conv2d(1, 16, (512, 1), stride=(4, 1), padding=(254, 0)), (1, 1, 1024, 1)),
    "sinc": (lambda: nn.Conv1d(1, 8, 251), (1, 1, 800)),
    "waveform": (lambda: nn.Conv1d(1, 4, 80, stride=4), (1, 1, 8000)),
    "patches": (lambda: nn.Conv2d(3, 8, 4, stride=4), (1, 3, 136, 136)),
    "tall_2d": (lambda: nn.Conv2d(1, 4, (80, 3), stride=(4, 1), padding=(0, 1)), (1, 1, 300, 8)),
    "tall_groups": (lambda: nn.Conv2d(4, 8, (80, 1), stride=(5, 1), groups=2), (1, 4, 300, 1)),
    "tall_depthwise": (lambda: nn.Conv2d(8, 8, (101, 1), padding=(50, 0), groups=8), (1, 8, 200, 1)),
    "tall_transposed": (lambda: nn.ConvTranspose2d(2, 3, (140, 1), stride=(2, 1)), (1, 2, 30, 1)),
}


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
@pytest.mark.parametrize("scheme", ["int8", "int16x8"])
@pytest.mark.parametrize("name", LONG)
def test_long_kernels_and_strides_run_on_the_npu(name, scheme, target, run_carina, reference_model, tmp_path):
    make, shape = LONG[name]
    torch.manual_seed(3)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    torch.export.save(torch.export.export(make().eval(), (x,)), tmp_path / "model.pt2")
    np.save(tmp_path / "x.npy", x.numpy())
    given = [tmp_path / "model.pt2", "--quantize", scheme, "--calibrate", tmp_path / "x.npy"]
    bits = scheme.removesuffix("x8")
    said = run_carina(["compile", *given, "--target", target, "--io", bits, "-o", tmp_path / "m.pte", "--json"]).json
    assert all(node["runs_on"] in ("npu", "folded") for node in said["nodes"]), said["nodes"]

    run_carina(["tosa", *given, "-o", tmp_path / "m.tosa"])
    limits = np.iinfo(bits)
    integers = np.random.default_rng(2).integers(limits.min, limits.max, shape, dtype=bits, endpoint=True)
    np.save(tmp_path / "in.npy", integers)
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "in.npy", "-o", tmp_path / "out"])
    np.testing.assert_array_equal(
        np.load(tmp_path / "out" / "output_0.npy"), reference_model(tmp_path / "m.tosa", [integers])[0]
    )
