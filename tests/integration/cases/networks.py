"""The architectures of the cases, written from their public descriptions: DS-CNN (Zhang et al. 2017), ResNet for CIFAR-10 (He et al. 2016), the ResNet-8 of
MLPerf Tiny, MobileNet v2 (Sandler et al. 2018), an LSTM. Weights are random, with the seed that the recipe sets."""

import torch
from torch import nn


def normalized(convolution, activation=None):
    layers = [convolution, nn.BatchNorm2d(convolution.out_channels)]
    return nn.Sequential(*layers, activation) if activation else nn.Sequential(*layers)


def depthwise(channels, activation, stride=1):
    return normalized(nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False), activation)


def pointwise(inputs, outputs, activation=None):
    return normalized(nn.Conv2d(inputs, outputs, 1, bias=False), activation)


class DsCnn(nn.Module):
    """Keyword spotting: 49 frames of 10 coefficients -> 12 words. A 10x4 convolution, then four blocks of a depthwise and a pointwise
    convolution."""

    def __init__(self, channels=64, words=12):
        super().__init__()
        self.first = normalized(nn.Conv2d(1, channels, (10, 4), 2, (5, 1), bias=False), nn.ReLU())
        self.drop = nn.Dropout(0.2)
        self.blocks = nn.Sequential(
            *(nn.Sequential(depthwise(channels, nn.ReLU()), pointwise(channels, channels, nn.ReLU())) for _ in range(4))
        )
        self.words = nn.Linear(channels, words)

    def features(self, x):
        return self.blocks(self.first(x))

    def forward(self, x):
        """Returns logits. The mean over the image is a separate operator."""
        return self.words(self.blocks(self.drop(self.first(x))).mean((2, 3)))


class DsCnnWithSoftmax(DsCnn):
    """The variant of MLPerf Tiny: an average pool of the whole image, and probabilities."""

    def __init__(self):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        return torch.softmax(self.words(self.pool(self.features(x)).flatten(1)), -1)


class Residual(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inputs, outputs, stride, shortcut):
        super().__init__()
        self.body = nn.Sequential(
            normalized(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.ReLU()),
            normalized(nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)),
        )
        self.shortcut = shortcut

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class Resnet8(nn.Module):
    """32x32 images -> probabilities of 10 classes. Where the image gets smaller, the shortcut is a 1x1 convolution."""

    def __init__(self):
        super().__init__()
        self.first = normalized(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.ReLU())
        self.blocks = nn.Sequential(
            Residual(16, 16, 1, nn.Identity()),
            Residual(16, 32, 2, nn.Conv2d(16, 32, 1, 2)),
            Residual(32, 64, 2, nn.Conv2d(32, 64, 1, 2)),
        )
        self.pool = nn.AvgPool2d(8)
        self.classes = nn.Linear(64, 10)

    def forward(self, x):
        return torch.softmax(self.classes(self.pool(self.blocks(self.first(x))).flatten(1)), -1)


class Padded(nn.Module):
    """The shortcut without parameters: every second pixel, with channels of zeros on both sides."""

    def __init__(self, more):
        super().__init__()
        self.more = more

    def forward(self, x):
        return nn.functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.more, self.more))


class Resnet20(nn.Module):
    """32x32 images -> 10 logits: three stages of three blocks."""

    def __init__(self):
        super().__init__()
        blocks, inputs = [], 16
        for stage, outputs in enumerate((16, 32, 64)):
            for block in range(3):
                smaller = stage > 0 and block == 0
                shortcut = Padded((outputs - inputs) // 2) if smaller else nn.Identity()
                blocks.append(Residual(inputs, outputs, 2 if smaller else 1, shortcut))
                inputs = outputs
        self.first = normalized(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.ReLU())
        self.blocks = nn.Sequential(*blocks)
        self.classes = nn.Linear(64, 10)

    def forward(self, x):
        y = self.blocks(self.first(x))
        return self.classes(nn.functional.avg_pool2d(y, y.shape[3]).flatten(1))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        hidden = inputs * expansion
        wide = [pointwise(inputs, hidden, nn.ReLU6())] if expansion > 1 else []
        self.body = nn.Sequential(*wide, depthwise(hidden, nn.ReLU6(), stride), pointwise(hidden, outputs))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


class MobilenetV2(nn.Module):
    """224x224 images -> 1000 logits. Rows of (expansion, channels, blocks, stride of the first block)."""

    STAGES = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]

    def __init__(self):
        super().__init__()
        layers, inputs = [normalized(nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.ReLU6())], 32
        for expansion, outputs, blocks, stride in self.STAGES:
            for block in range(blocks):
                layers.append(InvertedResidual(inputs, outputs, stride if block == 0 else 1, expansion))
                inputs = outputs
        self.features = nn.Sequential(*layers, pointwise(inputs, 1280, nn.ReLU6()))
        self.classes = nn.Linear(1280, 1000)

    def forward(self, x):
        return self.classes(nn.functional.adaptive_avg_pool2d(self.features(x), 1).flatten(1))


class Lstm(nn.Module):
    """An LSTM: sequences of vectors with 16 elements -> 8 elements."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(16, 32, batch_first=True)
        self.out = nn.Linear(32, 8)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


class Twice(nn.Module):
    def forward(self, x):
        return x + x


def settled(model, pictures):
    """The model in eval mode. The batch norms have the statistics of these inputs."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None
    model.train()
    with torch.no_grad():
        model(pictures)
    return model.eval()


def trained(model, templates, steps, rate, noise):
    """The model in eval mode, after some training steps on noisy copies of each class's template. One thread, because two mostly wait for
    each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    model.train()
    for _ in range(steps):
        y = torch.randperm(len(templates))
        loss = nn.functional.cross_entropy(model(templates[y] + noise * torch.randn_like(templates[y])), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    settled(model, templates + noise * torch.randn_like(templates))
    torch.set_num_threads(threads)
    return model
