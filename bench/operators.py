#!/usr/bin/env python3
"""Times single operators on a host beside eager PyTorch, in one run on one thread: where a kernel falls off, it shows here.

usage: bench/operators.py [--only WORD]... [--json FILE]         (a part of make bench)

Each row is a small module, whose operator is repeated if its shapes allow it, so that copies of inputs and outputs do not decide. Columns
are milliseconds of CPU time for one call: eager PyTorch in float32; a .pte of ExecuTorch without delegates in Carina's runtime (`program`);
the lowered float graph in the interpreter (`float`); the int8 graph in the interpreter (`int8`); the simulated Ethos-U85-256 (`NPU`). The
number after each is its ratio to eager PyTorch. "-": the operator is not available there, with the reason below the table.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from processes import best_of, carina, commit, google_benchmark, process
from torch import nn

TARGET = "ethos-u85-256"


class Repeated(nn.Module):
    """Applies a function of (x, other inputs) several times to its own result."""

    def __init__(self, function, times):
        super().__init__()
        self.function, self.times = function, times

    def forward(self, x, *others):
        for _ in range(self.times):
            x = self.function(x, *others)
        return x


def repeated(function, times, *inputs):
    return Repeated(function, times), inputs


def layers(make, times, *inputs):
    return nn.Sequential(*[make() for _ in range(times)]), inputs


def operators():
    """{name: (module, inputs)}"""
    image, tall = torch.randn(1, 64, 56, 56), torch.randn(1, 21, 128, 128)
    sequence = torch.randn(4, 256, 256)
    deconvolution = {f"{k}x{k}": (k, p) for k, p in ((2, 0), (3, 1), (4, 1))}
    return {
        "convolution 3x3": layers(lambda: nn.Conv2d(64, 64, 3, padding=1), 2, image),
        "convolution 1x1": layers(lambda: nn.Conv2d(64, 64, 1), 4, image),
        "convolution 3x3, depthwise": layers(lambda: nn.Conv2d(64, 64, 3, padding=1, groups=64), 4, image),
        "convolution 3x3, 32 groups": layers(
            lambda: nn.Conv2d(128, 128, 3, padding=1, groups=32), 4, torch.randn(1, 128, 28, 28)
        ),
        "convolution, two outputs per input": layers(
            lambda: nn.Conv2d(64, 128, 3, padding=1, groups=64), 1, torch.randn(1, 64, 28, 28)
        ),
        **{
            f"transposed convolution {name}": layers(
                lambda k=k, p=p: nn.ConvTranspose2d(64, 32, k, 2, p), 1, torch.randn(1, 64, 32, 32)
            )
            for name, (k, p) in deconvolution.items()
        },
        "convolution in 3 dimensions": layers(lambda: nn.Conv3d(8, 8, 3, padding=1), 2, torch.randn(1, 8, 16, 32, 32)),
        "linear": layers(lambda: nn.Linear(384, 384), 4, torch.randn(256, 384)),
        "matrix product": repeated(lambda x, y: torch.bmm(x, y) * 0.06, 4, sequence, torch.randn(4, 256, 256)),
        "gather along rows": repeated(
            lambda x, i: torch.gather(x, 1, i), 20, torch.randn(64, 512), torch.randint(0, 512, (64, 512))
        ),
        "softmax of rows": repeated(lambda x: torch.softmax(x, -1), 4, sequence),
        "softmax of channels": repeated(lambda x: torch.softmax(x, 1), 4, tall),
        "log softmax of rows": repeated(lambda x: torch.log_softmax(x, -1), 4, sequence),
        "group norm": layers(lambda: nn.GroupNorm(8, 64), 4, image),
        "instance norm": layers(lambda: nn.InstanceNorm2d(64), 4, image),
        "layer norm": layers(lambda: nn.LayerNorm(384), 4, torch.randn(256, 384)),
        "RMS norm": layers(lambda: nn.RMSNorm(384), 4, torch.randn(256, 384)),
        "batch norm": layers(lambda: nn.BatchNorm2d(64), 4, image),
        "attention, 4 heads": (Attention(), (torch.randn(1, 64, 128),)),
        "gelu": repeated(nn.functional.gelu, 4, torch.randn(256, 1536)),
        "sigmoid": repeated(torch.sigmoid, 4, image),
        "division": repeated(lambda x, y: x / y, 4, image, torch.rand(1, 64, 56, 56) + 1),
        "where": repeated(lambda x, y: torch.where(x > 0, x, y), 4, image, torch.randn(1, 64, 56, 56)),
        "maximum pool 3x3": layers(lambda: nn.MaxPool2d(3, 1, 1), 4, image),
        "average pool 3x3": layers(lambda: nn.AvgPool2d(3, 1, 1), 4, image),
        "mean of pixels": repeated(lambda x: x + x.mean((2, 3), keepdim=True), 4, image),
        "nearest neighbor, twice the size": layers(lambda: nn.Upsample(scale_factor=2), 1, image),
        "bilinear, twice the size": layers(lambda: nn.Upsample(scale_factor=2, mode="bilinear"), 1, image),
        "zeros around": repeated(lambda x: nn.functional.pad(x, (1, 1, 1, 1))[:, :, 1:-1, 1:-1] + x, 4, image),
        "concatenation": repeated(lambda x: torch.cat([x[:, 32:], x[:, :32]], 1), 4, image),
    }


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(128, 4, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


def program(module, inputs, folder):
    """Writes folder/x.pt2, folder/x.pte (no delegate), sample.npz of all inputs, and each input; returns the latter's files."""
    from executorch.exir import to_edge

    exported = torch.export.export(module, inputs)
    torch.export.save(exported, folder / "x.pt2")
    (folder / "x.pte").write_bytes(to_edge(exported).to_executorch().buffer)
    files = [folder / f"in_{i}.npy" for i in range(len(inputs))]
    for file, tensor in zip(files, inputs):
        np.save(file, tensor.numpy())
    arrays = {name: tensor.numpy() for name, tensor in zip(exported.graph_signature.user_inputs, inputs)}
    np.savez(folder / "sample.npz", **arrays)
    return files


