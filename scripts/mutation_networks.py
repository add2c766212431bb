#!/usr/bin/env python3
"""Twenty ordinary networks, on which scripts/mutate.py counts what the check of `carina compile` notices.

usage: scripts/mutation_networks.py make FOLDER      writes NAME.pt2 and NAME.npz (calibration data); needs torch
       scripts/mutation_networks.py check FOLDER     compiles all of them with $CARINA_BIN; needs only Python

`check` ends with exit code 1 at the first network for which the program reports a fault (an internal error, or the
warning that an optimization was left out), or does not end as it should:

    scripts/mutate.py plan/emit --also 'check=scripts/mutation_networks.py check build/mutation-networks'
"""

import os
import subprocess
import sys
from pathlib import Path

# Three families of NPUs, 16 bits, and the interpreter of VGF programs.
WAYS = [
    ("ethos-u55-128", "int8"),
    ("ethos-u65-256", "int8"),
    ("ethos-u85-256", "int8"),
    ("ethos-u55-256", "int16x8"),
    ("ethos-u85-512", "int16x8"),
    ("vgf", "int8"),
]
LIMIT_SECONDS = 60


def networks():
    """(name, module, shape of the input)"""
    import torch
    from torch import nn
    from torch.nn import functional as F

    def function(call, *modules):
        class Network(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList(modules)

            def forward(self, x):
                return call(x, *self.parts)

        return Network()

    def block(inputs, outputs, kernel=3, stride=1, groups=1, activation=nn.ReLU):
        padding = kernel // 2
        convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False)
        return nn.Sequential(convolution, nn.BatchNorm2d(outputs), activation())

    def rows(x):
        return x.flatten(2).transpose(1, 2)

    yield (
        "classifier",
        nn.Sequential(
            block(3, 16),
            nn.MaxPool2d(2),
            block(16, 32),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(512, 10),
            nn.Softmax(1),
        ),
        (1, 3, 16, 16),
    )
    yield (
        "depthwise",
        nn.Sequential(
            block(3, 16, stride=2),
            block(16, 16, groups=16),
            block(16, 24, 1),
            block(24, 24, stride=2, groups=24),
            block(24, 32, 1),
        ),
        (1, 3, 32, 32),
    )
    yield (
        "residual",
        function(lambda x, a, b, c: F.relu(c(b(a(x))) + a(x)), block(3, 16), block(16, 16), block(16, 16)),
        (1, 3, 16, 16),
    )
    yield (
        "squeeze_excite",
        function(
            lambda x, a, b, c: a(x) * torch.sigmoid(c(F.relu(b(a(x).mean((2, 3), keepdim=True))))),
            block(3, 16, activation=nn.Hardswish),
            nn.Conv2d(16, 4, 1),
            nn.Conv2d(4, 16, 1),
        ),
        (1, 3, 16, 16),
    )
    yield (
        "keywords",
        nn.Sequential(
            nn.Conv1d(10, 16, 5, padding=2),
            nn.SiLU(),
            nn.Conv1d(16, 16, 3, stride=2),
            nn.Tanh(),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
            nn.Linear(16, 12),
        ),
        (1, 10, 49),
    )
    yield (
        "decoder",
        nn.Sequential(nn.ConvTranspose2d(8, 8, 2, 2), nn.ReLU(), nn.ConvTranspose2d(8, 3, 3, 2, 1, 1), nn.Sigmoid()),
        (1, 8, 6, 6),
    )
    yield (
        "attention",
        function(
            lambda x, a, b: b(rows(a(x)), rows(a(x)), rows(a(x)))[0],
            nn.Conv2d(3, 16, 4, 4),
            nn.MultiheadAttention(16, 2, batch_first=True),
        ),
        (1, 3, 16, 16),
    )
    yield "transformer", nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu"), (1, 10, 16)
    yield (
        "lstm",
        function(lambda x, a, b: b(a(x)[0][:, -1]), nn.LSTM(8, 12, batch_first=True), nn.Linear(12, 4)),
        (1, 6, 8),
    )
    yield "gru", function(lambda x, a: a(x)[0], nn.GRU(8, 8, batch_first=True)), (1, 5, 8)
    yield (
        "segmentation",
        function(
            lambda x, a, b, c: F.interpolate(c(b(a(x))), scale_factor=2, mode="bilinear"),
            block(3, 8, stride=2),
            block(8, 16),
            nn.Conv2d(16, 5, 1),
        ),
        (1, 3, 16, 16),
    )
    yield (
        "unet",
        function(
            lambda x, a, b, c: c(torch.cat([a(x), F.interpolate(b(a(x)), scale_factor=2)], 1)),
            block(3, 8),
            block(8, 16, stride=2),
            nn.Conv2d(24, 4, 3, padding=1),
        ),
        (1, 3, 16, 16),
    )
    yield (
        "perceptron",
        nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8), nn.LeakyReLU(), nn.Linear(8, 64)),
        (2, 64),
    )
    yield (
        "superresolution",
        nn.Sequential(block(3, 12, 5), nn.Conv2d(12, 12, 3, padding=1), nn.PixelShuffle(2)),
        (1, 3, 12, 12),
    )
    yield (
        "dilated",
        nn.Sequential(nn.Conv2d(4, 8, 3, padding=2, dilation=2), nn.ReLU6(), nn.Conv2d(8, 8, 3, padding=4, dilation=4)),
        (1, 4, 20, 20),
    )
    yield (
        "groups",
        nn.Sequential(nn.Conv2d(16, 32, 3, padding=1, groups=4), nn.PReLU(32), nn.Conv2d(32, 16, 1, groups=2)),
        (1, 16, 9, 9),
    )
    yield (
        "inception",
        function(
            lambda x, a, b, c: torch.cat([a(x), b(x), F.max_pool2d(x, 3, 1, 1), c(x)[:, :4]], 1).flip(1),
            block(8, 8, 1),
            block(8, 8, 3),
            block(8, 8, 5),
        ),
        (1, 8, 11, 11),
    )
    yield (
        "arithmetic",
        function(
            lambda x, a: (
                torch.where(a(x) > 0.5, (x * 2 - a(x)).abs(), torch.minimum(x, a(x)).clamp(-1, 1)).pow(2).sum(1)
            ),
            nn.Conv2d(4, 4, 1),
        ),
        (1, 4, 9, 7),
    )
    yield (
        "norms",
        function(
            lambda x, a, b: b(rows(a(x))).amax(1),
            nn.Sequential(nn.Conv2d(3, 12, 3), nn.GroupNorm(3, 12)),
            nn.LayerNorm(12),
        ),
        (1, 3, 10, 10),
    )
    yield (
        "layouts",
        function(
            lambda x, a: F.pad(
                a(x).permute(0, 2, 3, 1).reshape(1, 16, 4, 8).transpose(1, 2)[:, 1:, ::2], (1, 1, 2, 0)
            ).unbind(1)[0],
            nn.Conv2d(3, 8, 3, 1, 1),
        ),
        (1, 3, 8, 8),
    )


