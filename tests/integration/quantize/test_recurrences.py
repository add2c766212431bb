"""Recurrent networks, also with a loop of cells in the user's code: the steps share weights, bias and scales, so that a program grows little by
step, with the bits of the integer graph on each family of NPUs and the accuracy of the float model."""

import numpy as np
import pytest
import torch
from torch import nn

TARGETS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
INPUTS, CELLS = 12, 24


class Written(nn.Module):
    """A cell of linear layers."""

    def __init__(self):
        super().__init__()
        self.w, self.u = nn.Linear(INPUTS, 2 * CELLS), nn.Linear(CELLS, 2 * CELLS)

    def forward(self, x, h):
        gate, candidate = (self.w(x) + self.u(h)).chunk(2, -1)
        gate = torch.sigmoid(gate)
        return gate * h + (1 - gate) * torch.tanh(candidate)


class Loop(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell, self.head = cell, nn.Linear(CELLS, 5)

    def forward(self, x):
        h = c = x.new_zeros(1, CELLS)
        outputs = []
        for t in range(x.shape[1]):
            if isinstance(self.cell, nn.LSTMCell):
                h, c = self.cell(x[:, t], (h, c))
            else:
                h = self.cell(x[:, t], h)
            outputs.append(self.head(h))
        return torch.stack(outputs, 1)


class Layer(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.head = layer, nn.Linear(CELLS, 5)

    def forward(self, x):
        return self.head(self.layer(x)[0])


NETWORKS = {
    "LSTMCell": lambda: Loop(nn.LSTMCell(INPUTS, CELLS)),
    "GRUCell": lambda: Loop(nn.GRUCell(INPUTS, CELLS)),
    "RNNCell": lambda: Loop(nn.RNNCell(INPUTS, CELLS)),
    "written": lambda: Loop(Written()),
    "LSTM": lambda: Layer(nn.LSTM(INPUTS, CELLS, batch_first=True)),
    "GRU": lambda: Layer(nn.GRU(INPUTS, CELLS, batch_first=True)),
}


def exported(network, steps, folder):
    torch.manual_seed(steps)
    x = torch.randn(1, steps, INPUTS)
    path = folder / f"m{steps}.pt2"
    torch.export.save(torch.export.export(network, (x,)), path)
    np.save(folder / f"c{steps}.npy", torch.randn(8, steps, INPUTS).numpy())
    return path, ["--calibrate", folder / f"c{steps}.npy"]


@pytest.mark.parametrize("name", NETWORKS)
def test_program_grows_by_less_than_a_step_has_weights(name, run_carina, tmp_path):
    torch.manual_seed(0)
    network = NETWORKS[name]().eval()
    flash = {}
    for steps in (8, 16):
        path, data = exported(network, steps, tmp_path)
        for scheme in ("int8", "int16x8", "int8+rounded-for-inputs"):
            words = [path, "--target", "ethos-u55-128", "-q", scheme, *data, "--json"]
            (delegate,) = run_carina(["explain", *words]).json["delegates"]
            flash[scheme, steps] = delegate["weight_bytes"]
    for scheme in ("int8", "int16x8", "int8+rounded-for-inputs"):
        # In int8, an LSTM's tanh of the cell state is a table of 256 bytes. Scales of gates would be 10 bytes for each
        # element.
        assert flash[scheme, 16] - flash[scheme, 8] <= 8 * 280, (scheme, flash)


@pytest.mark.parametrize("scheme", ["int8", "int16x8"])
@pytest.mark.parametrize("name", NETWORKS)
def test_program_has_bits_of_the_graph_and_is_exact(name, scheme, run_carina, tmp_path):
    torch.manual_seed(1)
    network = NETWORKS[name]().eval()
    path, data = exported(network, 10, tmp_path)
    samples = torch.randn(16, 10, INPUTS)
    np.save(tmp_path / "x.npy", samples.numpy())
    with torch.no_grad():
        floats = np.stack([network(sample[None]).numpy() for sample in samples])
    for target in TARGETS:
        words = [path, "--target", target, "-q", scheme, *data]
        run_carina(["compile", *words, "--check=full", "-o", tmp_path / "m.pte"])
        run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
        got = np.load(tmp_path / "out" / "output_0.npy").reshape(floats.shape)
        sqnr = 10 * np.log10((floats**2).sum() / ((got - floats) ** 2).sum())
        assert sqnr > (24 if scheme == "int8" else 40), (target, sqnr)
