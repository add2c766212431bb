"""Comparisons of programs with each other and with the float model."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from carina import _native
from carina._listeners import Notes, Progress, Shown
from carina._models import Source, dense, inputs_of, is_module, source_of
from carina._options import (
    CompileOptions,
    Path,
    QuantizeOptions,
    byte_size,
    check_names,
    numbers,
    quantize_flags,
    request_of,
    thread_count,
)
from carina._samples import LABELS, arrays_by_input, collected
from carina.errors import hidden

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from carina._models import Data, Inputs, ModelLike
    from carina._native import Diagnostic
    from carina._program import Program


class Measured:
    """The result of a comparison, as text and as a dict."""

    def __init__(self, report: _native.TextReport, folder: str) -> None:
        # Objects in memory were written to this folder. Its name means nothing to the caller, so it is removed.
        self._json = report.to_json().replace(folder + os.sep, "")
        self._text = report.to_text().replace(folder + os.sep, "")

    @property
    def details(self) -> dict[str, Any]:
        """The result as the command prints it with --json."""
        details: dict[str, Any] = json.loads(self._json)
        return details

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<carina.Measured {self._text.splitlines()[0] if self._text else ''}>"


@contextmanager
def _files() -> Iterator[tuple[Callable[[str, Any], str], str]]:
    """Writes objects in memory to files for the commands. Yields the folder of the files, and a function that takes a file name and bytes
    (or a path)."""
    with tempfile.TemporaryDirectory(prefix="carina-") as folder:

        def place(name: str, given: Any) -> str:
            if isinstance(given, (str, os.PathLike)):
                return os.fspath(given)
            path = FilePath(folder) / name
            path.write_bytes(given)
            return str(path)

        yield place, folder


def _model_file(place: Callable[[str, Any], str], source: Source) -> str:
    return source.name if source.file is None else place("model.pt2", source.file)


def _data_file(
    place: Callable[[str, Any], str], name: str, data: Data, source: Source, note: Callable[[Diagnostic], None]
) -> str:
    """The file with the data: the given one, or one that is made of the arrays or samples in memory."""
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    import numpy as np

    if isinstance(data, Mapping):
        arrays = {key: np.asarray(dense(value)) for key, value in data.items()}
    else:
        inputs = inputs_of(source) or []
        arrays = arrays_by_input(collected(data, inputs, name, note), inputs)
    path = place(f"{name}.npz", b"")
    np.savez(path, **arrays)
    return path


def _example_of(program: Program | None, data: Data) -> tuple[Any, ...] | None:
    """Example inputs for a torch.nn.Module: zeros of the program's shapes and of the data's types. None: not known."""
    if program is None:
        return None
    import torch

    kinds: list[Any] = []
    if isinstance(data, Mapping):
        kinds = [torch.as_tensor(dense(value)).dtype for name, value in data.items() if name not in LABELS]
    ports = program.inputs
    kinds = kinds if len(kinds) == len(ports) else [torch.float32] * len(ports)
    return tuple(torch.zeros(port.shape, dtype=kind) for port, kind in zip(ports, kinds, strict=True))


def _program_of(given: Program | Path | bytes | None) -> Program | None:
    from carina._program import Program

    if given is None or isinstance(given, Program):
        return given
    return Program(given) if isinstance(given, bytes) else Program.load(given)


def accuracy(
    model: ModelLike,
    program: Program | Path | bytes | None = None,
    *,
    data: Data,
    inputs: Inputs | None = None,
    layers: bool = False,
    dump: Path | None = None,
    metric: str = "",
    quantize: str | None = None,
    calibration: Data | None = None,
    threads: int = 1,
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[QuantizeOptions],
) -> Measured:
    """Compares the float model, the integer graph and the NPU on data, labeled or not, as `carina accuracy` does.

    data: an .npz, or a folder of such files or of images (mean= and std= as of compile(); its folders are the classes); arrays by name: inputs (x, or the names of the model's inputs), and optional labels y; or an iterable of
    samples or batches, such as a DataLoader of (x, y). program: the .pte made from the model. inputs: example inputs for a torch.nn.Module;
    by default of the program's shapes. dump: the folder that compile(dump=...) wrote, for the integer graph. layers: quantize the
    model instead; report for each layer how much error it adds (in dB), and the results of other schemes.
    metric: how labels are compared with the first output, as `--metric` of the command.
    Raises: InputError: data that do not fit, a program of another model; UsageError: neither program nor layers.
    """
    from carina._program import Program
    from carina.errors import usage_error

    check_names(options, QuantizeOptions)
    if program is None and not layers:
        raise usage_error("program", "the .pte made from the model is missing (or layers=True, for the model alone)")
    with _files() as (place, folder), hidden(folder) as without, Shown(progress) as listener:
        notes = Notes(note, without)
        if inputs is None and is_module(model):
            inputs = _example_of(_program_of(program), data)
        source = source_of(model, inputs, "accuracy")
        images = {"mean": numbers(options, "mean"), "std": numbers(options, "std")}
        model_file, data_file = _model_file(place, source), _data_file(place, "data", data, source, notes)
        if layers:
            calibration_file = (
                "" if calibration is None else _data_file(place, "calibration", calibration, source, notes)
            )
            flags = quantize_flags(quantize, options)
            done = _native.layer_accuracy(
                model_file,
                data_file,
                calibration=calibration_file,
                quantize=flags,
                **images,
                threads=thread_count(threads),
                note=notes,
                progress=listener,
            )
        else:
            program_file = place("program.pte", program.pte if isinstance(program, Program) else program)
            done = _native.accuracy(
                model_file,
                program_file,
                data_file,
                dump=os.fspath(dump or ""),
                metric=metric,
                **images,
                threads=thread_count(threads),
                note=notes,
                progress=listener,
            )
    return Measured(done, folder)


def compare(
    a: Program | Path | bytes,
    b: Program | Path | bytes | None = None,
    *,
    target: str = "",
    quantize: str | None = None,
    calibration: Path | None = None,
    vela: Path = "vela",
    memory_budget: int | str = "4G",
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[CompileOptions],
) -> Measured:
    """Times two programs on the simulator, side by side per layer, as `carina compare` does.

    a, b: a program; a path of a .pte, of Vela's raw .npz, or of a model (.pt2, .tosa, .vgf, .tflite), which is compiled for
    `target` with the options of compile(). Without b, `a` is a .tosa that Vela compiles too; vela: the path of Vela.
    Raises: InputError: files of other kinds, or damaged; UsageError: wrong arguments; EnvironmentFailure: no Vela.
    """
    from carina._program import Program

    check_names(options, CompileOptions)
    with _files() as (place, folder), hidden(folder) as without, Shown(progress) as listener:
        file_a, file_b = (
            "" if given is None else place(name, given.pte if isinstance(given, Program) else given)
            for name, given in (("a.pte", a), ("b.pte", b))
        )
        notes = Notes(note, without)
        request = request_of(file_a, None, target, quantize, None, options, notes, "compare")
        request.calibration = os.fspath(calibration or "")
        done = _native.compare(
            file_a,
            file_b,
            request,
            vela=os.fspath(vela),
            memory_budget_bytes=byte_size(memory_budget, "memory_budget"),
            note=notes,
            progress=listener,
        )
    return Measured(done, folder)
