"""Keyword spotting with random weights, for every NPU."""

import torch

from cases.networks import DsCnnWithSoftmax, settled
from cases.peers import Case

MACS = {"u55": (32, 64, 256), "u65": (256, 512), "u85": (128, 256, 512, 1024, 2048)}
TARGETS = ("ethos-u55-128", *(f"ethos-{line}-{macs}" for line, sizes in MACS.items() for macs in sizes))


def case():
    model = settled(DsCnnWithSoftmax(), torch.randn(8, 1, 49, 10))
    return Case(model, (torch.randn(1, 1, 49, 10),), [(torch.randn(1, 1, 49, 10),) for _ in range(4)], TARGETS)
