"""Small networks of many kinds, their data, and the metrics of their tasks. They are trained in seconds, with fixed seeds.

Data are the digits of scikit-learn, its two photographs, and drawings that are made here: plates of digits, faces, portraits, positions of
a board game, signals. A network's samples are divided into training data and data for the measurement."""

import copy
from dataclasses import dataclass
from typing import Callable

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits, load_sample_images
from torch import nn
from torch.nn import functional


class Joined(nn.Module):
    """PReLU, depthwise convolutions, and a batch norm behind cat."""

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
    """A chain of convolutions; the result is the input minus the chain's."""

    def __init__(self, depth, width):
        super().__init__()
        layers = [nn.Conv2d(1, width, 3, padding=1), nn.ReLU()]
        for _ in range(depth - 2):
            layers += [nn.Conv2d(width, width, 3, padding=1, bias=depth < 10), nn.ReLU()]
            if depth >= 10:
                layers.insert(-1, nn.BatchNorm2d(width))
        self.layers = nn.Sequential(*layers, nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x):
        return x - self.layers(x)


class Bottleneck(nn.Module):
    """A depthwise bottleneck, with squeeze and excitation if `squeezed`."""

    def __init__(self, width, wide, act, squeezed=False, stride=1):
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(width, wide, 1, bias=False), nn.BatchNorm2d(wide), act(wide))
        self.deep = nn.Sequential(
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), act(wide)
        )
        self.squeeze = (
            nn.Sequential(nn.Conv2d(wide, 8, 1), nn.ReLU(), nn.Conv2d(8, wide, 1), nn.Sigmoid()) if squeezed else None
        )
        self.project = nn.Sequential(nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width))
        self.stride = stride

    def forward(self, x):
        y = self.deep(self.expand(x))
        if self.squeeze is not None:
            y = y * self.squeeze(y.mean((2, 3), keepdim=True))
        y = self.project(y)
        return x + y if self.stride == 1 else y


class Mobile(nn.Module):
    def __init__(self, act, squeezed, classes):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), act(16))
        self.blocks = nn.Sequential(*(Bottleneck(16, 48, act, squeezed, stride) for stride in (1, 2, 1)))
        self.last = nn.Sequential(nn.Conv2d(16, 64, 1, bias=False), nn.BatchNorm2d(64), act(64))
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.last(self.blocks(self.first(x))).mean((2, 3)))


