"""The command line's options as keyword arguments."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from carina import _native
from carina._models import arrays_of, dense, is_array, source_of
from carina._option_table import OPTIONS, CompileOptions, MemoryOptions, Option, Path, QuantizeOptions, Strings
from carina.errors import usage_error

if TYPE_CHECKING:
    from carina._models import Calibration, Inputs, ModelLike

__all__ = ["CompileOptions", "MemoryOptions", "Path", "QuantizeOptions", "Strings", "byte_size", "check_names", "memories", "paths", "quantize_flags", "request_of", "strings"]

_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def thread_count(threads: int) -> int:
    """The number of worker threads. Raises: UsageError: less than 1, or more than the command line takes."""
    if not isinstance(threads, int) or not 1 <= threads <= 256:
        raise usage_error("threads", "not a number of threads", expected="1 to 256", got=str(threads))
    return threads


def byte_size(value: int | str, where: str) -> int:
    """A number of bytes from 2097152, or from "2M" as on the command line."""
    if isinstance(value, int) and 0 <= value < 1 << 63:
        return value
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)(i?b)?", str(value).strip().lower())
    if match is None or int(match[1]) * _SIZES[match[2]] >= 1 << 63:
        raise usage_error(where, "not a number of bytes", expected="a whole number, with K, M, G or T after it or not", got=str(value))
    return int(match[1]) * _SIZES[match[2]]


def strings(value: Strings) -> list[str]:
    """One string, or several."""
    return [value] if isinstance(value, str) else list(value)


def paths(value: Path | Sequence[Path]) -> list[str]:
    """A list of paths, from one path or several."""
    return [os.fspath(value)] if isinstance(value, (str, os.PathLike)) else [os.fspath(path) for path in value]


_RENAMED = {"fix": "legalize", "optimise": "optimize"}


def check_names(options: Any, known: type) -> None:  # accepts any TypedDict, which mypy does not accept as a MutableMapping
    """Raises TypeError for an unknown option. An option under its former name is accepted with a warning and renamed in `options`."""
    for old, new in _RENAMED.items():
        if old in options and new not in options:
            warnings.warn(f"the option {old} is called {new} now", FutureWarning, stacklevel=3)
            options[new] = options.pop(old)
    names: set[str] = set()
    for base in (known, *getattr(known, "__orig_bases__", ())):
        names |= set(getattr(base, "__annotations__", {}))
    for name in options:
        if name not in names:
            raise TypeError(f"unknown option {name!r}: expected one of {', '.join(sorted(names))}")


def _value(option: Option, given: Any) -> Any:
    """Converts the value of a keyword argument to that of the request's member. None: the default."""
    if option.value is not None:
        return option.value
    match option.kind:
        case "bytes":
            return byte_size(given, option.name)
        case "name" | "choice":
            return given.lower()
        case "path":
            return os.fspath(given)
        case "paths":
            return paths(given)
        case "texts" | "overrides":
            return strings(given)
    return given


def _set(parts: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Sets the members of these parts of a request to the given options."""
    for option in OPTIONS:
        given = options.get(option.name)
        # For a flag, False keeps the member's default.
        if option.part in parts and given is not None and not (option.value is not None and not given):
            setattr(parts[option.part], option.member, _value(option, given))


def memories(options: Mapping[str, Any], accelerator: str = "") -> _native.TargetRequest:
    """The target of a request, and the memories around it."""
    target = _native.TargetRequest()
    target.accelerator = accelerator
    _set({"target": target}, options)
    return target


def quantize_flags(quantize: str | None, options: Mapping[str, Any]) -> _native.QuantizeFlags:
    """The quantization part of a request."""
    flags = _native.QuantizeFlags()
    flags.scheme = (quantize or "").lower()
    _set({"quantize": flags}, options)
    return flags


def set_calibration(request: _native.CompileRequest, calibration: Calibration | None) -> None:
    """Adds the calibration data to a request."""
    if calibration is None:
        return
    if isinstance(calibration, (str, os.PathLike)):
        request.calibration = os.fspath(calibration)
        return
    request.calibration = "calibration"
    if isinstance(calibration, Mapping):
        request.set_arrays({name: dense(value) for name, value in calibration.items()})
    elif is_array(calibration):
        request.set_arrays({"x": dense(calibration)})
    elif isinstance(calibration, Iterable):
        request.set_samples([arrays_of(sample) for sample in calibration])
    else:
        raise usage_error("calibration", "not calibration data", expected="a path, arrays by input, an array, or samples", got=type(calibration).__name__)


def request_of(
    model: ModelLike, inputs: Inputs | None, target: str, quantize: str | None, calibration: Calibration | None, options: Mapping[str, Any]
) -> _native.CompileRequest:
    """A request to the driver, as the command line makes it from its arguments."""
    request = _native.CompileRequest()
    source = source_of(model, inputs)
    request.model = source.name
    if source.file is not None:
        request.set_file(source.file)
    request.target = memories(options, target)
    request.quantize = quantize_flags(quantize, options)
    set_calibration(request, calibration)
    if options.get("no_delegate") and options.get("delegate_all"):
        raise usage_error("delegate_all", "excludes no_delegate")
    _set({"": request}, options)
    request.layers = True  # layers cost nothing
    request.alternatives = bool(options.get("report"))
    request.threads = thread_count(options.get("threads", 1))
    return request
