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
    """ExecuTorch's CompileSpec if the process has loaded ExecuTorch, else an object with the same fields.

    Loading ExecuTorch takes seconds, which compiling without ExecuTorch avoids.
    """
    if "executorch.exir" in sys.modules:
        from executorch.exir.backend.compile_spec_schema import CompileSpec

        return CompileSpec(key, value)  # type: ignore[no-any-return]
    return _Entry(key, value)