def make(folder):
    import numpy
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    for name, module, shape in networks():
        torch.manual_seed(0)
        for parameter in module.parameters():
            if parameter.dim() > 1:
                torch.nn.init.kaiming_uniform_(parameter)
        samples = torch.randn(4, *shape)
        with torch.no_grad():
            torch.export.save(torch.export.export(module.eval(), (samples[0],), strict=False), folder / f"{name}.pt2")
        numpy.savez(folder / f"{name}.npz", x=samples.numpy())
        print(name)


def check(folder):
    program = os.environ["CARINA_BIN"]
    models = sorted(folder.glob("*.pt2"))
    if len(models) < 20:
        sys.exit(f"{folder}: {len(models)} networks, expected 20: scripts/mutation_networks.py make {folder}")
    environment = {name: value for name, value in os.environ.items() if name != "CARINA_DEV_CHECKS"}
    for target, scheme in WAYS:
        for model in models:
            words = ["--target", target, "--quantize", scheme, "--calibrate", model.with_suffix(".npz"), "--check=full"]
            command = [program, "compile", model, *words, "-o", folder / "program.pte"]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, env=environment)
            except subprocess.TimeoutExpired:
                sys.exit(f"{model.stem}, {target}, {scheme}: more than {LIMIT_SECONDS} s")
            if done.returncode != 0 or "mistake of Carina" in done.stderr:
                sys.exit(f"{model.stem}, {target}, {scheme}: {done.stderr.strip()[-600:]}")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("make", "check"):
        sys.exit(__doc__)
    {"make": make, "check": check}[sys.argv[1]](Path(sys.argv[2]))
