"""The command line's options as keyword arguments."""

from __future__ import annotations

import difflib
import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from carina import _native
from carina._models import Source, are_methods, dense, inputs_of, is_array, source_of
from carina._option_table import OPTIONS, CompileOptions, MemoryOptions, Option, Path, QuantizeOptions, Strings
from carina._samples import collected
from carina.errors import CarinaError, usage_error

if TYPE_CHECKING:
    from carina._models import Calibration, Inputs, ModelLike, Sequences
    from carina._native import Diagnostic

__all__ = [
    "CompileOptions",
    "MemoryOptions",
    "Path",
    "QuantizeOptions",
    "Strings",
    "byte_size",
    "check_names",
    "memories",
    "numbers",
    "paths",
    "quantize_flags",
    "request_of",
    "strings",
]

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
        raise usage_error(
            where, "not a number of bytes", expected="a whole number, with K, M, G or T after it or not", got=str(value)
        )
    return int(match[1]) * _SIZES[match[2]]


def numbers(options: Mapping[str, Any], name: str) -> list[float]:
    """The numbers of an option: one for all channels of an image, or one for each; none if it is not given."""
    given = options.get(name)
    if given is None:
        return []
    try:
        found = [
            float(each) for each in (given if isinstance(given, Iterable) and not isinstance(given, str) else [given])
        ]
    except (TypeError, ValueError):
        found = []
    if not found or not all(math.isfinite(each) and (name != "std" or each > 0) for each in found):
        raise usage_error(
            name,
            "not a number for each channel of an image",
            expected="positive numbers" if name == "std" else "numbers",
            got=str(given),
        )
    return found


def strings(value: Strings) -> list[str]:
    """One string, or several."""
    return [value] if isinstance(value, str) else list(value)


def paths(value: Path | Sequence[Path]) -> list[str]:
    """A list of paths, from one path or several."""
    return [os.fspath(value)] if isinstance(value, (str, os.PathLike)) else [os.fspath(path) for path in value]


_RENAMED = {"fix": "legalize", "optimise": "optimize"}


# The arguments that functions name in their own signatures.
_OWN_NAMES = ("calibration", "inputs", "note", "progress", "quantize", "target")


def unknown_option(name: str, names: Iterable[str]) -> TypeError:
    """The error for an option that does not exist, with the nearest names."""
    known = sorted({*names, *_OWN_NAMES})
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return TypeError(
        f"unknown option {name!r}: "
        + (f"did you mean {near[0]!r}? " if near else "")
        + f"expected one of {', '.join(known)}"
    )


def check_names(
    options: Any, known: type
) -> None:  # accepts any TypedDict, which mypy does not accept as a MutableMapping
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
            raise unknown_option(name, names)


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


def set_calibration(
    request: _native.CompileRequest, source: Source, calibration: Calibration | None, note: Callable[[Diagnostic], None]
) -> None:
    """Adds the calibration data to a request for the model `source`. `note` gets what is not used of them."""
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
    else:
        request.set_samples(_samples_for(source, calibration, note))


def set_sequences(request: _native.CompileRequest, sequences: Sequences) -> None:
    """Adds calibration data of a model that keeps state: sequences, each of which begins with the initial state."""
    found = []
    for sequence in sequences:
        if isinstance(sequence, Mapping):
            found.append({name: dense(value) for name, value in sequence.items()})
        elif is_array(sequence):
            found.append({"x": dense(sequence)})
        else:
            raise usage_error(
                "sequences",
                "not a sequence",
                expected="for each, an array whose first axis is time, or a dict of such arrays by input",
                got=type(sequence).__name__,
            )
    request.calibration = "sequences"
    request.set_sequences(found)


def _samples_for(source: Source, calibration: Any, note: Callable[[Diagnostic], None]) -> list[list[Any]]:
    try:
        inputs = inputs_of(source)
    except CarinaError:  # the compilation reports it, with the other errors of the model
        inputs = None
    return collected(calibration, inputs, "calibration", note).samples if inputs else []


class _Method(NamedTuple):
    """A method of a program to be compiled."""

    name: str
    model: ModelLike
    inputs: Inputs | None
    calibration: Calibration | None
    sequences: Sequences | None


