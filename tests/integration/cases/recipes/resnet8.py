"""Random weights. For an Ethos-U55, the peer's partitioner leaves the average pool on the CPU, so the program has two delegates."""

import torch

from cases.networks import Resnet8, settled
from cases.peers import Case


def case():
    model = settled(Resnet8(), torch.randn(8, 3, 32, 32))
    samples = [(torch.randn(1, 3, 32, 32),) for _ in range(4)]
    return Case(model, (torch.randn(1, 3, 32, 32),), samples, own_graph=("ethos-u85-256",))