class PlateReader(nn.Module):
    """Reads five digits from two branches, whose features it divides by their mean square."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(16, 64, 3, (2, 1), 1), nn.BatchNorm2d(64), nn.ReLU())
        self.third = nn.Sequential(nn.Conv2d(16, 64, 3, (2, 1), 1), nn.BatchNorm2d(64), nn.ReLU())

    def digits(self, x, y):
        x = functional.avg_pool2d(x, (2, 1))
        x = x / x.square().mean((1, 2, 3), keepdim=True)
        y = y / y.square().mean((1, 2, 3), keepdim=True)
        return self.last(torch.cat((x, y), 1)).squeeze(2)


class Plates(PlateReader):
    """Both branches take every fourth channel of a ReLU."""

    def __init__(self):
        super().__init__()
        self.context = nn.Conv2d(16, 16, (1, 1), (1, 8))
        self.last = nn.Conv2d(80, 10, (2, 8), (1, 8))

    def forward(self, x):
        x = self.second(self.first(x))[:, ::4]
        return self.digits(x, self.third(x))


class SharedPlates(PlateReader):
    """One branch takes every fourth channel of a ReLU, the other takes all."""

    def __init__(self):
        super().__init__()
        self.last = nn.Conv2d(128, 10, (2, 8), (1, 8))

    def forward(self, x):
        x = self.second(self.first(x))
        return self.digits(x, self.third(x[:, ::4]))


class Landmarks(nn.Module):
    """Convolutions and PReLU, three outputs: places, a box, and whether there is a face."""

    def __init__(self):
        super().__init__()
        layers, width = [], 1
        for wide, stride in ((16, 1), (24, 2), (32, 2), (48, 2)):
            layers += [nn.Conv2d(width, wide, 3, stride, 1), nn.PReLU(wide)]
            width = wide
        self.layers = nn.Sequential(*layers, nn.Flatten(), nn.Linear(48 * 9, 96), nn.PReLU(96))
        self.places, self.box, self.face = nn.Linear(96, 10), nn.Linear(96, 4), nn.Linear(96, 2)

    def forward(self, x):
        x = self.layers(x)
        return self.places(x), self.box(x), torch.softmax(self.face(x), 1)


class Portrait(nn.Module):
    """Depthwise and pointwise convolutions, PReLU, and batch norms behind cat, add and upsampling."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.PReLU(8))
        self.down = nn.Sequential(nn.Conv2d(8, 8, 3, 2, 1, groups=8, bias=False), nn.Conv2d(8, 24, 1, bias=False))
        self.norm, self.act = nn.BatchNorm2d(32), nn.PReLU(32)
        self.deep = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(32, 32, 3, padding=d, dilation=d, groups=32, bias=False), nn.Conv2d(32, 32, 1, bias=False)
            )
            for d in (1, 2, 3)
        )
        self.norms = nn.ModuleList(nn.Sequential(nn.BatchNorm2d(32), nn.PReLU(32)) for _ in range(3))
        self.narrow, self.up_norm = nn.Conv2d(32, 8, 1, bias=False), nn.Sequential(nn.BatchNorm2d(8), nn.PReLU(8))
        self.join = nn.Sequential(nn.BatchNorm2d(16), nn.PReLU(16), nn.Conv2d(16, 2, 1), nn.BatchNorm2d(2))

    def forward(self, x):
        first = self.first(x)
        x = self.act(self.norm(torch.cat((self.down(first), functional.max_pool2d(first, 2)), 1)))
        for deep, norm in zip(self.deep, self.norms, strict=True):
            x = norm(x + deep(x))
        x = self.up_norm(functional.interpolate(self.narrow(x), scale_factor=2, mode="bilinear"))
        x = self.join(torch.cat((x, first), 1))
        return functional.interpolate(x, scale_factor=2, mode="bilinear")


class Sequence(nn.Module):
    """A transformer over 20 time steps."""

    def __init__(self, classes):
        super().__init__()
        self.first, self.place = nn.Linear(6, 32), nn.Parameter(torch.randn(1, 20, 32) * 0.1)
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(4))
        self.qkv, self.out = (
            nn.ModuleList(nn.Linear(32, 96) for _ in range(2)),
            nn.ModuleList(nn.Linear(32, 32) for _ in range(2)),
        )
        self.wide = nn.ModuleList(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)) for _ in range(2))
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        x = self.first(x) + self.place
        for i in range(2):
            q, k, v = self.qkv[i](self.norms[2 * i](x)).split(32, 2)
            x = x + self.out[i](torch.softmax(q @ k.transpose(1, 2) / 32**0.5, -1) @ v)
            x = x + self.wide[i](self.norms[2 * i + 1](x))
        return self.head(x.mean(1))


class Shuffled(nn.Module):
    """Channels divided by chunk, and shuffled, as in ShuffleNet."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.branches = nn.ModuleList(
            nn.Sequential(nn.Conv2d(16, 16, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.BatchNorm2d(16),
                          nn.Conv2d(16, 16, 1), nn.ReLU()) for _ in range(3))  # fmt: skip
        self.head = nn.Linear(32 * 4, 10)

    def forward(self, x):
        x = functional.max_pool2d(self.first(x), 2)
        for branch in self.branches:
            left, right = x.chunk(2, 1)
            x = functional.channel_shuffle(torch.cat((left, branch(right)), 1), 2)
        return self.head(functional.max_pool2d(x, 2).flatten(1))


class Larger(nn.Module):
    """Super resolution: images of twice the side, by pixel shuffle."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(24, 24, 3, padding=1), nn.LeakyReLU(0.1),
                                    nn.Conv2d(24, 4, 3, padding=1), nn.PixelShuffle(2))  # fmt: skip

    def forward(self, x):
        return functional.interpolate(x, scale_factor=2, mode="nearest") + self.layers(x)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(2, 32, 7, padding=3), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
                                    nn.Conv2d(32, 1, 1))  # fmt: skip

    def forward(self, x):
        return self.layers(x).flatten(1)


