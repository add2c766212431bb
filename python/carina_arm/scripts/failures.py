"""How a script ends when it cannot do what it was asked for."""

import sys
import traceback

__all__ = ["ModelError", "failure_code"]


class ModelError(RuntimeError):
    """The model or its inputs cannot be had: what, expected, what to do."""


_INPUT, _USAGE, _INTERNAL = 1, 2, 3


def failure_code(error: Exception, *, show_trace: bool) -> int:
    """Says on stderr what went wrong; a user's own code that raised is shown with its trace. Returns the exit code of docs/guide/ci.md."""
    from carina.errors import CarinaError, InternalError, UsageError  # the native module, which --help does without

    if show_trace or not isinstance(error, (CarinaError, ModelError, ValueError, OSError, ImportError)):
        traceback.print_exception(error)
    for line in str(error).splitlines() or [type(error).__name__]:
        print(f"carina: error: {line}", file=sys.stderr)
    if isinstance(error, ModuleNotFoundError):
        print(f"  hint: {sys.executable} -m pip install {error.name}", file=sys.stderr)
    if isinstance(error, InternalError):
        return _INTERNAL
    return _USAGE if isinstance(error, UsageError) else _INPUT
