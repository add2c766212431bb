"""Sparse and clustered weights: `--prune-weights`, `--cluster-weights`, and the notes about networks that come with such weights."""

from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import prune

TARGET = "ethos-u85-256"


@pytest.fixture(scope="module")
def convolutions():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(128, 128, 3, padding=1), nn.ReLU(), nn.Conv2d(128, 128, 3, padding=1)).eval()


@pytest.fixture(scope="module")
def model(convolutions, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pruned")
    save(convolutions, folder / "m.pt2")
    np.savez(folder / "c.npz", x=np.random.RandomState(0).randn(4, 1, 128, 16, 16).astype("f4"))
    return folder / "m.pt2"


def save(module, path):
    torch.export.save(torch.export.export(module, (torch.zeros(1, 128, 16, 16),)), path)


def pruned(weight):
    """With the two largest magnitudes of each four input channels, by PyTorch."""
    groups = weight.detach().reshape(weight.shape[0], -1, 4, *weight.shape[2:])
    smallest = groups.abs().topk(2, dim=2, largest=False).indices
    return groups.scatter(2, smallest, 0.0).reshape(weight.shape)


def compiled(run_carina, model, *options, expect=0):
    given = ["compile", model, "-t", TARGET, "--calibrate", model.with_name("c.npz"), *options]
    return run_carina(
        [*given, "--dump", model.with_name("dump"), "-o", model.with_name("m.pte"), "--json"], expect=expect
    )


def test_pruned_layers_take_less_and_have_the_bits_of_the_integer_graph(run_carina, model):
    dense = compiled(run_carina, model).json
    done = compiled(run_carina, model, "--prune-weights", "2:4")
    assert done.json["cycles"] < 0.6 * dense["cycles"]
    assert "147456 of 294912 weights in 2 layers became zero" in done.stderr
    by_scheme = compiled(run_carina, model, "--quantize", "int8+pruned-2:4").json
    assert by_scheme["cycles"] == done.json["cycles"]
    files = ["--data", model.with_name("c.npz"), "--dump", model.with_name("dump")]
    measured = run_carina(["accuracy", model, model.with_name("m.pte"), *files, "--json"]).json
    assert measured["npu_equals_integer"] == measured["samples"] == 4
    assert 3 < measured["sqnr_db"] < 20


def test_weights_that_pytorch_pruned_give_the_same_program(run_carina, model, convolutions, tmp_path):
    compiled(run_carina, model, "--quantize", "int8+unequalized+pruned-2:4")
    ours = model.with_name("m.pte").read_bytes()
    for part in (convolutions[0], convolutions[2]):
        part.weight.data = pruned(part.weight)
    save(convolutions, model.with_name("sparse.pt2"))
    done = compiled(run_carina, model.with_name("sparse.pt2"), "--quantize", "int8+unequalized")
    assert model.with_name("m.pte").read_bytes() == ours
    assert "2:4 sparse in 2 layers" in done.stderr
    convolutions[2].weight.data[3, :4, 1, 1] = 0.02
    save(convolutions, model.with_name("nearly.pt2"))
    done = compiled(run_carina, model.with_name("nearly.pt2"), "--quantize", "int8+unequalized")
    assert "2:4 sparse in 1 layers" in done.stderr
    assert "(1 of 36864 groups of four input channels have more than two)" in done.stderr


def test_a_percentage_prunes_the_weights_that_pytorch_prunes(run_carina, model, tmp_path):
    scheme = "int8+unequalized"
    done = compiled(run_carina, model, "--quantize", scheme, "--prune-weights", "70%")
    assert "206438 of 294912 weights in 2 layers became zero" in done.stderr
    ours = model.with_name("m.pte").read_bytes()
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(128, 128, 3, padding=1), nn.ReLU(), nn.Conv2d(128, 128, 3, padding=1)).eval()
    for part in (network[0], network[2]):
        prune.l1_unstructured(part, "weight", amount=int(part.weight.numel() * 70 / 100))
        prune.remove(part, "weight")
    save(network, model.with_name("zeros.pt2"))
    compiled(run_carina, model.with_name("zeros.pt2"), "--quantize", scheme)
    assert model.with_name("m.pte").read_bytes() == ours
    dense = compiled(run_carina, model, "--quantize", scheme).json
    assert len(ours) < 0.6 * dense["program_bytes"]