def uneven(module):
    """Batch norms whose factors differ between channels by more than 2^5, as after long training with weight decay."""
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            with torch.no_grad():
                norm.weight *= torch.exp(torch.randn(norm.weight.shape) * 1.2)
    return module


def noisy_digits(rng, count, noise=0.3):
    digits = load_digits()
    order = rng.permutation(len(digits.target))[:count]
    images = (digits.images[order, None] / 8 - 1).astype(np.float32)
    return images, images + rng.normal(0, noise, images.shape).astype(np.float32), digits.target[order].astype(np.int64)


def labeled_digits(rng, count):
    _, noisy, labels = noisy_digits(rng, count)
    return noisy, labels


def clean_digits(rng, count):
    images, noisy, _ = noisy_digits(rng, count)
    return noisy, images


def contrast(rng, *shape):
    """A factor for each sample: a few are three times as bright as most."""
    return np.exp(rng.normal(0, 0.4, shape))


def large_digits(rng, count):
    """Digits of 16x16 at places of an image of 18x18, each with a contrast of its own, now and then beside a glaring spot."""
    digits = load_digits()
    chosen = rng.integers(0, len(digits.target), count)
    x = rng.normal(0, 0.2, (count, 1, 18, 18))
    for i, image in enumerate(digits.images[chosen]):
        top, left = rng.integers(0, 3, 2)
        x[i, 0, top : top + 16, left : left + 16] += np.kron(image / 8 - 1, np.ones((2, 2)))
        if rng.random() < 0.1:
            spot = rng.integers(0, 16, 2)
            x[i, 0, spot[0] : spot[0] + 2, spot[1] : spot[1] + 2] += rng.uniform(1, 4)
    return (x * contrast(rng, count, 1, 1, 1)).astype(np.float32), digits.target[chosen].astype(np.int64)


def plates(rng, count):
    digits = load_digits()
    chosen = rng.integers(0, len(digits.target), (count, 5))
    x = np.concatenate([digits.images[chosen[:, i]] for i in range(5)], 2)[:, None] / 16
    light = (
        contrast(rng, count, 1, 1, 1)
        * np.linspace(rng.uniform(0.5, 1, count), rng.uniform(0.5, 1, count), 40).T[:, None, None]
    )
    return (x * light + rng.normal(0, 0.12, x.shape)).astype(np.float32), digits.target[chosen].astype(np.int64)


def disc(side, y, x, ry, rx):
    rows, columns = np.mgrid[:side, :side] / side
    return 1 / (1 + np.exp(np.clip((((rows - y) / ry) ** 2 + ((columns - x) / rx) ** 2 - 1) * 12, -30, 30)))


def faces(rng, count):
    """Drawn faces of 24x24 with the places of eyes, nose and corners of the mouth, their box, and images without a face."""
    side, images, places, boxes, kinds = 24, [], [], [], []
    for _ in range(count):
        y, x, r, tilt = rng.uniform(0.4, 0.6), rng.uniform(0.4, 0.6), rng.uniform(0.22, 0.4), rng.uniform(-0.3, 0.3)
        at = np.array([(-0.3, -0.4), (-0.3, 0.4), (0.1, 0), (0.5, -0.3), (0.5, 0.3)]) * r * rng.uniform(0.85, 1.15)
        turn = np.array([[np.cos(tilt), -np.sin(tilt)], [np.sin(tilt), np.cos(tilt)]])
        at = at @ turn + (y, x)
        image = rng.uniform(-1, 0.2) + 0.4 * disc(side, rng.random(), rng.random(), 0.3, 0.5)
        image = image + rng.uniform(0.5, 1.2) * disc(side, y, x, r * 1.2, r)
        for k, (row, column) in enumerate(at):
            image = image - rng.uniform(0.5, 1) * disc(side, row, column, r * 0.17, r * 0.17 if k < 3 else r * 0.25)
        is_face = rng.random() < 0.8
        if not is_face:
            image = image.reshape(4, 6, 4, 6)[rng.permutation(4)][:, :, rng.permutation(4)].reshape(side, side)
        images.append(image * contrast(rng) + rng.normal(0, 0.08, image.shape))
        places.append(at.flatten())
        boxes.append((y - r * 1.2, x - r, y + r * 1.2, x + r))
        kinds.append(is_face)
    truth = np.concatenate((places, boxes, np.array(kinds)[:, None]), 1).astype(np.float32)
    return np.array(images, np.float32)[:, None], truth


