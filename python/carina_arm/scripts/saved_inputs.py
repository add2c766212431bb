"""Converts inputs of torch.save() to .npy files for `carina run`."""

from pathlib import Path

import numpy as np
import torch
from torch.utils import _pytree as pytree

from carina_arm.scripts.calibration import as_inputs
from carina_arm.scripts.data_files import read_data

__all__ = ["write_inputs"]


def write_inputs(path: str, folder: Path, *, trusted: bool) -> list[Path]:
    """Writes one file in `folder` for each tensor of the inputs in `path`, in order. trusted: objects of any class are read; see data_files.
    Raises: OSError, ValueError if the file has no inputs.
    """
    leaves = pytree.tree_flatten(as_inputs(read_data(path, trusted=trusted)))[0]
    files = []
    for place, leaf in enumerate(leaves):
        files.append(folder / f"input_{place}.npy")
        np.save(files[-1], torch.as_tensor(leaf).numpy())
    return files
