"""The block-scaled operators of TOSA 1.1 (EXT-MXFP): the interpreter against the reference model and torchao, and models of to_mxfp()."""

import ml_dtypes
import numpy as np
import pytest
import torch
import tosa_serializer as ts
from interpreter_reference import interpret

D = ts.DType
# type, torchao's name, the largest value, the largest magnitude that rounds to it
FORMATS = {
    "fp4e2m1": (D.FP4E2M1, "float4_e2m1fn_x2", 6.0, np.nextafter(np.float32(7), np.float32(0))),
    "fp6e2m3": (D.FP6E2M3, "fp6_e2m3", 7.5, np.nextafter(np.float32(7.75), np.float32(0))),
    "fp6e3m2": (D.FP6E3M2, "fp6_e3m2", 28.0, np.nextafter(np.float32(30), np.float32(0))),
    "fp8e4m3": (D.FP8E4M3, "float8_e4m3fn", 448.0, np.float32(464)),
    "fp8e5m2": (D.FP8E5M2, "float8_e5m2", 57344.0, np.nextafter(np.float32(61440), np.float32(0))),
}
SPEC = "TOSA-1.1+FP+mxfp"


@pytest.fixture(params=FORMATS)
def name(request):
    return request.param


def torchao_type(name):
    text = FORMATS[name][1]
    return getattr(torch, text, text)


