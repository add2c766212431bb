"""The names of ExecuTorch's Arm backend, implemented by Carina: the package carina_arm, under the name that scripts import.

``carina.arm.partitioner`` is the same module as ``carina_arm.partitioner``, so that a class is the same under both names.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import carina_arm

if TYPE_CHECKING:
    from carina_arm import *  # noqa: F403

__all__ = carina_arm.__all__  # noqa: PLE0605


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``carina.arm.NAME`` as ``carina_arm.NAME``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The specification of the alias; None for other modules and for names that carina_arm does not have."""
        if not fullname.startswith(__name__ + "."):
            return None
        real = "carina_arm" + fullname.removeprefix(__name__)
        return importlib.util.spec_from_loader(fullname, self, origin=real) if importlib.util.find_spec(real) else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Returns the module of carina_arm. The import system sets the alias's specification on it."""
        assert spec.origin is not None
        module = importlib.import_module(spec.origin)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restores the module's own specification. The module itself has already run."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


sys.meta_path.append(_Alias())


def __getattr__(name: str) -> Any:
    try:
        return getattr(carina_arm, name)
    except AttributeError:
        raise AttributeError(f"module 'carina.arm' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return dir(carina_arm)
