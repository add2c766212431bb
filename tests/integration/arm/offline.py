"""Prevents downloads while cases are captured: pretrained models keep random weights, and their batch norms get statistics."""

import contextlib
import importlib.util
import os
import sys

import torch

LIBRARIES = []  # torch drops a Library's registrations when the object is deleted


class NoWeights(dict):
    """Replaces a file of weights."""


def settle(model):
    """With random weights, activations are near 1e-10. One training pass gives the batch norms the statistics of noise images."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    momenta = [m.momentum for m in norms]
    for m in norms:
        m.momentum = 1.0
    model.train()
    with torch.no_grad(), contextlib.suppress(Exception):  # a model with another input shape keeps its statistics
        model(torch.randn(2, 3, 224, 224))
    for m, momentum in zip(norms, momenta):
        m.momentum = momentum
    model.eval()


def torchvision_without_weights():
    if importlib.util.find_spec("torchvision") is None:
        return
    with contextlib.suppress(Exception):  # already defined if torchvision was built for this torch
        library = torch.library.Library("torchvision", "DEF")
        LIBRARIES.append(library)
        for name in ("nms", "qnms"):
            library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    from torchvision.models._api import WeightsEnum

    WeightsEnum.get_state_dict = lambda self, *_, **__: NoWeights()
    load = torch.nn.Module.load_state_dict

    def load_or_settle(self, state, *rest, **options):
        return settle(self) if isinstance(state, NoWeights) else load(self, state, *rest, **options)

    torch.nn.Module.load_state_dict = load_or_settle


def timm_without_weights():
    if importlib.util.find_spec("timm") is None:
        return
    for name in ("timm.models._builder", "timm.models.deit", "timm.models.vision_transformer"):
        importlib.import_module(name)
    sys.modules["timm.models._builder"].load_pretrained = lambda *_, **__: None


def hub_without_weights():
    """The neural super sampling model downloads a file of weights from the hub and loads it."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return
    import huggingface_hub

    huggingface_hub.hf_hub_download = lambda *_, **__: NoWeights()
    load = torch.load
    torch.load = lambda file, *rest, **options: file if isinstance(file, NoWeights) else load(file, *rest, **options)


def no_downloads():
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    torchvision_without_weights()
    timm_without_weights()
    hub_without_weights()

    def reject(*_, **__):
        raise RuntimeError("downloads are off while cases are captured")

    torch.hub.load_state_dict_from_url = reject
    torch.hub.download_url_to_file = reject