class File:
    """A TOSA 1.1 file of the official serializer."""

    def __init__(self):
        self.serializer = ts.TosaSerializer(
            "", ts.ConstMode.EMBED, targetMajor=1, targetMinor=1, targetPatch=0, targetDraft=True
        )

    def input(self, array, dtype=D.FP32):
        return self.serializer.addPlaceholder(list(array.shape), dtype, None).name

    def node(self, op, kind, inputs, outputs):
        attribute = ts.TosaSerializerAttribute()
        getattr(attribute, kind + "Attribute")(32)
        self.serializer.addOperator(op, inputs, outputs, attribute)

    def blocks(self, value, shape, dtype):
        """CAST_TO_BLOCK_SCALED: the names of elements and scales."""
        elements = self.serializer.addIntermediate(list(shape), dtype).name
        scales = self.serializer.addIntermediate([*shape[:-1], shape[-1] // 32], D.FP8UE8M0).name
        self.node(ts.Op.CAST_TO_BLOCK_SCALED, "CastToBlockScaled", [value], [elements, scales])
        return [elements, scales]

    def output(self, shape, dtype=D.FP32):
        return self.serializer.addOutput(list(shape), dtype).name

    def bytes(self):
        return bytes(self.serializer.serialize())


def round_trip(shape, dtype):
    """fp32 to blocks and back. The Python module of the reference model cannot return MXFP types themselves."""
    file = File()
    value = file.serializer.addPlaceholder(list(shape), D.FP32, None).name
    blocks = file.blocks(value, shape, dtype)
    file.node(ts.Op.CAST_FROM_BLOCK_SCALED, "CastFromBlockScaled", blocks, [file.output(shape)])
    return file.bytes()


def edge_rows(name):
    """Rows of one block. The second element shows the scale: it is the smallest subnormal, which a larger scale rounds away."""
    _, _, largest, limit = FORMATS[name]
    smallest = {"fp4e2m1": 0.5, "fp6e2m3": 0.125, "fp6e3m2": 0.0625, "fp8e4m3": 2.0**-9, "fp8e5m2": 2.0**-16}[name]
    tops = [
        0.0,
        -0.0,
        largest,
        limit,
        np.nextafter(limit, np.float32(np.inf)),
        -limit,
        2 * largest,
        np.nan,
        np.inf,
        -np.inf,
        np.finfo(np.float32).max,
    ]
    tops += [largest * (1 + k / 200) for k in range(200)] + [2.0**-126, 2.0**-149, 7 * 2.0**-130, 2.0**-126 * largest]
    rows = np.zeros((len(tops), 32), np.float32)
    rows[:, 0], rows[:, 1], rows[:, 2] = tops, smallest, -smallest * 1.25
    return rows


def random_rows():
    rng = np.random.default_rng(7)
    return (rng.standard_normal((300, 64)) * 2.0 ** rng.integers(-100, 100, (300, 1))).astype(np.float32)


def test_casts_have_the_bits_of_the_reference_model(name, reference_model, tmp_path):
    arrays = [edge_rows(name), random_rows()]
    files = [round_trip(array.shape, FORMATS[name][0]) for array in arrays]
    results = interpret(tmp_path, [(file, [array]) for file, array in zip(files, arrays, strict=True)])
    for file, array, got in zip(files, arrays, results, strict=True):
        (wanted,) = reference_model(file, [array])
        assert not isinstance(got, str), got
        assert np.array_equal(np.isnan(wanted), np.isnan(got[0]))
        number = ~np.isnan(wanted)
        assert np.array_equal(wanted[number].view(np.uint32), got[0][number].view(np.uint32))
        assert np.isnan(wanted).sum() < wanted.size


def test_blocks_have_the_elements_and_scales_of_torchao(name, tmp_path):
    """Blocks whose largest magnitude is the format's largest value times a power of two: every way to choose a scale agrees."""
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import to_mx

    rng = np.random.default_rng(3)
    largest = FORMATS[name][2]
    x = rng.uniform(-largest, largest, (200, 32)).astype(np.float32)
    x[:, 5] = largest
    x *= np.float32(2.0) ** rng.integers(-30, 30, (200, 1)).astype(np.float32)
    file = File()
    shape = list(x.shape)
    outputs = [file.output(shape, FORMATS[name][0]), file.output([shape[0], 1], D.FP8UE8M0)]
    file.node(ts.Op.CAST_TO_BLOCK_SCALED, "CastToBlockScaled", [file.input(x)], outputs)
    (got,) = interpret(tmp_path, [(file.bytes(), [x])])
    assert not isinstance(got, str), got
    scale, elements = to_mx(torch.from_numpy(x), torchao_type(name), 32, ScaleCalculationMode.RCEIL)
    elements = elements.view(torch.uint8).numpy()
    if name == "fp4e2m1":
        elements = np.stack([elements & 15, elements >> 4], axis=-1).reshape(shape)
    assert np.array_equal(got[0].view(np.uint8), elements)
    assert np.array_equal(got[1].view(np.uint8), scale.view(torch.uint8).numpy())


def sums_agree(wanted, got, terms):
    """`terms`: the sum of the magnitudes of the products. The order of the additions is free."""
    assert not isinstance(got, str), got
    assert got[0].shape == wanted.shape
    assert np.all(np.abs(wanted.astype(np.float64) - got[0]) <= 64 * 2.0**-24 * terms + 1e-30)


@pytest.mark.parametrize("batches", [1, 3])
def test_products_are_those_of_the_reference_model(name, batches, reference_model, tmp_path):
    rng = np.random.default_rng(batches)
    a = (rng.standard_normal((3, 5, 96)) * 2.0 ** rng.integers(-6, 6, (3, 5, 1))).astype(np.float32)
    b = rng.standard_normal((batches, 7, 96)).astype(np.float32)
    file, dtype = File(), FORMATS[name][0]
    operands = [*file.blocks(file.input(a), a.shape, dtype), *file.blocks(file.input(b), b.shape, dtype)]
    file.node(ts.Op.MATMUL_T_BLOCK_SCALED, "MatMulTBlockScaled", operands, [file.output([3, 5, 7])])
    (wanted,) = reference_model(file.bytes(), [a, b])
    (got,) = interpret(tmp_path, [(file.bytes(), [a, b])])
    sums_agree(wanted, got, np.abs(a) @ np.abs(b).transpose(0, 2, 1))
    assert np.abs(wanted).max() > 1


@pytest.mark.parametrize(
    ("pad", "stride", "dilation", "out"),
    [((0, 0, 0, 0), (1, 1), (1, 1), (5, 4)), ((1, 1, 2, 1), (2, 1), (1, 2), (4, 5))],
)
def test_convolutions_are_those_of_the_reference_model(name, pad, stride, dilation, out, reference_model, tmp_path):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 7, 6, 64)).astype(np.float32)
    w = rng.standard_normal((3, 3, 3, 64)).astype(np.float32)
    bias = rng.standard_normal(3).astype(np.float32)
    file, dtype = File(), FORMATS[name][0]
    shapes = [file.serializer.addConst([len(v)], D.SHAPE, np.array(v, np.int64)).name for v in (pad, stride, dilation)]
    operands = [
        *file.blocks(file.input(x), x.shape, dtype),
        *file.blocks(file.input(w), w.shape, dtype),
        file.input(bias),
        *shapes,
    ]
    file.node(ts.Op.CONV2D_BLOCK_SCALED, "Conv2dBlockScaled", operands, [file.output([2, *out, 3])])
    (wanted,) = reference_model(file.bytes(), [x, w, bias])
    (got,) = interpret(tmp_path, [(file.bytes(), [x, w, bias])])
    sums_agree(wanted, got, 9 * 64 * 6)
    assert np.abs(wanted).max() > 1


