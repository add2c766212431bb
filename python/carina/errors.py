"""What Carina raises: the diagnostics of the command line as exceptions."""

from collections.abc import Sequence

from carina._native import Diagnostic

__all__ = ["CarinaError", "CarinaWarning", "Diagnostic", "EnvironmentFailure", "InputError", "InternalError", "UsageError", "error_of", "usage_error"]


class CarinaError(Exception):
    """Something keeps Carina from its work; `diagnostics` has all of it that could be said at once."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics)
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        return "\n".join(str(diagnostic) for diagnostic in self.diagnostics)


class InputError(CarinaError, ValueError):
    """The model, the program or the data is wrong, or cannot be done. The command line's exit code 1."""


class UsageError(CarinaError, ValueError):
    """An argument is wrong. The command line's exit code 2."""


class EnvironmentFailure(CarinaError, OSError):
    """A file cannot be read or written, memory is full, a program is missing. The command line's exit code 1."""


class InternalError(CarinaError, RuntimeError):
    """A mistake of Carina's own: please report it. The command line's exit code 3."""


class CarinaWarning(UserWarning):
    """Something that the user should know; the work goes on."""


# From the mildest to the gravest: of several faults the gravest names the exception, as it names the exit code.
_BY_FAULT: dict[str, type[CarinaError]] = {"input": InputError, "environment": EnvironmentFailure, "usage": UsageError, "internal": InternalError}


def error_of(diagnostics: Sequence[Diagnostic]) -> CarinaError:
    """The exception for these diagnostics, of which there is at least one."""
    faults = {diagnostic.fault for diagnostic in diagnostics}
    gravest = [error for fault, error in _BY_FAULT.items() if fault in faults][-1]
    return gravest(diagnostics)


def usage_error(where: str, what: str, *, expected: str = "", got: str = "", hint: str = "") -> UsageError:
    """An argument of the caller's that Python can check."""
    return UsageError([Diagnostic(where, what, expected=expected, got=got, hint=hint, fault="usage")])
