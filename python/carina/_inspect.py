"""What files hold."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from carina import _native
from carina._listeners import Notes
from carina._options import Path

if TYPE_CHECKING:
    from carina._native import Diagnostic


def inspect(file: Path, *, note: Callable[[Diagnostic], None] | None = None) -> dict[str, Any]:
    """What a .pt2, .tosa, .vgf, .pte, .npz or .npy holds, as `carina inspect --json` prints it: "parts", each with its "kind".

    Raises: InputError for a damaged file, or one of another kind; EnvironmentFailure for one that cannot be read.
    """
    parts: dict[str, Any] = json.loads(_native.inspect(os.fspath(file), note=Notes(note)))
    return parts