def test_half_floats_give_the_blocks_of_their_fp32_values(name, tmp_path):
    """The reference model has no CAST_TO_BLOCK_SCALED of fp16, and its Python module takes no bf16."""
    x = np.random.default_rng(5).standard_normal((20, 64)).astype(np.float16)
    half = x.astype(ml_dtypes.bfloat16)
    cases = []
    for array, dtype in (
        (x, D.FP16),
        (x.astype(np.float32), D.FP32),
        (half, D.BF16),
        (half.astype(np.float32), D.FP32),
    ):
        file = File()
        outputs = [file.output(x.shape, FORMATS[name][0]), file.output([20, 2], D.FP8UE8M0)]
        file.node(ts.Op.CAST_TO_BLOCK_SCALED, "CastToBlockScaled", [file.input(array, dtype)], outputs)
        cases.append((file.bytes(), [array]))
    results = interpret(tmp_path, cases)
    for narrow, wide in (results[:2], results[2:]):
        assert not isinstance(narrow, str), narrow
        assert all(np.array_equal(a.view(np.uint8), b.view(np.uint8)) for a, b in zip(narrow, wide, strict=True))


# --- models of to_mxfp() ----------------------------------------------------------------------------------------------


class ToBf16(torch.nn.Module):
    def forward(self, x):
        return x.to(torch.bfloat16)


class ToFp32(torch.nn.Module):
    def forward(self, x):
        return x.to(torch.float32)


def models():

    return {
        "linear": (torch.nn.Linear(96, 7), torch.randn(2, 5, 96)),
        "linear of a vector": (torch.nn.Linear(64, 3, bias=False), torch.randn(64)),
        "conv2d": (torch.nn.Conv2d(32, 5, 3, stride=2, padding=1), torch.randn(1, 32, 9, 10)),
        "conv2d with rows that no window reads": (
            torch.nn.Conv2d(64, 4, (3, 2), stride=2, dilation=(1, 2), bias=False),
            torch.randn(2, 64, 8, 9),
        ),
    }


@pytest.fixture(params=["linear", "linear of a vector", "conv2d", "conv2d with rows that no window reads"])
def mxfp_model(request, name):
    """A module after to_mxfp(), its input and its result in PyTorch."""
    from executorch.backends.arm.ao_ext import MXFPOpConfig, to_mxfp

    torch.manual_seed(2)
    module, x = models()[request.param]
    module = torch.nn.Sequential(module).eval()
    to_mxfp(module, MXFPOpConfig(weight_dtype=torchao_type(name)))
    return module, x, module(x).detach().numpy()


def near(wanted, got, name):
    """The rules for the scale of an activation differ (torchao's always rounds up), by at most one step of the format."""
    error = np.linalg.norm(wanted - got) / np.linalg.norm(wanted)
    assert error < {"fp4e2m1": 0.2, "fp6e2m3": 0.05, "fp6e3m2": 0.06, "fp8e4m3": 0.03, "fp8e5m2": 0.06}[name], error


