"""Trained for some steps on noisy copies of one image per class. calibration.npz has the calibration images with the float logits."""

import torch

from cases.networks import Resnet20, trained
from cases.peers import Case


def case():
    classes = torch.randn(10, 3, 32, 32)
    model = trained(Resnet20(), classes, steps=25, rate=3e-3, noise=0.5)
    x = classes[torch.arange(12) % 10] + 0.5 * torch.randn(12, 3, 32, 32)
    with torch.no_grad():
        logits = model(x)
    calibration = {"x": x.numpy(), "float_logits": logits.numpy()}
    return Case(model, (x[:1],), [(sample,) for sample in x.split(1)], more={"calibration": calibration})