def _methods_of(
    model: ModelLike | Mapping[str, ModelLike], inputs: Any, calibration: Any, sequences: Any
) -> list[_Method]:
    """The methods of a mapping from names to models; one without a name for another model. Example inputs and
    calibration data are mappings from the same names, or one for all; sequences are a mapping.

    Raises: UsageError for a name of `inputs`, `calibration` or `sequences` that is no method; for sequences of several
    methods that are no mapping from their names, or beside calibration data of the same method.
    """
    if not are_methods(model):
        return [_checked_data(_Method("", model, inputs, calibration, sequences))]
    models = model

    def by_method(given: Any, where: str) -> dict[str, Any]:
        if not isinstance(given, Mapping) or not (set(given) & set(models)):
            return dict.fromkeys(models, given)
        unknown = [name for name in given if name not in models]
        if unknown:
            raise usage_error(where, "no method of this name", expected=", ".join(models), got=unknown[0])
        return {name: given.get(name) for name in models}

    if sequences is not None and not (isinstance(sequences, Mapping) and set(sequences) & set(models)):
        expected = ", ".join(f"{name!r}: [...]" for name in models)
        raise usage_error("sequences", "not by method", expected=f"{{{expected}}}", got=type(sequences).__name__)
    all_inputs, data = by_method(inputs, "inputs"), by_method(calibration, "calibration")
    recorded = by_method(sequences, "sequences")
    return [
        _checked_data(_Method(name, model, all_inputs[name], data[name], recorded[name]))
        for name, model in models.items()
    ]


def _checked_data(method: _Method) -> _Method:
    if method.sequences is not None and method.calibration is not None:
        raise usage_error("sequences", "excludes calibration")
    return method


def _set_data(
    request: _native.CompileRequest, source: Source, method: _Method, note: Callable[[Diagnostic], None]
) -> None:
    if method.sequences is not None:
        set_sequences(request, method.sequences)
    else:
        set_calibration(request, source, method.calibration, note)


def _set_model(request: _native.CompileRequest, method: _Method, function: str) -> Source:
    source = source_of(method.model, method.inputs, function)
    request.model = source.name
    if source.file is not None:
        request.set_file(source.file)
    return source


def request_of(
    model: ModelLike | Mapping[str, ModelLike],
    inputs: Inputs | None,
    target: str | None,
    quantize: str | None,
    calibration: Calibration | None,
    options: Mapping[str, Any],
    note: Callable[[Diagnostic], None] = lambda note: None,
    function: str = "compile",
    sequences: Sequences | Mapping[str, Sequences] | None = None,
) -> _native.CompileRequest:
    """A request to the driver, as the command line makes it from its arguments. target: None: that of the option board. `note` gets what
    is not used of the data. `function` is the caller's name in messages."""
    if target is not None and not isinstance(target, str):
        raise usage_error(
            "target",
            "not a name",
            expected='one of carina.targets(): target="ethos-u55-128"',
            got=type(target).__name__,
            hint="carina.sweep() compiles for several targets",
        )
    if target is None and not options.get("board"):
        raise usage_error(
            "target", "neither a target nor a board is given", expected='target="ethos-u55-128", or board="Alif_E7_HE"'
        )
    request = _native.CompileRequest()
    main, *further = _methods_of(model, inputs, calibration, sequences)
    source = _set_model(request, main, function)
    request.target = memories(options, target or "")
    request.quantize = quantize_flags(quantize, options)
    request.set_images(numbers(options, "mean"), numbers(options, "std"))
    _set_data(request, source, main, note)
    if options.get("no_delegate") and options.get("delegate_all"):
        raise usage_error("delegate_all", "excludes no_delegate")
    _set({"": request}, options)
    if are_methods(model):
        request.methods = [main.name]
    for method in further:
        of_method = _native.CompileRequest()
        _set_data(of_method, _set_model(of_method, method, function), method, note)
        request.add_method(method.name, of_method)
    request.layers = True  # layers cost nothing
    request.alternatives = bool(options.get("report"))
    request.remedies = True
    request.threads = thread_count(options.get("threads", 1))
    return request
