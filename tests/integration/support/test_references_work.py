"""Each reference implementation gives a known result. If one fails here, failures of other tests may be due to the reference."""

import numpy as np
import pytest
import tosa_serializer as ts

from cases_fixtures import Case
from conftest import VelaError


def max_pool_tosa():
    """int8 [1,4,4,2] -> 2x2 max pool -> [1,2,2,2], TOSA 1.0."""
    graph = ts.TosaSerializer("", targetMajor=1, targetMinor=0, targetPatch=0, targetDraft=False)
    x = graph.currRegion.currBasicBlock.addTensor("x", [1, 4, 4, 2], ts.DType.INT8)
    graph.addInputTensor(x)
    y = graph.currRegion.currBasicBlock.addTensor("y", [1, 2, 2, 2], ts.DType.INT8)
    attributes = ts.TosaSerializerAttribute()
    attributes.MaxPool2dAttribute(
        kernel=[2, 2], stride=[2, 2], pad=[0, 0, 0, 0], nan_mode=ts.NanPropagationMode.PROPAGATE
    )
    graph.addOperator(ts.Op.MAX_POOL2D, ["x"], ["y"], attributes)
    graph.addOutputTensor(y)
    return graph.serialize()


@pytest.fixture(scope="module")
def tosa():
    return bytes(max_pool_tosa())


def test_reference_model(tosa, reference_model):
    x = np.random.default_rng(1).integers(-128, 128, (1, 4, 4, 2)).astype(np.int8)
    (y,) = reference_model(tosa, [x])
    assert y.dtype == np.int8
    np.testing.assert_array_equal(y, x.reshape(1, 2, 2, 2, 2, 2).max((2, 4)))


def test_vela_compiles(tosa, vela):
    path = vela(tosa, "ethos-u55-128")
    content = np.load(path)
    assert content["cmd_data"].tobytes()[:4] == b"COP1"
    assert content["input_shape"].tolist() == [[1, 1, 1, 4, 4, 2]]
    assert vela(tosa, "ethos-u55-128") == path, "the second call comes from the cache"


def test_vela_rejects_rubbish(vela):
    with pytest.raises(VelaError, match="exit code [1-9-]"):
        vela(b"\0" * 64, "ethos-u55-128")


def test_executorch_runs_a_program(et_runtime):
    import torch
    from executorch.exir import to_edge
    from executorch.exir._serialize._program import deserialize_pte_binary

    class Twice(torch.nn.Module):
        def forward(self, x):
            return x + x

    x = torch.arange(5, dtype=torch.float32)
    pte = to_edge(torch.export.export(Twice(), (x,), strict=True)).to_executorch().buffer
    assert deserialize_pte_binary(bytes(pte)).program.execution_plan[0].name == "forward"
    (y,) = et_runtime(pte, [x])
    np.testing.assert_array_equal(y, 2 * x.numpy())


@pytest.mark.long  # a separate environment of 0.7 GB
def test_model_explorer(tosa, explorer, tmp_path):
    path = tmp_path / "pool.tosa"
    path.write_bytes(tosa)
    (graph,) = explorer(path)
    assert any("MAX_POOL2D" in label for label in graph["nodes"])


@pytest.mark.cases("add_int32", "ds_cnn")
def test_cases_agree_with_the_reference_model(case: Case, reference_model):
    outputs = reference_model(case.path / "out.tosa", case.arrays("tosa_in_"))
    for got, expected in zip(outputs, case.arrays("tosa_out_"), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.cases("kws")
def test_cases_agree_with_vela(case: Case, vela):
    got = np.load(vela(case.path / "out.tosa", "ethos-u55-128"))
    expected = np.load(case.path / "ethos-u55-128" / "out_vela.npz")
    for name in ("cmd_data", "weight_data"):
        assert got[name].tobytes() == expected[name].tobytes()


def test_digits_is_the_trained_model():
    import torch
    from conftest import ROOT

    folder = ROOT / "models" / "digits"
    data = np.load(folder / "test.npz")
    model = torch.export.load(folder / "digits.pt2").module()
    with torch.no_grad():
        logits = torch.cat([model(torch.from_numpy(image[None])) for image in data["x"]]).numpy()
    np.testing.assert_allclose(logits, data["float_logits"], atol=1e-4)
    assert (logits.argmax(1) == data["y"]).mean() >= 0.98
