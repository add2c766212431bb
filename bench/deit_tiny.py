"""Exports timm's deit_tiny_patch16_224, with the weights that it starts with, and an image of noise to calibrate it.

usage: deit_tiny.py PACKAGES OUT.pt2 OUT.npy        PACKAGES: where pip put timm and torchvision

Cycles do not depend on the values of weights, except for how well they compress; trained weights are not on the registry.
"""

import sys

packages, model_file, image_file = sys.argv[1:]
sys.path.insert(0, packages)

import numpy as np
import torch

# A CPU torch lacks torchvision's compiled operators, whose schemas it wants when it is imported.
schemas = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    schemas.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import timm

torch.manual_seed(0)
model = timm.create_model("deit_tiny_patch16_224", pretrained=False).eval()
image = torch.randn(1, 3, 224, 224)
torch.export.save(torch.export.export(model, (image,), strict=True), model_file)
np.save(image_file, image.numpy())
