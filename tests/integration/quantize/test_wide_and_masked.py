"""Integers wider than int8, compared with eager PyTorch: attention whose run-time mask hides whole rows, and values quantized to 32 bits."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

TARGETS = ("ethos-u55-128", "ethos-u85-256")


def sqnr_db(wanted, got):
    return 10 * np.log10((wanted**2).sum() / ((got - wanted) ** 2).sum())


class Attention(torch.nn.Module):
    def forward(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, mask)


def queries(kind, hidden, seed):
    """q, k, v [1,2,6,8] and a mask [1,1,6,6]. The mask has booleans, or zeros and -inf, or numbers and -inf. Rows 2 and 4 may be hidden."""
    g = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(1, 2, 6, 8, generator=g) for _ in range(3))
    shown = torch.rand(1, 1, 6, 6, generator=g) > 0.4
    shown[..., 0] = True
    if hidden:
        shown[:, :, [2, 4]] = False
    if kind == "flags":
        return q, k, v, shown
    added = torch.randn(1, 1, 6, 6, generator=g) * (4 if kind == "numbers" else 0)
    return q, k, v, added.masked_fill(~shown, float("-inf"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("calibrated_on_hidden", [True, False], ids=["hidden-seen", "hidden-unseen"])
@pytest.mark.parametrize("kind", ["flags", "zeros", "numbers"])
def test_a_query_that_sees_no_key_gets_nothing(run_carina, tmp_path, kind, calibrated_on_hidden, target):
    inputs = queries(kind, True, 0)
    torch.export.save(torch.export.export(Attention(), inputs), tmp_path / "m.pt2")
    samples = [queries(kind, calibrated_on_hidden and n % 2 == 0, n) for n in range(8)]
    arrays = {name: np.stack([s[i].numpy() for s in samples]) for i, name in enumerate(("q", "k", "v", "mask"))}
    np.savez(tmp_path / "calibration.npz", **arrays)
    args = [
        "compile",
        tmp_path / "m.pt2",
        "-t",
        target,
        "--quantize",
        "int8",
        "--calibrate",
        tmp_path / "calibration.npz",
    ]
    run_carina([*args, "-o", tmp_path / "m.pte"])
    for i, x in enumerate(inputs):
        np.save(tmp_path / f"{i}.npy", x.numpy())
    given = [word for i in range(4) for word in ("-i", tmp_path / f"{i}.npy")]
    run_carina(["run", tmp_path / "m.pte", *given, "-o", tmp_path / "out"])
    got, wanted = np.load(tmp_path / "out" / "output_0.npy"), Attention()(*inputs).numpy()
    assert not wanted[:, :, [2, 4]].any() and not got[:, :, [2, 4]].any()
    assert sqnr_db(wanted, got) > 25


class Wide(torch.nn.Module):
    """sigmoid(sigmoid(x) + sigmoid(x)) as a PyTorch quantizer writes it, with x in 16 bits and the results in 32."""

    def forward(self, x):
        narrow = lambda v, scale: quantized(v, scale, -32768, 32767, torch.int16)  # noqa: E731
        wide = lambda v: quantized(v, 2.0**-23, -(2**31), 2**31 - 1, torch.int32)  # noqa: E731
        x = narrow(x, 8 / 32768)
        y = wide(wide(torch.sigmoid(x)) + wide(torch.sigmoid(x)))
        return wide(torch.sigmoid(narrow(y, 2 / 32768)))


def quantized(x, scale, qmin, qmax, dtype):
    ops = torch.ops.quantized_decomposed
    return ops.dequantize_per_tensor.default(
        ops.quantize_per_tensor.default(x, scale, 0, qmin, qmax, dtype), scale, 0, qmin, qmax, dtype
    )


@pytest.mark.parametrize("target", TARGETS)
def test_32_bits_are_as_near_as_the_16_of_a_table(run_carina, tmp_path, target):
    import torchao.quantization.pt2e  # noqa: F401  the quantized_decomposed operators

    x = torch.linspace(-7, 7, 120).reshape(2, 60)
    torch.export.save(torch.export.export(Wide(), (x,)), tmp_path / "m.pt2")
    np.save(tmp_path / "x.npy", x.numpy())
    run_carina(["compile", tmp_path / "m.pt2", "-t", target, "-o", tmp_path / "m.pte"])
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    np.testing.assert_allclose(np.load(tmp_path / "out" / "output_0.npy"), Wide()(x).numpy(), atol=2**-15)
