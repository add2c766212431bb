"""The calibration samples of `--calibration_data`."""

from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from carina_arm.scripts.data_files import read_data

__all__ = ["MAX_SAMPLES", "check_sample", "load_samples"]

MAX_SAMPLES = 1000  # per folder, as in the Arm backend's script
_SUFFIXES = {".pt", ".pth"}


def as_inputs(sample: object) -> tuple[Any, ...]:
    """A saved sample as positional inputs. Raises: ValueError if it is not a sample."""
    if isinstance(sample, tuple | list):
        return tuple(sample)
    if isinstance(sample, torch.Tensor):
        return (sample,)
    if isinstance(sample, dict):
        if "pixel_values" in sample:
            return (sample["pixel_values"],)
        raise ValueError("Calibration sample dict must contain 'pixel_values' key.")
    raise ValueError("Calibration sample must be a Tensor, tuple, list, or dict with 'pixel_values'.")


def _read(path: Path, *, trusted: bool) -> tuple[Any, ...]:
    if path.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"Unsupported calibration file type: {path}")
    return as_inputs(read_data(path, trusted=trusted))


def load_samples(path: str | None, *, trusted: bool) -> list[tuple[Any, ...]] | None:
    """The samples of a .pt or .pth of torch.save(), or of a folder of such files in the order of their paths. None without a path.

    trusted: objects of any class are read; see data_files.
    Raises: ValueError for another path, a folder without such files, a file of another kind.
    """
    if path is None:
        return None
    place = Path(path)
    if place.is_file():
        return [_read(place, trusted=trusted)]
    if not place.is_dir():
        raise ValueError(f"Calibration data path '{path}' is not a file or directory.")
    files = sorted(str(file) for file in place.rglob("*") if file.is_file() and file.suffix.lower() in _SUFFIXES)
    if not files:
        raise ValueError(f"No supported calibration files found in directory '{path}'.")
    return [_read(Path(file), trusted=trusted) for file in files[:MAX_SAMPLES]]


def check_sample(sample: tuple[Any, ...], example: tuple[Any, ...]) -> list[Any]:
    """The leaves of a sample. Raises: ValueError unless it has the number, shapes and types of the example inputs."""
    if len(sample) != len(example):
        raise ValueError(f"Calibration sample has {len(sample)} inputs, expected {len(example)}.")
    got, wanted = pytree.tree_flatten(sample)[0], pytree.tree_flatten(example)[0]
    if len(got) != len(wanted):
        raise ValueError(f"Calibration sample has {len(got)} tensors, expected {len(wanted)}.")
    for place, (actual, expected) in enumerate(zip(got, wanted, strict=True)):
        if isinstance(expected, torch.Tensor) and isinstance(actual, torch.Tensor):
            if expected.shape != actual.shape:
                raise ValueError(
                    f"Calibration sample input {place} shape {list(actual.shape)} does not match expected shape {list(expected.shape)}."
                )
        elif type(expected) is not type(actual):
            raise ValueError(
                f"Calibration sample input {place} type {type(actual).__name__} does not match expected type {type(expected).__name__}."
            )
    return got
