"""Reads inputs and calibration samples that torch.save() wrote.

A file of torch.save() can hold objects of any class, and code of the file runs when such an object is read. So data are read without them,
unless the user says --trust_data.
"""

import pickle
from pathlib import Path
from typing import Any

from carina_arm.scripts.options import option

__all__ = ["TRUST_DATA", "read_data"]

TRUST_DATA = option(
    "--trust_data",
    action="store_true",
    help="Also read data files of torch.save() with objects of any class, which can run code. Default: tensors, numbers, strings, lists, tuples and dicts only",
)


def read_data(path: str | Path, *, trusted: bool) -> Any:
    """The object in a file of torch.save(). Raises: OSError, ValueError for a file that is damaged or, unless it is trusted, has objects of
    other classes."""
    import torch  # --help needs no PyTorch

    try:
        return torch.load(path, weights_only=not trusted)
    except pickle.UnpicklingError as error:
        reason = str(error).strip().splitlines()
        if trusted:
            raise ValueError(f"{path} is no file of torch.save(): {reason[0] if reason else error}") from error
        raise ValueError(
            f"{path} holds more than tensors, numbers, strings, lists, tuples and dicts, or is damaged. Such a file can run code when it is read: "
            "save plain tensors, or add --trust_data if you trust the file"
        ) from error
    except (RuntimeError, EOFError) as error:
        raise ValueError(f"{path} is no file of torch.save(): {error}") from error
