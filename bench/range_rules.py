"""Trains small networks and measures each range rule on them: accuracy, SQNR and cycles in int8.

usage: range_rules.py WORK [--rules int8,int8+mse] [--networks prelu,denoiser] [--target ethos-u55-128] [--carina PATH]

The networks learn the digits of scikit-learn in seconds, with fixed seeds. Half of the data are for training, and 64 of these
samples are also for calibration. The measurement uses 400 of the other samples."""

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np
import torch
from processes import BUILD
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

RULES = "int8,int8+mse,int8+percentile,int8+minmax,int8+equalized,int16x8"
TRAINED, CALIBRATED, TESTED, STEPS = 900, 64, 400, 300


class Joined(nn.Module):
    """PReLU, depthwise convolutions, and batch norms behind cat and upsampling, as in portrait segmentation."""

    def __init__(self):
        super().__init__()
        self.first, self.act = nn.Conv2d(1, 16, 3, padding=1), nn.PReLU(16)
        self.deep, self.point = nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 16, 1)
        self.act2, self.norm, self.act3 = nn.PReLU(16), nn.BatchNorm2d(32), nn.PReLU(32)
        self.last, self.head = nn.Conv2d(32, 16, 3, stride=2, padding=1), nn.Linear(16 * 16, 10)

    def forward(self, x):
        x = self.act(self.first(x))
        x = torch.cat((x, self.act2(self.point(self.deep(x)))), 1)
        return self.head(torch.relu(self.last(self.act3(self.norm(x)))).flatten(1))


class Residual(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.a, self.b, self.act = nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1), act
        self.head = nn.Linear(16 * 16, 10)

    def forward(self, x):
        x = self.act(self.norm(self.first(x)))
        x = self.act(x + self.b(self.act(self.a(x))))
        return self.head(functional.avg_pool2d(x, 2).flatten(1))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU()]
        for _ in range(4):
            layers += [nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, x):
        return x - self.layers(x)


NETWORKS = {
    "plain": lambda: nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU6(), nn.Flatten(), nn.Linear(512, 10)),
    "prelu": Joined,
    "leaky": lambda: Residual(nn.LeakyReLU(0.2)),
    "hardswish": lambda: Residual(nn.Hardswish()),
    "dense": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 10)),
    "denoiser": Denoiser,
}


def samples(name):
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = (digits.images[order, None] / 8 - 1).astype(np.float32)
    noisy = images + np.random.default_rng(1).normal(0, 0.3, images.shape).astype(np.float32)
    return (noisy, images) if name == "denoiser" else (noisy, digits.target[order].astype(np.int64))


def trained(name, x, y):
    torch.manual_seed(3)
    torch.set_num_threads(1)
    module = NETWORKS[name]()
    loss = functional.mse_loss if name == "denoiser" else functional.cross_entropy
    optimizer = torch.optim.Adam(module.parameters(), 3e-3)
    generator = torch.Generator().manual_seed(4)
    for _ in range(STEPS):
        chosen = torch.randint(0, TRAINED, (64,), generator=generator)
        optimizer.zero_grad()
        loss(module(torch.from_numpy(x)[chosen]), torch.from_numpy(y)[chosen]).backward()
        optimizer.step()
    return module.eval()


def run(carina, *args):
    done = subprocess.run([carina, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, args))}\n{done.stderr}")
    return done.stdout


def decibels(wanted, error):
    return 10 * np.log10((wanted.astype(np.float64) ** 2).sum() / max((error.astype(np.float64) ** 2).sum(), 1e-30))


def task(name, got, y):
    """The percentage of correct answers, or the PSNR of images from -1 to 1."""
    if name == "denoiser":
        return 10 * np.log10(4 / ((got - y) ** 2).mean())
    return 100 * (got.argmax(1) == y).mean()


def prepare(name, work):
    x, y = samples(name)
    module = trained(name, x, y)
    torch.export.save(torch.export.export(module, (torch.from_numpy(x[:1]),)), work / f"{name}.pt2")
    np.savez(work / f"{name}_calibration.npz", x=x[:CALIBRATED])
    x, y = x[TRAINED : TRAINED + TESTED], y[TRAINED : TRAINED + TESTED]
    np.savez(work / f"{name}_test.npz", x=x)
    with torch.no_grad():
        return x, y, module(torch.from_numpy(x)).numpy()


def measured(carina, name, rule, work, target):
    program, out = work / f"{name}.pte", work / f"{name}_out"
    compiled = run(carina, "compile", work / f"{name}.pt2", "--target", target, "--quantize", rule, "--calibrate", work / f"{name}_calibration.npz", "-o", program, "--json")
    run(carina, "run", program, "-i", work / f"{name}_test.npz", "-o", out)
    (file,) = sorted(out.glob("*.npy"))
    return json.loads(compiled)["cycles"], np.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rules", default=RULES)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--target", default="ethos-u55-128")
    parser.add_argument("--carina", default=str(BUILD / "carina"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| network | scheme | float | quantized | SQNR dB | cycles |\n|---|---|---|---|---|---|")
    for name in options.networks.split(","):
        x, y, wanted = prepare(name, options.work)
        for rule in options.rules.split(","):
            cycles, got = measured(options.carina, name, rule, options.work, options.target)
            got = got.reshape(wanted.shape)
            print(f"| {name} | {rule} | {task(name, wanted, y):.2f} | {task(name, got, y):.2f} | {decibels(wanted, got - wanted):.2f} | {cycles:,} |", flush=True)


if __name__ == "__main__":
    main()
