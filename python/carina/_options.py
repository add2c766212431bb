"""The command line's options as keyword arguments."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from carina import _native
from carina._models import arrays_of, dense, is_array, source_of
from carina.errors import usage_error

if TYPE_CHECKING:
    from carina._models import Calibration, Inputs, ModelLike

Path = str | os.PathLike[str]
Strings = str | Sequence[str]


class QuantizeOptions(TypedDict, total=False):
    """Options of quantization, in addition to `quantize` and `calibration`."""

    max_cycles: str | None
    quantize_at: Strings
    quantize_config: Path | None
    io: str | None


class MemoryOptions(TypedDict, total=False):
    """The memories around an NPU."""

    system_config: str | None
    memory_mode: str | None
    config: Path | Sequence[Path]


class CompileOptions(QuantizeOptions, MemoryOptions, total=False):
    """The options of `carina compile`, with the same names."""

    arena_cache_size: int | str | None
    no_delegate: bool
    delegate_all: bool
    cpu_node: Strings
    cpu_op: Strings
    cpu_module: Strings
    cpu_kernels: str
    optimize: str
    dynamic_weights: bool
    legalize: bool
    loop_rounds: int
    sram_budget: int | str
    extra_flag: Strings
    dump: Path | None
    report: Path | None
    threads: int


_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def thread_count(threads: int) -> int:
    """The number of worker threads. Raises: UsageError: less than 1, or more than the command line takes."""
    if not isinstance(threads, int) or not 1 <= threads <= 256:
        raise usage_error("threads", "not a number of threads", expected="1 to 256", got=str(threads))
    return threads


def byte_size(value: int | str, where: str) -> int:
    """A number of bytes from 2097152, or from "2M" as on the command line."""
    if isinstance(value, int) and value >= 0:
        return value
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)(i?b)?", str(value).strip().lower())
    if match is None:
        raise usage_error(where, "not a number of bytes", expected="a whole number, with K, M, G or T after it or not", got=str(value))
    return int(match[1]) * _SIZES[match[2]]


def strings(value: Strings) -> list[str]:
    """One string, or several."""
    return [value] if isinstance(value, str) else list(value)


def paths(value: Path | Sequence[Path]) -> list[str]:
    """A list of paths, from one path or several."""
    return [os.fspath(value)] if isinstance(value, (str, os.PathLike)) else [os.fspath(path) for path in value]


_RENAMED = {"fix": "legalize", "optimise": "optimize"}


def check_names(options: Any, known: type) -> None:  # any TypedDict: mypy takes none for a MutableMapping
    """Raises TypeError for an unknown option. Options whose names have changed are taken, with a warning, and renamed in `options`."""
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


def memories(options: Mapping[str, Any], accelerator: str = "") -> _native.TargetRequest:
    """The target of a request, and the memories around it."""
    target = _native.TargetRequest()
    target.accelerator = accelerator
    target.system_config = options.get("system_config") or ""
    target.memory_mode = options.get("memory_mode") or ""
    target.config_files = paths(options.get("config", ()))
    size = options.get("arena_cache_size")
    target.arena_cache_bytes = None if size is None else byte_size(size, "arena_cache_size")
    return target


def quantize_flags(quantize: str | None, options: Mapping[str, Any]) -> _native.QuantizeFlags:
    """The quantization part of a request."""
    flags = _native.QuantizeFlags()
    flags.scheme = (quantize or "").lower()
    flags.overrides = strings(options.get("quantize_at", ()))
    flags.io = (options.get("io") or "").lower()
    flags.max_cycles = options.get("max_cycles") or ""
    flags.file = os.fspath(options.get("quantize_config") or "")
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
    """A request to the driver, as the command line makes it of its arguments."""
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
    request.delegates = "nothing" if options.get("no_delegate") else "all" if options.get("delegate_all") else "npu"
    request.cpu_nodes = strings(options.get("cpu_node", ()))
    request.cpu_ops = strings(options.get("cpu_op", ()))
    request.cpu_modules = strings(options.get("cpu_module", ()))
    request.cpu_kernels = options.get("cpu_kernels", "portable").lower()
    request.optimize = options.get("optimize", "performance").lower()
    request.dynamic_weights = options.get("dynamic_weights", False)
    request.legalize = options.get("legalize", False)
    request.loop_rounds = options.get("loop_rounds", 0)
    request.sram_budget_bytes = byte_size(options.get("sram_budget", 0), "sram_budget")
    request.vela_flags = strings(options.get("extra_flag", ()))
    request.dump_folder = os.fspath(options.get("dump") or "")
    request.layers = True  # they cost nothing
    request.alternatives = bool(options.get("report"))
    request.threads = thread_count(options.get("threads", 1))
    return request
