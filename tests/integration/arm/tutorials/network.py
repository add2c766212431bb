"""The model of the tutorials: the blocks of mobilenet_v2, small, with random weights. With TUTORIAL_NETWORK=mobilenet_v2, the whole
network."""

import os

import torch
from torch import nn

from mobilenet_v2 import mobilenet_v2


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.residual = inputs == outputs and stride == 1
        wide = inputs * 4
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, wide, 1, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU6(),
            nn.Conv2d(wide, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU6(), InvertedResidual(8, 8, 1), InvertedResidual(8, 16, 2)
        )
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(16, 10))

    def forward(self, x):
        return self.classifier(nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1)).flatten(1))


torch.manual_seed(7)
if os.environ.get("TUTORIAL_NETWORK") == "mobilenet_v2":
    network, example_inputs = mobilenet_v2(), (torch.randn(1, 3, 224, 224),)
else:
    network, example_inputs = Network().eval(), (torch.randn(1, 3, 32, 32),)
