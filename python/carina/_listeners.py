"""Notes, warnings and progress of a call in progress."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from carina import _native
from carina.errors import CarinaWarning, in_python

if TYPE_CHECKING:
    from carina._native import Diagnostic

Progress = Callable[[str, int, int], None]


_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def callers_level() -> int:
    """The `stacklevel` for warnings.warn() in the caller of this function. The warning then names the line outside this package that made
    the call."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


class Notes:
    """Collects the notes of one call. A warning is also a Python warning, unless the caller gave a listener."""

    def __init__(
        self,
        listener: Callable[[Diagnostic], None] | None,
        change: Callable[[Diagnostic], Diagnostic] = lambda note: note,
    ) -> None:
        self.all: list[Diagnostic] = []
        self._listener = listener
        self._change = change

    def __call__(self, note: Diagnostic) -> None:
        note = self._change(in_python(note))
        self.all.append(note)
        if self._listener is not None:
            self._listener(note)
        elif note.severity == "warning":
            warnings.warn(str(note), CarinaWarning, stacklevel=callers_level())


_SECONDS_BETWEEN_UPDATES = 0.1


class _Bar:
    """Progress as one line: of tqdm if it is installed, which notebooks show too, else on a terminal. It changes at most ten times a second."""

    def __init__(self) -> None:
        self._next = 0.0
        self._bar: Any = None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self._bar = tqdm(desc="carina", bar_format="{desc} [{elapsed}]", leave=False)

    def __call__(self, step: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _SECONDS_BETWEEN_UPDATES
        text = _native.stage_text(step, done, total)
        if self._bar is not None:
            self._bar.set_description_str(text)
        elif sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        elif sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Shown:
    """The argument `progress`: True shows a bar; a function gets step, done and total; False shows nothing."""

    def __init__(self, progress: bool | Progress | None) -> None:
        self._bar = _Bar() if progress is True else None
        self.listener: Progress | None = self._bar or (progress if callable(progress) else None)

    def __enter__(self) -> Progress | None:
        return self.listener

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
