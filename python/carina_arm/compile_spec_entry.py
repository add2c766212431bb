"""Key and value of a compile spec, in ExecuTorch's form."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Protocol


class CompileSpecEntry(Protocol):
    """A class with the fields of ExecuTorch's CompileSpec."""

    key: str
    value: bytes


@dataclass
class _Entry:
    key: str
    value: bytes


def entry(key: str, value: bytes) -> CompileSpecEntry:
    """A CompileSpec of ExecuTorch where the process has ExecuTorch loaded, else one that looks the same.

    Loading ExecuTorch takes seconds that who compiles without it need not wait.
    """
    if "executorch.exir" in sys.modules:
        from executorch.exir.backend.compile_spec_schema import CompileSpec

        return CompileSpec(key, value)  # type: ignore[no-any-return]
    return _Entry(key, value)
