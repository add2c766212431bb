#!/usr/bin/env python3
"""From a float torch.nn.Module to a program, in Python: mobilenet_v2 in a fresh process, imports included, and again in the same one.

usage: PYTHONPATH=build/release/python bench/python_package.py      (the judges' Python)

Prints CPU and wall seconds of each step. The peer's flow for the same takes 35 to 50 s (bench/peer_flow.py measures it).
"""

import time

START = time.monotonic()

import carina  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

# expansion, channels, blocks, stride (Sandler et al. 2018, table 2)
BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def convolution(inputs, outputs, kernel=1, stride=1, groups=1):
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs), nn.ReLU6()]


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        hidden = inputs * expansion
        wider = convolution(inputs, hidden) if expansion > 1 else []
        self.steps = nn.Sequential(*wider, *convolution(hidden, hidden, 3, stride, hidden), *convolution(hidden, outputs)[:2])
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.steps(x) if self.adds else self.steps(x)


def mobilenet_v2():
    layers, channels = convolution(3, 32, 3, 2), 32
    for expansion, outputs, count, stride in BLOCKS:
        for block in range(count):
            layers.append(Block(channels, outputs, stride if block == 0 else 1, expansion))
            channels = outputs
    return nn.Sequential(*layers, *convolution(channels, 1280), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)).eval()


def main():
    torch.manual_seed(0)
    model, x = mobilenet_v2(), torch.randn(1, 3, 224, 224)
    for name in ("fresh process", "warm", "warm"):
        cpu, wall = (0.0, START) if name == "fresh process" else (time.process_time(), time.monotonic())
        program = carina.compile(model, (x,), target="ethos-u55-128", quantize="int8", calibration=x)
        print(f"{name:14} {time.process_time() - cpu:6.2f} s CPU {time.monotonic() - wall:6.2f} s wall, {len(program.pte):,} bytes", flush=True)


if __name__ == "__main__":
    main()
