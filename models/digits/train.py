"""Trains the digits network and writes digits.pt2, calibration.npz and test.npz beside this file.

usage: python train.py [--out DIR]

Needs torch and scikit-learn (the reference implementations' environment has both). Takes under a minute on one core.
The seed is fixed: with the same torch on the same kind of machine the weights come out the same.
"""

import argparse
import re
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional as F

SEED = 20
EPOCHS = 200
TEST_IMAGES = 450
CALIBRATION_IMAGES = 64


def conv_bn_relu(in_channels, out_channels, kernel, groups=1):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, kernel, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(),
    )


class Digits(nn.Module):
    """[N,1,8,8] grey levels 0..1 -> [N,10] logits; depthwise-separable, 4 k parameters."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn_relu(1, 16, 3)
        self.depthwise1 = conv_bn_relu(16, 16, 3, groups=16)
        self.pointwise1 = conv_bn_relu(16, 32, 1)
        self.depthwise2 = conv_bn_relu(32, 32, 3, groups=32)
        self.pointwise2 = conv_bn_relu(32, 48, 1)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(48, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.pointwise1(self.depthwise1(x))
        x = F.max_pool2d(x, 2)
        x = self.pointwise2(self.depthwise2(x))
        x = F.adaptive_avg_pool2d(x, 1)
        x = torch.flatten(x, 1)
        return self.classifier(self.dropout(x))


def load():
    digits = load_digits()
    x = (digits.images / 16.0).astype(np.float32)[:, None]
    y = digits.target.astype(np.int64)
    return train_test_split(x, y, test_size=TEST_IMAGES, random_state=SEED, stratify=y)


def shifted(x, generator):
    """Each image moved by -1..1 pixels both ways, zeros coming in."""
    dy, dx = (torch.randint(0, 3, (len(x), 1, 1), generator=generator) for _ in range(2))
    rows = torch.arange(8).view(1, 8, 1) + dy
    columns = torch.arange(8).view(1, 1, 8) + dx
    padded = F.pad(x, (1, 1, 1, 1))[:, 0]
    return padded[torch.arange(len(x)).view(-1, 1, 1), rows, columns][:, None]


def train(x, y):
    generator = torch.Generator().manual_seed(SEED)
    model = Digits()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-3)
    batch = 64
    steps = EPOCHS * (len(x) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(x), generator=generator)
        for start in range(0, len(x) - batch + 1, batch):
            pick = order[start : start + batch]
            loss = F.cross_entropy(model(shifted(x[pick], generator)), y[pick], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.eval()


def export(model):
    """The exported program for batch 1, without the folders of this machine in the nodes' source lines."""
    program = torch.export.export(model, (torch.zeros(1, 1, 8, 8),), strict=True)
    here = str(Path(__file__).resolve().parent) + "/"
    for node in program.graph.nodes:
        if "stack_trace" in node.meta:
            trace = node.meta["stack_trace"].replace(here, "")
            node.meta["stack_trace"] = re.sub(r'File "[^"]*/site-packages/', 'File "', trace)
    return program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    x_train, x_test, y_train, y_test = load()
    model = train(torch.from_numpy(x_train), torch.from_numpy(y_train))

    with torch.no_grad():
        logits = torch.cat([model(torch.from_numpy(image[None])) for image in x_test]).numpy()
    accuracy = (logits.argmax(1) == y_test).mean()
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters} parameters, accuracy {accuracy:.2%} on {len(y_test)} test images")

    torch.export.save(export(model), out / "digits.pt2")
    np.savez(out / "calibration.npz", x=x_train[:CALIBRATION_IMAGES])
    np.savez(out / "test.npz", x=x_test, y=y_test, float_logits=logits)


if __name__ == "__main__":
    main()
