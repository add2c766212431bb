"""Exports a model with up to 125 million parameters with its initial weights, and an input for calibration.

usage: large_models.py NAME OUT.pt2 OUT.npy        NAME: one of MODELS; needs torchvision (tests/integration/setup.sh arm)
"""

import sys
from functools import partial

import numpy as np
import torch
from torch import nn

# A CPU build of torch may lack torchvision's compiled operators, but torchvision needs their schemas at import.
if not hasattr(torch.ops.torchvision, "nms"):
    schemas = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        schemas.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import torchvision.models as zoo


def perceptron():
    """125 million weights in 20 layers."""
    return nn.Sequential(*[layer for _ in range(20) for layer in (nn.Linear(2500, 2500), nn.ReLU())])


def chain(layers):
    """A chain of `layers` small layers: convolutions and relus, alternating."""
    return nn.Sequential(*[layer for _ in range(layers // 2) for layer in (nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())])


def wide(width):
    """Five square layers."""
    return nn.Sequential(*[layer for _ in range(5) for layer in (nn.Linear(width, width), nn.ReLU())])


def convolutions():
    """Eight convolutions of 128 channels."""
    layers = [nn.Conv2d(3, 128, 3, padding=1)]
    for _ in range(7):
        layers += [nn.ReLU(), nn.Conv2d(128, 128, 3, padding=1)]
    return nn.Sequential(*layers)


def vit_small():
    """ViT-S/16: 22 million parameters."""
    return zoo.VisionTransformer(
        image_size=224, patch_size=16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536
    )


MODELS = {
    "resnet18": (zoo.resnet18, (1, 3, 224, 224)),
    "resnet50": (zoo.resnet50, (1, 3, 224, 224)),
    "mlp125": (perceptron, (1, 2500)),
    "vit_small": (vit_small, (1, 3, 224, 224)),
    "vit_base": (zoo.vit_b_16, (1, 3, 224, 224)),
    "mobilenet_v2_896": (zoo.mobilenet_v2, (1, 3, 896, 896)),
    "convolutions_1024": (convolutions, (1, 3, 1024, 1024)),
    **{f"chain_{layers}": (partial(chain, layers), (1, 8, 8, 8)) for layers in (100, 800)},
    **{f"wide_{width}": (partial(wide, width), (1, width)) for width in (1000, 4000)},
}


def main():
    name, model_file, input_file = sys.argv[1:]
    make, shape = MODELS[name]
    torch.manual_seed(0)
    example = torch.randn(*shape)
    torch.export.save(torch.export.export(make().eval(), (example,), strict=False), model_file)
    np.save(input_file, example.numpy())


if __name__ == "__main__":
    main()
