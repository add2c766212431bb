"""Random weights; four steps, which export writes one after another."""

import torch

from cases.networks import Lstm
from cases.peers import Case


def case():
    return Case(Lstm().eval(), (torch.randn(1, 4, 16),), [(torch.randn(1, 4, 16),) for _ in range(4)])
