"""The contents of files."""

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
    """The contents of a model, program or arrays, as `carina inspect --json` prints them: "parts", each with a "kind".

    Raises: InputError for a damaged file, or one of another kind; EnvironmentFailure for one that cannot be read.
    """
    parts: dict[str, Any] = json.loads(_native.inspect(os.fspath(file), note=Notes(note)))
    return parts
