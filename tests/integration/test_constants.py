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
    return 10 * np.log10((wanted.astype(np.float64) ** 2).sum() / max(((wanted.astype(np.float64) - got) ** 2).sum(), 1e-30))


def outputs(run_carina, program, samples, folder):
    results = []
    for sample in samples:
        np.save(folder / "in.npy", sample[None])
        run_carina(["run", program, "-i", folder / "in.npy", "-o", folder / "out"])
        results.append(np.load(folder / "out" / "output_0.npy"))
    return np.concatenate(results)


def test_quantized(model, run_carina):
    folder, samples, wanted, min_db = model
    done = run_carina(
        ["compile", folder / "model.pt2", "--target", TARGET, "--quantize", "int8", "--calibrate", folder / "data.npz", "-o", folder / "int8.pte", "--json"]
    )
    nodes = done.json["nodes"]
    assert [n for n in nodes if n["runs_on"] not in ("npu", "folded")] == []
    assert sqnr_db(wanted[:8], outputs(run_carina, folder / "int8.pte", samples[:8], folder)) > min_db


def test_float(model, run_carina):
    folder, samples, wanted, _ = model
    run_carina(["compile", folder / "model.pt2", "--target", TARGET, "-o", folder / "float.pte"])
    assert sqnr_db(wanted[:2], outputs(run_carina, folder / "float.pte", samples[:2], folder)) > 110
