"""Converts inputs of torch.save() to .npy files for `carina run`."""

from pathlib import Path

import numpy as np
import torch
from torch.utils import _pytree as pytree

from carina_arm.scripts.calibration import as_inputs

__all__ = ["write_inputs"]


def write_inputs(path: str, folder: Path) -> list[Path]:
    """Writes one file in `folder` for each tensor of the inputs in `path`, in order. Raises: OSError, ValueError if the file has no inputs."""
    leaves = pytree.tree_flatten(as_inputs(torch.load(path, weights_only=False)))[0]
    files = []
    for place, leaf in enumerate(leaves):
        files.append(folder / f"input_{place}.npy")
        np.save(files[-1], torch.as_tensor(leaf).numpy())
    return files
