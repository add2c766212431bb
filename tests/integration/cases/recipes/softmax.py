"""A single softmax, which the Arm backend lowers to a table and sums."""

import torch

from cases.peers import Case


def case():
    return Case(torch.nn.Softmax(-1), (torch.randn(2, 2),), [(torch.randn(2, 2),) for _ in range(4)])
