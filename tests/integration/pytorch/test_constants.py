"""Models whose constants pass through operators before they are used. The constants are folded, so the models quantize and compile. Checked
against eager torch."""

import numpy as np
import pytest
import torch
from torch import nn

TARGET = "ethos-u55-128"


class Normalized(nn.Module):
    """The normalization at the start of most image models."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]))
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        std = torch.tensor([0.229, 0.224, 0.225])
        return self.conv((x - self.mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1))


class Grouped(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.ReLU())


class Zeros(nn.Module):
    def forward(self, x):
        return torch.cat([torch.tanh(x), torch.zeros(1, 1, 8).squeeze(0)], 1)


class Squeezed(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(8.0).reshape(1, 1, 8))

    def forward(self, x):
        return x + self.table.squeeze(0).expand(1, 8) * 0.5


class Last(nn.Module):
    """Selects the last step of a recurrent network."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x)[0][:, -1]


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(6, 12)

    def forward(self, x):
        h, c = torch.zeros(1, 12), torch.zeros(1, 12)
        for i in range(4):
            h, c = self.cell(x[:, i], (h, c))
        return h


MODELS = {
    "normalized": (Normalized, (1, 3, 12, 12), 35),
    "group_norm": (Grouped, (1, 3, 12, 12), 30),
    "zeros_squeeze": (Zeros, (1, 8), 40),
    "buffer_squeeze": (Squeezed, (1, 8), 40),
    "gru": (lambda: Last(nn.GRU(8, 16, batch_first=True)), (1, 5, 8), 25),
    "lstm": (lambda: Last(nn.LSTM(8, 16, batch_first=True)), (1, 5, 8), 20),
    "lstm_cell": (Cell, (1, 4, 6), 20),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request, tmp_path_factory):
    make, shape, min_db = MODELS[request.param]
    torch.manual_seed(3)
    module = make().eval()
    folder = tmp_path_factory.mktemp(request.param)
    exported = torch.export.export(module, (torch.randn(shape),))
    torch.export.save(exported.run_decompositions(), folder / "model.pt2")
    samples = torch.rand(32, *shape[1:]) if request.param == "normalized" else torch.randn(32, *shape[1:])
    np.savez(folder / "data.npz", x=samples.numpy())
    with torch.no_grad():
        wanted = np.concatenate([module(sample[None]).numpy() for sample in samples])
    return folder, samples.numpy(), wanted, min_db


def sqnr_db(wanted, got):
    return 10 * np.log10(
        (wanted.astype(np.float64) ** 2).sum() / max(((wanted.astype(np.float64) - got) ** 2).sum(), 1e-30)
    )


def outputs(run_carina, program, samples, folder):
    results = []
    for sample in samples:
        np.save(folder / "in.npy", sample[None])
        run_carina(["run", program, "-i", folder / "in.npy", "-o", folder / "out"])
        results.append(np.load(folder / "out" / "output_0.npy"))
    return np.concatenate(results)


def test_quantized_program_reaches_its_sqnr(model, run_carina):
    folder, samples, wanted, min_db = model
    done = run_carina(
        [
            "compile",
            folder / "model.pt2",
            "--target",
            TARGET,
            "--quantize",
            "int8",
            "--calibrate",
            folder / "data.npz",
            "-o",
            folder / "int8.pte",
            "--json",
        ]
    )
    nodes = done.json["nodes"]
    assert [n for n in nodes if n["runs_on"] not in ("npu", "folded")] == []
    assert sqnr_db(wanted[:8], outputs(run_carina, folder / "int8.pte", samples[:8], folder)) > min_db


def test_float_program_equals_eager(model, run_carina):
    folder, samples, wanted, _ = model
    run_carina(["compile", folder / "model.pt2", "--target", TARGET, "-o", folder / "float.pte"])
    assert sqnr_db(wanted[:2], outputs(run_carina, folder / "float.pte", samples[:2], folder)) > 110


DTYPES = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]


def made_of_nothing(dtype):
    """Tensors that depend on no input, in one type."""
    yield torch.arange(8, dtype=dtype)
    yield torch.arange(1, 17, 2, dtype=dtype)
    yield torch.linspace(0, 7, 8, dtype=dtype)
    yield torch.linspace(3, 90, 8, dtype=dtype)
    yield torch.eye(8, dtype=dtype)[3]
    yield torch.ones(8, dtype=dtype)
    yield torch.zeros(8, dtype=dtype)
    yield torch.full((8,), 3, dtype=dtype)
    yield torch.scalar_tensor(5, dtype=dtype).reshape(1)


