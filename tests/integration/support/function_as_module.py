"""A function as a torch.nn.Module, for torch.export."""

from torch import nn


class Fn(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)