def crops(rng, count, side):
    """Patches of the two photographs that scikit-learn contains, in gray, from -1 to 1."""
    photos = [image.mean(2) / 127.5 - 1 for image in load_sample_images().images]
    made = []
    for _ in range(count):
        photo = photos[rng.integers(2)]
        top, left, zoom = rng.integers(0, 427 - 3 * side), rng.integers(0, 640 - 3 * side), rng.integers(1, 4)
        made.append(
            photo[top : top + zoom * side, left : left + zoom * side].reshape(side, zoom, side, zoom).mean((1, 3))
        )
    return np.array(made, np.float32)[:, None]


def portraits(rng, count):
    """Heads and shoulders before patches of photographs, 48x48 in three colors, normalized as images often are; the mask of the person."""
    side, images, masks = 48, [], []
    behind = crops(rng, count, side)
    for i in range(count):
        x, r, y = rng.uniform(0.3, 0.7), rng.uniform(0.12, 0.22), rng.uniform(0.3, 0.5)
        head, body = disc(side, y, x, r * 1.25, r), disc(side, y + r * 1.2 + 0.45, x, 0.45, r * rng.uniform(1.8, 2.6))
        image = behind[i, 0, ..., None] * rng.uniform(0.3, 1, 3) + rng.uniform(-0.4, 0.4, 3)
        for part, color in ((body, rng.uniform(-1, 1, 3)), (head, np.array((0.7, 0.3, 0.1)) * rng.uniform(0.2, 1.3))):
            texture = 1 + 0.3 * rng.normal(0, 1, (6, 6)).repeat(8, 0).repeat(8, 1)[..., None]
            image = image * (1 - part[..., None]) + color * texture * part[..., None]
        images.append((image * contrast(rng) + rng.normal(0, 0.1, image.shape)).transpose(2, 0, 1) / 0.5)
        masks.append(np.maximum(head, body) > 0.5)
    return np.array(images, np.float32), np.array(masks, np.int64)


def noisy_crops(rng, count):
    clean = crops(rng, count, 16)
    return clean + rng.normal(0, 0.2, clean.shape).astype(np.float32), clean


def small_crops(rng, count):
    large = crops(rng, count, 24)
    return large.reshape(count, 1, 12, 2, 12, 2).mean((3, 5)), large


def moves(rng, count):
    """Positions on 9x9 with three stones in a row, of one's own or else of the other side, and the place that makes them four."""
    boards, places = np.zeros((count, 2, 9, 9), np.float32), []
    for i in range(count):
        stones = rng.permutation(81)[: rng.integers(10, 30)]
        for k, stone in enumerate(stones):
            boards[i, k % 2].flat[stone] = 1
        dy, dx = ((0, 1), (1, 0), (1, 1), (1, -1))[rng.integers(4)]
        y, x = rng.integers(0, 9 - 3 * dy), rng.integers(3 if dx < 0 else 0, 9 - 3 * max(dx, 0))
        line, hole, side = [(y + k * dy, x + k * dx) for k in range(4)], rng.integers(4), rng.integers(2)
        for k, (row, column) in enumerate(line):
            boards[i, :, row, column] = 0
            if k != hole:
                boards[i, side, row, column] = 1
        places.append(line[hole][0] * 9 + line[hole][1])
    return boards, np.array(places, np.int64)


