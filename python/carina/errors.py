"""The exceptions of Carina: the diagnostics of the command line."""

import copyreg
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from carina._native import Diagnostic

__all__ = [
    "CarinaError",
    "CarinaWarning",
    "Diagnostic",
    "EnvironmentFailure",
    "InputError",
    "InternalError",
    "UsageError",
    "error_of",
    "usage_error",
]


class CarinaError(Exception):
    """The base of all errors. `diagnostics` has all problems that were found."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics)
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        return "\n".join(str(diagnostic) for diagnostic in self.diagnostics)


class InputError(CarinaError, ValueError):
    """The model, the program or the data is wrong or not supported. Exit code 1 of the command line."""


class UsageError(CarinaError, ValueError):
    """An argument is wrong. Exit code 2 of the command line."""


class EnvironmentFailure(CarinaError, OSError):
    """A file cannot be read or written, memory is full, or a program is missing. Exit code 1 of the command line."""


class InternalError(CarinaError, RuntimeError):
    """An error in Carina: please report it. Exit code 3 of the command line."""


class CarinaWarning(UserWarning):
    """A warning; the call continues."""


@dataclass(frozen=True)
class SavedDiagnostic:
    """A Diagnostic that was copied or sent to another process, with the same attributes and text."""

    where: str
    what: str
    expected: str
    got: str
    hint: str
    fault: str
    severity: str
    node: int | None
    text: str

    def __str__(self) -> str:
        return self.text


def _reduced(diagnostic: Diagnostic) -> tuple[type[SavedDiagnostic], tuple[object, ...]]:
    d = diagnostic
    return SavedDiagnostic, (d.where, d.what, d.expected, d.got, d.hint, d.fault, d.severity, d.node, str(d))


copyreg.pickle(Diagnostic, _reduced)  # type: ignore[arg-type]  # the copy has another class

# An option, with a placeholder for its value or one of its words.
_OPTION = re.compile(
    r"--([a-z][a-z0-9_-]+)(?:[ =]([A-Z]+(?:\.[a-z0-9]+)?\b|(?:none|auto|random|run|pixel|float|u?int\d+\w*)\b))?"
)
_RENAMED_OPTIONS = {"calibrate": "calibration"}


def _argument(match: re.Match[str]) -> str:
    name = _RENAMED_OPTIONS.get(match[1], match[1].replace("-", "_"))
    value = match[2] or "..."
    if value[0].islower():
        return f'{name}="{value}"'
    return f"{name}={'array' if name == 'calibration' else value}"


def in_python(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with a hint in Python terms: options are arguments, and arrays are in memory."""
    d = diagnostic
    hint = re.sub(
        r"save it as that type: np\.save\(file, (array\.astype\(np\.\w+\))\)",
        r"convert it: \1",
        _OPTION.sub(_argument, d.hint),
    )
    hint = hint.replace(
        "torch.export.save(program.run_decompositions(), file)",
        "give torch.export.export(model, inputs).run_decompositions()",
    )
    return _changed(d, d.hint, hint) if hint != d.hint else d


def _changed(d: Diagnostic, old: str, new: str) -> Diagnostic:
    """The diagnostic with another text in all of its parts."""

    def changed(part: str) -> str:
        return part.replace(old, new)

    saved = SavedDiagnostic(
        changed(d.where),
        changed(d.what),
        changed(d.expected),
        changed(d.got),
        changed(d.hint),
        d.fault,
        d.severity,
        d.node,
        changed(str(d)),
    )
    return saved  # type: ignore[return-value]  # the same attributes


@contextmanager
def hidden(folder: str) -> Iterator[Callable[[Diagnostic], Diagnostic]]:
    """Removes a temporary folder, whose name means nothing to the caller, from errors, and yields a function that does so for notes."""
    prefix = folder + os.sep

    def without(d: Diagnostic) -> Diagnostic:
        return _changed(d, prefix, "") if prefix in str(d) else d

    try:
        yield without
    except CarinaError as error:
        raise type(error)([without(d) for d in error.diagnostics]) from None


# From the least to the most severe. The most severe fault determines the exception, as it determines the exit code.
_BY_FAULT: dict[str, type[CarinaError]] = {
    "input": InputError,
    "environment": EnvironmentFailure,
    "usage": UsageError,
    "internal": InternalError,
}


def error_of(diagnostics: Sequence[Diagnostic]) -> CarinaError:
    """The exception for these diagnostics. There must be at least one."""
    diagnostics = [in_python(diagnostic) for diagnostic in diagnostics]
    faults = {diagnostic.fault for diagnostic in diagnostics}
    gravest = [error for fault, error in _BY_FAULT.items() if fault in faults][-1]
    return gravest(diagnostics)


def usage_error(where: str, what: str, *, expected: str = "", got: str = "", hint: str = "") -> UsageError:
    """The exception for an argument that is rejected in Python."""
    return UsageError([Diagnostic(where, what, expected=expected, got=got, hint=hint, fault="usage")])
