"""R-Net and O-Net of MTCNN, which say whether a window is a face, on scikit-image's faces and other windows."""

import numpy as np
import torch
from torch import nn
from zoo_model import Entry, Trained, file_of

CALIBRATED = 40


class Net(nn.Module):
    """The layers of facenet_pytorch's rnet.pt and onet.pt, by the names that they have there. R-Net has three convolutions, O-Net four."""

    def __init__(self, widths, kernels, flat, dense):
        super().__init__()
        inputs, self.depth = (3, *widths), len(widths)
        for i, width in enumerate(widths):
            setattr(self, f"conv{i + 1}", nn.Conv2d(inputs[i], width, kernels[i]))
            setattr(self, f"prelu{i + 1}", nn.PReLU(width))
        last = self.depth + 1
        setattr(self, f"dense{last}", nn.Linear(flat, dense))
        setattr(self, f"prelu{last}", nn.PReLU(dense))
        for k, outputs in enumerate((2, 4, 10)[: self.depth - 1]):
            setattr(self, f"dense{last + 1}_{k + 1}", nn.Linear(dense, outputs))

    def forward(self, x):
        pools = ((3, 2), (3, 2), (2, 2))
        for i in range(self.depth):
            x = getattr(self, f"prelu{i + 1}")(getattr(self, f"conv{i + 1}")(x))
            if i < self.depth - 1:
                x = nn.functional.max_pool2d(x, *pools[i], ceil_mode=True)
        last = self.depth + 1
        x = x.permute(0, 3, 2, 1).flatten(1)
        x = getattr(self, f"prelu{last}")(getattr(self, f"dense{last}")(x))
        kind = torch.softmax(getattr(self, f"dense{last + 1}_1")(x), 1)
        return kind, *(getattr(self, f"dense{last + 1}_{k}")(x) for k in range(2, self.depth))


def windows(side):
    images = np.load(file_of("skimage/data/lfw_subset.npy")).astype(np.float32)  # 100 faces, 100 others, 25x25, 0 to 1
    x = nn.functional.interpolate(torch.from_numpy(images)[:, None], (side, side), mode="bilinear", antialias=True)
    x = ((x * 255 - 127.5) / 128).repeat(1, 3, 1, 1).numpy()
    order = np.random.default_rng(0).permutation(200)
    return x[order], (order < 100).astype(np.int64)


def right(outputs, truth):
    return 100 * (outputs[0].argmax(1) == truth).mean()


def load(name, net, side):
    net.load_state_dict(torch.load(file_of(f"facenet_pytorch/data/{name}.pt"), map_location="cpu", weights_only=True))
    x, truth = windows(side)
    calibration, test = slice(None, CALIBRATED), slice(CALIBRATED, None)
    return Trained(
        name,
        "face detection",
        "facenet-pytorch 2.6.0",
        "MIT",
        net.eval(),
        x[calibration],
        x[test],
        truth[test],
        right,
        "% right",
    )


MODELS = [
    Entry("rnet", lambda: load("rnet", Net((28, 48, 64), (3, 3, 2), 576, 128), 24)),
    Entry("onet", lambda: load("onet", Net((32, 64, 64, 128), (3, 3, 3, 2), 1152, 256), 48)),
]