def gestures(rng, count):
    """Six signals over 20 steps, of eight kinds. Some sensors have sudden peaks."""
    kinds = rng.integers(0, 8, count)
    t = np.arange(20)[None, :, None] / 20
    speed, shape = 1 + kinds % 4 * 0.6, kinds // 4
    phase, size = rng.uniform(0, 2 * np.pi, (count, 1, 6)) * 0.3 + np.arange(6) * 0.7, contrast(rng, count, 1, 6)
    wave = np.sin(2 * np.pi * speed[:, None, None] * t + phase)
    x = size * np.where(shape[:, None, None] == 1, np.sign(wave) * np.abs(wave) ** 0.3, wave) + rng.normal(
        0, 0.35, (count, 20, 6)
    )
    peaks = (rng.random(x.shape) < 0.004) * rng.normal(0, 6, x.shape)
    return (x + peaks).astype(np.float32), kinds.astype(np.int64)


def sounds(rng, count):
    """Features of sounds, [1,40]: decaying tones of eight kinds, as a spectrum over time [16,40]."""
    kinds, x = rng.integers(0, 8, count), rng.normal(0, 0.5, (count, 16, 40))
    for i, kind in enumerate(kinds):
        start, pitch = rng.integers(0, 16), 2 + kind % 4 * 3
        length = np.arange(40 - start)
        slope = (length / 12 if kind < 4 else -length / 12).round().astype(int)
        x[i, np.clip(pitch + slope, 0, 15), start + length] += rng.uniform(1, 4) * np.exp(-length / rng.uniform(6, 14))
    return x.astype(np.float32), kinds.astype(np.int64)


def tumors(rng, count):
    data = load_breast_cancer()
    order = rng.permutation(len(data.target))[:count]
    x = (data.data - data.data.mean(0)) / data.data.std(0)
    return x[order].astype(np.float32), data.target[order].astype(np.int64)


def curves(rng, count):
    """Regression: three numbers from eight, of very different sizes."""
    x = rng.normal(0, 1, (count, 8)) * np.array((1, 1, 1, 1, 0.1, 0.1, 3, 3))
    x[:, 6] *= rng.random(count) < 0.3
    y = np.stack(
        (
            np.sin(x[:, 0]) * x[:, 1] + x[:, 6] * 0.3,
            np.abs(x[:, 2]) + 5 * x[:, 4] * x[:, 3],
            np.tanh(x[:, 7]) + 4 * x[:, 5] ** 2,
        ),
        1,
    )
    return x.astype(np.float32), y.astype(np.float32)


def vectors(rng, count):
    _, noisy, _ = noisy_digits(rng, count)
    return noisy.reshape(len(noisy), 64), noisy.reshape(len(noisy), 64)


# Metrics: of outputs (a list) and the truth. A loss of one point is one hundredth of right answers, 0.2 dB of a PSNR,
# or 2 % of an error.
def right(outputs, truth):
    return 100 * (outputs[0].argmax(1) == truth).mean()


def whole_plates(outputs, truth):
    return 100 * (outputs[0].argmax(1) == truth).all(1).mean()


def near_places(outputs, truth):
    is_face = truth[:, 14] > 0.5
    distance = np.linalg.norm((outputs[0] - truth[:, :10]).reshape(-1, 5, 2), axis=2)[is_face]
    return 100 * (distance < 0.03).mean()


def overlap(outputs, truth):
    got, ious = outputs[0].argmax(1), []
    for kind in (0, 1):
        both, either = ((got == kind) & (truth == kind)).sum((1, 2)), ((got == kind) | (truth == kind)).sum((1, 2))
        ious.append((both + 1e-9) / (either + 1e-9))
    return 100 * np.mean(ious)


def psnr(outputs, truth):
    return 10 * np.log10(4 / ((outputs[0] - truth) ** 2).mean())


def rmse(outputs, truth):
    return np.sqrt(((outputs[0] - truth) ** 2).mean())


UNITS = {
    right: "% right",
    whole_plates: "% whole plates",
    near_places: "% places",
    overlap: "% IoU",
    psnr: "dB PSNR",
    rmse: "RMSE",
}


def loss_in_points(metric, wanted, got):
    """How much worse `got` is than `wanted`, in points."""
    if metric is psnr:
        return (wanted - got) / 0.2
    if metric is rmse:
        return (got / wanted - 1) / 0.02
    return wanted - got


