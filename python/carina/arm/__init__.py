"""The names of ExecuTorch's Arm backend, implemented by Carina: the package carina_arm, under the name that scripts import.

Each module of this package is one line that imports the names of the module of carina_arm with the same name
(scripts/generate_arm_modules.py). A class is therefore the same under both names.
"""

from __future__ import annotations

from typing import Any

import carina_arm

__all__ = carina_arm.__all__  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    try:
        return getattr(carina_arm, name)  # imported when it is first used, as some need PyTorch
    except AttributeError:
        raise AttributeError(f"module 'carina.arm' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return dir(carina_arm)