def test_clusters_take_fewer_bytes_and_keep_the_bits(run_carina, model):
    plain = compiled(run_carina, model).json
    few = compiled(run_carina, model, "--cluster-weights", "8").json
    assert few["program_bytes"] < 0.7 * plain["program_bytes"]
    files = ["--data", model.with_name("c.npz"), "--dump", model.with_name("dump")]
    measured = run_carina(["accuracy", model, model.with_name("m.pte"), *files, "--json"]).json
    assert measured["npu_equals_integer"] == measured["samples"] > 0


def test_compression_lists_what_each_layer_takes_when_it_is_compiled_so(run_carina, model):
    explain = ["explain", model, "-t", TARGET, "--calibrate", model.with_name("c.npz"), "--json"]
    layers = run_carina([*explain, "--compression"]).json["compression"]
    assert [layer["layer"] for layer in layers] == ["conv2d", "conv2d_1"]
    options = [choice["options"] for choice in layers[0]["compressed"]]
    assert options == ["--prune-weights 2:4", "--prune-weights 50%", "--cluster-weights 16"]
    for i, option in enumerate(["", *options]):
        alone = compiled(run_carina, model, "--show", "weights", *option.split()).json
        cells = [line.split() for line in alone["delegates"][0]["shown"]["weights"].splitlines()[1:]]
        bytes_of = Counter()  # of a layer with its copies
        for cell in cells:
            bytes_of[cell[0]] += int(cell[2].replace(",", "")) + int(cell[4].replace(",", ""))
        cycles_of = {node["name"]: node["cycles"] for node in alone["nodes"]}
        for layer in layers:
            row = layer["compressed"][i - 1] if i else layer
            assert row["bytes"] == bytes_of[layer["layer"]]
            assert row["cycles"] == cycles_of[layer["layer"]]
    says = run_carina([*explain, "--compression", "-q", "none"], expect=None)
    assert "weights are compressed when a float model is quantized" in says.stdout


def test_compression_in_python(package, model):
    explained = package.explain(
        str(model), target="ethos-u55-128", calibration=str(model.with_name("c.npz")), compression=True
    )
    assert [choice["options"] for choice in explained.compression[0]["compressed"]] == [
        "--prune-weights 50%",
        "--cluster-weights 16",
    ]
    assert not package.explain(
        str(model), target="ethos-u55-128", calibration=str(model.with_name("c.npz"))
    ).compression


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--prune-weights", "1:4"], "unknown pattern of zeros"),
        (["--prune-weights", "100%"], "unknown pattern of zeros"),
        (["-q", "int8+pruned-0%"], "unknown percentage of pruned weights"),
        (["-q", "int8+pruned-50%", "--prune-weights", "2:4"], "unknown pattern of zeros"),
        (["--prune-weights", "2:4", "-q", "auto"], "no effect with this quantization"),
        (["--prune-weights", "2:4", "-q", "none"], "no effect with this quantization"),
        (["--cluster-weights", "1"], "unknown number of clusters"),
        (["--cluster-weights", "many"], "unknown number of clusters"),
        (["--cluster-weights", "16", "-q", "none"], "no effect with this quantization"),
    ],
)
def test_wrong_pruning_is_an_error(run_carina, model, options, text):
    assert text in compiled(run_carina, model, *options, expect=2).stdout


def test_pruning_needs_a_float_model_and_calibration_data(run_carina, model, tmp_path):
    options = ["-t", TARGET, "--prune-weights", "2:4", "-o", tmp_path / "m.pte"]
    assert "needs calibration data" in run_carina(["compile", model, *options], expect=2).stderr
