"""Messages and exit codes of scripts that fail."""

import sys
import traceback

__all__ = ["ModelError", "failure_code"]


class ModelError(RuntimeError):
    """The model or its inputs cannot be loaded. The message says what is wrong, what is expected and what to do."""


_INPUT, _USAGE, _INTERNAL = 1, 2, 3


def failure_code(error: Exception, *, show_trace: bool) -> int:
    """Prints the error to stderr. An exception in the user's own code is shown with its traceback. Returns the exit code of
    docs/guide/ci.md."""
    from carina.errors import (
        CarinaError,
        InternalError,
        UsageError,
    )  # loads the native module, which --help does not need

    if show_trace or not isinstance(error, (CarinaError, ModelError, ValueError, OSError, ImportError)):
        traceback.print_exception(error)
    for line in str(error).splitlines() or [type(error).__name__]:
        print(f"carina: error: {line}", file=sys.stderr)
    if isinstance(error, ModuleNotFoundError):
        print(f"  hint: {sys.executable} -m pip install {error.name}", file=sys.stderr)
    if isinstance(error, InternalError):
        return _INTERNAL
    return _USAGE if isinstance(error, UsageError) else _INPUT