@pytest.mark.filterwarnings("ignore")
def test_models_are_delegated_whole(mxfp_model, name, run_carina, reference_model, tmp_path):
    module, x, wanted = mxfp_model
    torch.export.save(torch.export.export(module, (x,)), tmp_path / "m.pt2")
    np.save(tmp_path / "x.npy", x.numpy())
    args = [
        "compile",
        tmp_path / "m.pt2",
        "--target",
        SPEC,
        "--delegate-all",
        "--dump",
        tmp_path / "dump",
        "-o",
        tmp_path / "m.pte",
        "--json",
    ]
    report = run_carina(args).json
    assert all(node["runs_on"] != "cpu" for node in report["nodes"])
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    got = np.load(tmp_path / "out" / "output_0.npy")
    (tosa,) = (tmp_path / "dump").glob("*.tosa")
    (reference,) = reference_model(tosa, [x.numpy()])
    near(wanted, got, name)
    np.testing.assert_allclose(got, reference, rtol=1e-4, atol=1e-4 * np.abs(reference).max())


@pytest.mark.filterwarnings("ignore")
def test_a_bf16_model_has_its_blocks_from_bf16(run_carina, tmp_path):
    """The product is fp32, and the module converts it to bf16."""
    from executorch.backends.arm.ao_ext import MXFPOpConfig, to_mxfp

    torch.manual_seed(3)
    module, x = torch.nn.Sequential(torch.nn.Linear(64, 5)).eval().to(torch.bfloat16), torch.randn(3, 64)
    to_mxfp(module, MXFPOpConfig())
    model = torch.nn.Sequential(ToBf16(), module, ToFp32())
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    np.save(tmp_path / "x.npy", x.numpy())
    run_carina(["compile", tmp_path / "m.pt2", "--target", SPEC + "+bf16", "--delegate-all", "-o", tmp_path / "m.pte"])
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    near(model(x).detach().numpy(), np.load(tmp_path / "out" / "output_0.npy"), "fp8e4m3")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ["TOSA-1.0+FP", "TOSA-1.1+FP", "TOSA-1.1+INT", "ethos-u85-256"])
def test_targets_without_the_extension_say_so(target, run_carina, tmp_path):
    from executorch.backends.arm.ao_ext import MXFPOpConfig, to_mxfp

    module = torch.nn.Sequential(torch.nn.Linear(32, 4), torch.nn.ReLU()).eval()
    to_mxfp(module, MXFPOpConfig())
    torch.export.save(torch.export.export(module, (torch.randn(1, 32),)), tmp_path / "m.pt2")
    done = run_carina(["compile", tmp_path / "m.pt2", "--target", target, "-o", tmp_path / "m.pte"], expect=1)
    assert "use the target TOSA-1.1+FP+mxfp" in done.stderr


@pytest.mark.filterwarnings("ignore")
def test_a_file_with_blocks_is_one_of_tosa_1_1(run_carina, tmp_path):
    from executorch.backends.arm.ao_ext import MXFPOpConfig, to_mxfp

    module = torch.nn.Sequential(torch.nn.Linear(32, 4)).eval()
    to_mxfp(module, MXFPOpConfig())
    torch.export.save(torch.export.export(module, (torch.randn(1, 32),)), tmp_path / "m.pt2")
    assert "(TOSA 1.1-draft, " in run_carina(["tosa", tmp_path / "m.pt2", "-o", tmp_path / "m.tosa"]).stdout
    report = run_carina(["tosa", "--verify", tmp_path / "m.tosa", "--json"]).json
    assert report["version"] == "1.1.0-draft" and not report["violations"]
    done = run_carina(["tosa", "--verify", tmp_path / "m.tosa", "--extension", "none"], expect=1)
    assert "needs EXT-MXFP" in done.stdout + done.stderr
    done = run_carina(["tosa", tmp_path / "m.tosa", "--tosa-version", "0.80", "-o", tmp_path / "old.tosa"], expect=1)
    assert "does not exist in TOSA 0.80" in done.stderr
    assert (
        "has no block-scaled operators"
        in run_carina(["tosa", tmp_path / "m.tosa", "-o", tmp_path / "m.vgf"], expect=1).stderr
    )
