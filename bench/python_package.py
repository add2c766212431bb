#!/usr/bin/env python3
"""Measures compiling a float torch.nn.Module in Python: mobilenet_v2 in a fresh process, including imports, and again in the same process.

usage: PYTHONPATH=build/release/python bench/python_package.py      (the reference implementations' Python)

Prints CPU and wall seconds of each step. The peer's flow takes 35 to 50 s for this (bench/peer_flow.py measures it).
"""

import sys
import time
from pathlib import Path

START = time.monotonic()
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "integration" / "arm" / "tutorials"))

import carina  # noqa: E402
import torch  # noqa: E402
from mobilenet_v2 import mobilenet_v2  # noqa: E402


def main():
    torch.manual_seed(0)
    model, x = mobilenet_v2(), torch.randn(1, 3, 224, 224)
    for name in ("fresh process", "warm", "warm"):
        cpu, wall = (0.0, START) if name == "fresh process" else (time.process_time(), time.monotonic())
        program = carina.compile(model, (x,), target="ethos-u55-128", quantize="int8", calibration=x)
        print(
            f"{name:14} {time.process_time() - cpu:6.2f} s CPU {time.monotonic() - wall:6.2f} s wall, {len(program.pte):,} bytes",
            flush=True,
        )


if __name__ == "__main__":
    main()
