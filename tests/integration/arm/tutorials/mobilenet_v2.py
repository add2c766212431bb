"""mobilenet_v2 as torchvision builds it, with random weights from the generator's seed. The test environment has no torchvision."""

from torch import nn

# expansion, channels, blocks, stride (Sandler et al. 2018, table 2)
BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def convolution(inputs, outputs, kernel=1, stride=1, groups=1):
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU6(),
    ]


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        hidden = inputs * expansion
        wider = convolution(inputs, hidden) if expansion > 1 else []
        self.steps = nn.Sequential(
            *wider, *convolution(hidden, hidden, 3, stride, hidden), *convolution(hidden, outputs)[:2]
        )
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.steps(x) if self.adds else self.steps(x)


def mobilenet_v2():
    layers, channels = convolution(3, 32, 3, 2), 32
    for expansion, outputs, count, stride in BLOCKS:
        for block in range(count):
            layers.append(Block(channels, outputs, stride if block == 0 else 1, expansion))
            channels = outputs
    layers += [
        *convolution(channels, 1280),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(1280, 1000),
    ]
    return nn.Sequential(*layers).eval()
