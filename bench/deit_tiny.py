"""Exports timm's deit_tiny_patch16_224 with its initial weights, and an image of noise for calibration.

usage: deit_tiny.py PACKAGES OUT.pt2 OUT.npy        PACKAGES: pip's folder with timm and torchvision

Cycles depend on weights only through their compression. Trained weights are not in the package registry.
"""

import sys

packages, model_file, image_file = sys.argv[1:]
sys.path.insert(0, packages)

import numpy as np
import torch

# A CPU build of torch lacks torchvision's compiled operators, but torchvision needs their schemas at import.
schemas = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    schemas.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import timm

torch.manual_seed(0)
model = timm.create_model("deit_tiny_patch16_224", pretrained=False).eval()
image = torch.randn(1, 3, 224, 224)
torch.export.save(torch.export.export(model, (image,), strict=True), model_file)
np.save(image_file, image.numpy())
