"""The deepest network, with random weights. Images are 128x128, which takes a third of the time of 224x224."""

import torch

from cases.networks import MobilenetV2, settled
from cases.peers import Case

SIZE = 128


def case():
    model = settled(MobilenetV2(), torch.randn(4, 3, SIZE, SIZE))
    return Case(model, (torch.randn(1, 3, SIZE, SIZE),), [(torch.randn(1, 3, SIZE, SIZE),) for _ in range(4)])
