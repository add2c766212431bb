"""A conv1d is a conv2d between two views. What an activation after it cuts off does not widen the range: int8 loses as little as in the same
network of conv2d, whose outputs are the same bits."""

import numpy as np
import pytest
import torch
from torch import nn

TARGETS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")


class Rows(nn.Module):
    """A network of conv2d over rows of height 1 for inputs [N, C, W]."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, x):
        return self.layers(x.unsqueeze(2)).squeeze(2)


def networks(seed, activation):
    """The same weights as conv1d and as conv2d. Negative biases: most of what the convolutions give is cut off."""
    torch.manual_seed(seed)
    first, second = nn.Conv1d(12, 16, 3, padding=1), nn.Conv1d(16, 8, 5, stride=2)
    nn.init.uniform_(first.bias, -2, 0.2)
    nn.init.uniform_(second.bias, -1, 0.2)
    wide = []
    for layer in (first, second):
        pad, step = layer.padding[0], layer.stride[0]
        image = nn.Conv2d(layer.in_channels, layer.out_channels, (1, *layer.kernel_size), (1, step), (0, pad))
        image.weight.data, image.bias.data = layer.weight.data.unsqueeze(2), layer.bias.data
        wide.append(image)
    return nn.Sequential(first, activation(), second, activation()), Rows(
        nn.Sequential(wide[0], activation(), wide[1], activation())
    )


def sqnr(expected, got):
    return 10 * np.log10(np.sum(expected**2) / np.sum((expected - got) ** 2))


@pytest.mark.parametrize(
    "activation", [nn.ReLU, nn.ReLU6, lambda: nn.Hardtanh(-0.1, 1.5)], ids=["relu", "relu6", "tanh"]
)
@pytest.mark.parametrize("target", TARGETS)
def test_conv1d_loses_no_more_than_conv2d(target, activation, run_carina, tmp_path):
    x = torch.randn(24, 12, 40, generator=torch.Generator().manual_seed(1))
    np.save(tmp_path / "x.npy", x.numpy())
    outputs = []
    for name, network in zip(("conv1d", "conv2d"), networks(7, activation), strict=True):
        torch.export.save(torch.export.export(network.eval(), (x[:1],)), tmp_path / f"{name}.pt2")
        options = ["--target", target, "--quantize", "int8-only", "--calibrate", tmp_path / "x.npy"]
        run_carina(["compile", tmp_path / f"{name}.pt2", *options, "-o", tmp_path / f"{name}.pte"])
        run_carina(["run", tmp_path / f"{name}.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / name])
        outputs.append(np.load(tmp_path / name / "output_0.npy"))
    with torch.no_grad():
        expected = network(x).numpy()
    assert sqnr(expected, outputs[0].reshape(expected.shape)) > 30
    assert np.array_equal(outputs[0].reshape(-1), outputs[1].reshape(-1))