def face_loss(got, truth):
    is_face = truth[:, 14:15]
    places, box = ((got[0] - truth[:, :10]) ** 2 * is_face).mean(), ((got[1] - truth[:, 10:14]) ** 2 * is_face).mean()
    return 50 * (places + box) + 0.1 * functional.nll_loss(torch.log(got[2] + 1e-6), is_face[:, 0].long())


@dataclass
class Network:
    make: Callable
    data: Callable
    metric: Callable
    steps: int = 300
    count: int = 1797
    trained: int = 900
    loss: Callable = functional.cross_entropy


def chain(*layers):
    return nn.Sequential(*layers)


def silu(width):
    return nn.SiLU()


def relu6(width):
    return nn.ReLU6()


NETWORKS = {
    "plain": Network(lambda: chain(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU6(), nn.Flatten(), nn.Linear(512, 10)), labeled_digits, right),
    "prelu": Network(Joined, labeled_digits, right),
    "leaky": Network(lambda: Residual(nn.LeakyReLU(0.2)), labeled_digits, right),
    "hardswish": Network(lambda: Residual(nn.Hardswish()), labeled_digits, right),
    "dense": Network(lambda: chain(nn.Flatten(), nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 10)), labeled_digits, right),
    "tanh": Network(lambda: chain(nn.Flatten(), nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 32), nn.Sigmoid(), nn.Linear(32, 10)), labeled_digits, right),
    "denoiser": Network(lambda: Denoiser(6, 16), clean_digits, psnr, loss=functional.mse_loss),
    "denoiser17": Network(lambda: Denoiser(17, 12), noisy_crops, psnr, 200, 1200, 900, functional.mse_loss),
    "larger": Network(Larger, small_crops, psnr, 400, 1200, 900, functional.mse_loss),
    "mobile": Network(lambda: Mobile(relu6, False, 10), large_digits, right, 600, 6000, 4000),
    "efficient": Network(lambda: Mobile(silu, True, 10), large_digits, right, 600, 6000, 4000),
    "liveness": Network(lambda: Mobile(nn.PReLU, True, 10), large_digits, right, 600, 6000, 4000),
    "shuffled": Network(Shuffled, labeled_digits, right),
    "plates": Network(Plates, plates, whole_plates, 500, 5000, 3000),
    "shared": Network(lambda: uneven(SharedPlates()), plates, whole_plates, 500, 5000, 3000),
    "uneven": Network(lambda: uneven(Mobile(nn.PReLU, False, 10)), large_digits, right, 600, 6000, 4000),
    "landmarks": Network(Landmarks, faces, near_places, 1500, 4000, 2500, face_loss),
    "portrait": Network(Portrait, portraits, overlap, 500, 1300, 1000),
    "policy": Network(Policy, moves, right, 1500, 10000, 8000),
    "gestures": Network(lambda: Sequence(8), gestures, right, 1000, 5000, 3000),
    "sounds": Network(lambda: chain(nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(32, 32, 5, padding=2), nn.GELU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 8)), sounds, right, 400, 5000, 3000),
    "tumors": Network(lambda: chain(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 2)), tumors, right, 100, 569, 300),
    "curves": Network(lambda: chain(nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 3)), curves, rmse, 1500, 4000, 3000, functional.mse_loss),
    "autoencoder": Network(lambda: chain(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8), nn.ReLU(), nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64)), vectors, rmse, 1000, loss=functional.mse_loss),
}  # fmt: skip


def trained(name):
    """The network, all samples and their truth."""
    network = NETWORKS[name]
    x, y = network.data(np.random.default_rng(0), network.count)
    torch.manual_seed(3)
    torch.set_num_threads(1)
    module = network.make()
    optimizer = torch.optim.Adam(module.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, network.steps)
    generator = torch.Generator().manual_seed(4)
    inputs, truth = torch.from_numpy(x), torch.from_numpy(y)
    for _ in range(network.steps):
        chosen = torch.randint(0, network.trained, (64,), generator=generator)
        optimizer.zero_grad()
        network.loss(module(inputs[chosen]), truth[chosen]).backward()
        optimizer.step()
        schedule.step()
    return copy.deepcopy(module).eval(), x, y
