"""Labeled samples in one folder per class: the layout of ImageNet's validation set."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

__all__ = ["ImageFolder"]

# The Arm backend's evaluator scales the shorter side to 256 pixels, crops the central 224x224 pixels, and normalizes
# with these statistics.
_SHORTER_SIDE, _CROP = 256, 224
_MEAN, _DEVIATION = (0.484, 0.454, 0.403), (0.225, 0.220, 0.220)


def _read_image(path: Path) -> torch.Tensor:
    """An image as [3,224,224] float32. Raises: ImportError without Pillow, OSError if the file is not an image."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            f"{path}: images need the package Pillow: pip install Pillow; .npy and .pt samples do not"
        ) from error
    with Image.open(path) as file:
        image = file.convert("RGB")
    scale = _SHORTER_SIDE / min(image.size)
    image = image.resize(
        (max(_SHORTER_SIDE, int(image.width * scale)), max(_SHORTER_SIDE, int(image.height * scale))),
        Image.Resampling.BILINEAR,
    )
    left, top = round((image.width - _CROP) / 2), round((image.height - _CROP) / 2)
    pixels = np.asarray(image.crop((left, top, left + _CROP, top + _CROP)), np.float32) / 255
    return (
        torch.from_numpy((pixels - np.array(_MEAN, np.float32)) / np.array(_DEVIATION, np.float32))
        .permute(2, 0, 1)
        .contiguous()
    )


def _read_array(path: Path) -> torch.Tensor:
    return torch.from_numpy(np.load(path, allow_pickle=False))


def _read_tensor(path: Path) -> torch.Tensor:
    return torch.as_tensor(torch.load(path, weights_only=True))


_READERS: dict[str, Callable[[Path], torch.Tensor]] = {
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"), _read_image),
    ".npy": _read_array,
    ".pt": _read_tensor,
    ".pth": _read_tensor,
}


class ImageFolder(Dataset[Any]):
    """The samples below FOLDER/CLASS/, with classes in the order of their names. A sample is [C,H,W], or the network's input without its
    batch axis, with the index of its class.

    Images are scaled, cropped and normalized as for ImageNet. .npy, .pt and .pth samples are not changed.
    Raises: FileNotFoundError without such a folder, ValueError without samples.
    """

    def __init__(self, folder: str) -> None:
        root = Path(folder)
        if not root.is_dir():
            raise FileNotFoundError(f"Directory: {folder} does not exist.")
        self.classes = sorted(place.name for place in root.iterdir() if place.is_dir())
        self._samples = [
            (path, label)
            for label, name in enumerate(self.classes)
            for path in sorted((root / name).rglob("*"))
            if path.suffix.lower() in _READERS
        ]
        if not self._samples:
            raise ValueError(f"{folder}: no samples: expected FOLDER/CLASS/FILE, of {', '.join(_READERS)}")

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path, label = self._samples[index]
        return _READERS[path.suffix.lower()](path), label
