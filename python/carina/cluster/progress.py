"""Shows the progress: a line on a terminal, and JSON lines in a file."""

import contextlib
import json
import sys
import time
from typing import TextIO

_TERMINAL_SECONDS = 0.2
_FILE_SECONDS = 1.0


class Progress:
    """Counts items. `what` is their name in messages. `total` includes the `kept` items of earlier calls."""

    def __init__(self, what: str, total: int, kept: int, file: str) -> None:
        self.what, self.total, self.kept = what, total, kept
        self.done = kept
        self.failed = 0
        self.running = 0
        self.workers = 0
        self.parts = 0  # finished parts
        self._begin = time.monotonic()
        self._shown = {"terminal": 0.0, "file": 0.0}
        self._terminal = sys.stderr.isatty() and file != "-"
        self._file: TextIO | None = sys.stderr if file == "-" else open(file, "w", encoding="utf-8") if file else None  # noqa: SIM115

    def left_seconds(self) -> float | None:
        """The estimated remaining seconds, from the items so far. None: not known."""
        made = self.done - self.kept
        return None if made == 0 else (time.monotonic() - self._begin) / made * (self.total - self.done)

    def show(self, last: bool = False) -> None:
        if self._terminal and self._due("terminal", _TERMINAL_SECONDS, last):
            self._write(sys.stderr, "\r\x1b[K" + ("" if last else self._text()))
        if self._file is not None and self._due("file", _FILE_SECONDS, last):
            self._write(self._file, json.dumps(self._figures()) + "\n")

    def log(self, text: str) -> None:
        """Prints a message above the line of the progress."""
        self._write(sys.stderr, ("\r\x1b[K" if self._terminal else "") + f"carina: {text}\n")

    def close(self) -> None:
        self.show(last=True)
        if self._file is not None and self._file is not sys.stderr:
            with contextlib.suppress(OSError):
                self._file.close()

    def _write(self, file: TextIO, text: str) -> None:
        # A terminal that was closed or a full disk must not end the work.
        with contextlib.suppress(OSError, ValueError):
            file.write(text)
            file.flush()

    def _due(self, what: str, seconds: float, last: bool) -> bool:
        now = time.monotonic()
        if not last and now - self._shown[what] < seconds:
            return False
        self._shown[what] = now
        return True

    def _figures(self) -> dict[str, float | None]:
        left = self.left_seconds()
        return {
            "done": self.done,
            "failed": self.failed,
            "running": self.running,
            "total": self.total,
            "workers": self.workers,
            "parts": self.parts,
            "seconds": round(time.monotonic() - self._begin, 1),
            "seconds_left": None if left is None else round(left, 1),
        }

    def _text(self) -> str:
        left = self.left_seconds()
        more = f", {self.failed} failed" if self.failed else ""
        end = "" if left is None else f", {left:.0f} s left"
        return (
            f"{self.done} of {self.total} {self.what} done{more}; {self.running} running on {self.workers} workers{end}"
        )