class Nothing(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, x):
        like = [
            torch.zeros_like(x, dtype=self.dtype),
            torch.full_like(x, 3, dtype=self.dtype),
            x.new_full((8,), 2, dtype=self.dtype),
        ]
        return tuple(x + part for part in (*made_of_nothing(self.dtype), *like))


class Windows(nn.Module):
    """Windows of a type, in each form that PyTorch exports."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, x):
        one = {"dtype": self.dtype}
        windows = [
            torch.hann_window,
            torch.hamming_window,
            torch.blackman_window,
            torch.bartlett_window,
            torch.kaiser_window,
        ]
        plain = [window(8, **one) for window in windows]
        symmetric = [window(8, periodic=False, **one) for window in windows]
        others = [
            torch.hamming_window(8, True, 0.6, **one),
            torch.hamming_window(8, False, 0.6, 0.3, **one),
            torch.kaiser_window(8, True, 4.5, **one),
            torch.hann_window(1, **one),
            torch.bartlett_window(1, periodic=False, **one),
            torch.logspace(-1, 1, 8, **one),
            torch.logspace(0, 3, 8, base=2, **one),
        ]
        return tuple(x + part for part in (*plain, *symmetric, *others))


class Triangles(nn.Module):
    def forward(self, x):
        places = [
            torch.tril_indices(3, 4),
            torch.triu_indices(4, 3, -1),
            torch.tril_indices(4, 3, 1),
            torch.triu_indices(3, 3, 5),
        ]
        return tuple(x[:2, None] + place for place in (*places, torch.triu_indices(2, 3, dtype=torch.int32)))


class InFloat64(nn.Module):
    """Numbers beside float64 tensors, as exported and after decomposition."""

    def forward(self, x):
        wide, at = x.double(), torch.tensor([[0], [1], [2]])
        return (
            1 - wide,
            2.1 - wide,
            wide + 0.1,
            torch.tril(wide),
            torch.triu(wide, 1),
            wide.scatter(1, at, 0.1),
            torch.where(wide > 0, wide, 0),
            wide.masked_fill(wide > 0.5, 1),
        )


def check_float(run_carina, folder, model, x, decomposed, tolerance=None):
    program = torch.export.export(model.eval(), (x,), strict=False)
    torch.export.save(program.run_decompositions() if decomposed else program, folder / "m.pt2")
    np.save(folder / "x.npy", x.numpy())
    run_carina(["compile", folder / "m.pt2", "--target", TARGET, "--no-delegate", "-o", folder / "m.pte"])
    run_carina(["run", folder / "m.pte", "-i", folder / "x.npy", "-o", folder / "out"])
    for i, wanted in enumerate(model(x)):
        got = np.load(folder / "out" / f"output_{i}.npy")
        near = tolerance or (1e-15 if wanted.dtype == torch.float64 else 1e-7)
        assert got.dtype == wanted.numpy().dtype
        np.testing.assert_allclose(got, wanted.numpy(), rtol=near, atol=near, err_msg=f"output {i}")


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_windows(run_carina, tmp_path, dtype, decomposed):
    """PyTorch computes windows in their type; a few roundings add up."""
    x = torch.rand(8, generator=torch.Generator().manual_seed(1)).to(dtype)
    check_float(run_carina, tmp_path, Windows(dtype), x, decomposed, 20 * torch.finfo(dtype).eps)


def test_indices_of_triangles(run_carina, tmp_path):
    check_float(run_carina, tmp_path, Triangles(), torch.arange(8), False)


class AdaptiveMaxima(nn.Module):
    def forward(self, x):
        return tuple(nn.functional.adaptive_max_pool3d(x, size) for size in (2, (1, 3, 2), (4, 5, 6)))


def test_adaptive_maxima_of_volumes(run_carina, tmp_path):
    check_float(
        run_carina,
        tmp_path,
        AdaptiveMaxima(),
        torch.rand(1, 2, 4, 5, 6, generator=torch.Generator().manual_seed(1)),
        False,
    )


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_made_of_nothing_have_every_type(run_carina, tmp_path, dtype, decomposed):
    check_float(
        run_carina, tmp_path, Nothing(dtype), torch.rand(8, generator=torch.Generator().manual_seed(1)), decomposed
    )


@pytest.mark.parametrize("decomposed", [False, True])
def test_numbers_beside_float64(run_carina, tmp_path, decomposed):
    check_float(
        run_carina, tmp_path, InFloat64(), torch.rand(3, 4, generator=torch.Generator().manual_seed(1)), decomposed
    )
