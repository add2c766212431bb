"""An LSTM of four steps with random weights. The export unrolls the steps."""

import torch

from cases.networks import Lstm
from cases.peers import Case


def case():
    return Case(Lstm().eval(), (torch.randn(1, 4, 16),), [(torch.randn(1, 4, 16),) for _ in range(4)])