def graph_inputs(tosa, folder):
    """Random inputs in the types of a TOSA graph: files."""
    text = json.loads(process(carina("inspect", tosa, "--json"))[1])["text"]
    kinds = {"fp32": np.float32, "i8": np.int8, "i16": np.int16, "i32": np.int32}
    files = []
    for i, (kind, sizes) in enumerate(re.findall(r"^ *input %[^:]+: (\w+)\[([\d,]*)\]", text, re.M)):
        numbers = np.random.default_rng(0).standard_normal([int(size) for size in sizes.split(",")])
        values = numbers if kind == "fp32" else np.clip(numbers * 40, 0 if kind == "i32" else -128, 127)
        files.append(folder / f"{tosa.stem}_{i}.npy")
        np.save(files[-1], values.astype(kinds[kind]))
    return files


def measure(module, inputs, folder, reasons):
    """{column: milliseconds} of one module."""
    files = program(module.eval(), inputs, folder)

    def attempt(column, cost):
        try:
            times[column] = cost() * 1e3
        except RuntimeError as error:
            reasons.append(f"{column}: {str(error).strip().splitlines()[-1][:200]}")

    def interpreted(name, options):
        tosa = folder / f"{name}.tosa"
        process(carina("tosa", folder / "x.pt2", *options, "-o", tosa))
        has_floats = name == "float" and all(tensor.is_floating_point() for tensor in inputs)
        arrays = files if has_floats else graph_inputs(tosa, folder)
        return google_benchmark("interpret_bench", "--benchmark_filter=warm", tosa, *arrays)["warm"].seconds

    def simulated():
        process(carina("compile", folder / "int8.tosa", "--target", TARGET, "--dump", folder, "-o", folder / "npu.pte"))
        stream = next(folder.glob("*_vela.npz"))
        return google_benchmark("simulate_bench", "--benchmark_filter=warm", stream)["warm"].seconds

    with torch.no_grad():
        times = {"eager": best_of(lambda: module(*inputs), seconds=0.3).seconds * 1e3}
    host = ("program_bench", "--benchmark_filter=host", folder / "x.pte", *files)
    attempt("program", lambda: google_benchmark(*host)["host"].seconds)
    attempt("float", lambda: interpreted("float", []))
    attempt("int8", lambda: interpreted("int8", ["--quantize", "int8", "--calibrate", folder / "sample.npz"]))
    if (folder / "int8.tosa").exists():
        attempt("NPU", simulated)
    return times


COLUMNS = ("program", "float", "int8", "NPU")


def line(name, times):
    eager = times["eager"]
    cells = [f"{times[c]:8.3f} {times[c] / eager:5.2f}" if c in times else f"{'-':>14}" for c in COLUMNS]
    return f"{name:36} {eager:8.3f} " + " ".join(cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="WORD")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"operators beside eager PyTorch {torch.__version__}, commit {commit()}; milliseconds, ratio to eager")
    print(f"{'':36} {'eager':>8} " + " ".join(f"{c:>14}" for c in COLUMNS))
    rows, reasons = {}, []
    for name, (module, inputs) in operators().items():
        if options.only and not any(word in name for word in options.only):
            continue
        missing = []
        with tempfile.TemporaryDirectory() as folder:
            rows[name] = measure(module, inputs, Path(folder), missing)
        reasons += [f"{name}, {reason}" for reason in missing]
        print(line(name, rows[name]), flush=True)
    print("\n".join(reasons))
    if options.json:
        options.json.write_text(json.dumps({"commit": commit(), "milliseconds": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
