"""Compiling and explaining models."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, overload

from carina import _native
from carina._listeners import Notes, Progress, Shown
from carina._models import is_array
from carina._options import CompileOptions, Path, QuantizeOptions, check_names, request_of, strings
from carina._run import RUN_OPTIONS, Run, TimedRun, run, unknown_input
from carina.errors import InputError, usage_error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from carina._models import Calibration, Inputs, ModelLike, Sequences
    from carina._native import Diagnostic
    from carina._option_table import Target


class _SavedReport:
    """The texts of a report that was copied or sent to another process."""

    def __init__(self, made: _native.CompileReport | _SavedReport) -> None:
        self._texts = (made.to_text(), made.to_text(nodes=True), made.to_json(), made.to_html())
        self.errors: list[Diagnostic] = list(made.errors)

    def to_text(self, nodes: bool = False) -> str:
        return self._texts[1 if nodes else 0]

    def to_json(self) -> str:
        return self._texts[2]

    def to_html(self) -> str:
        return self._texts[3]


def _on_the_npu(details: dict[str, Any]) -> str:
    """ "14 of 16 nodes on the NPU" """
    nodes = [node["runs_on"] for node in details["nodes"] if node["runs_on"] != "folded"]
    return f"{nodes.count('npu') + nodes.count('both')} of {len(nodes)} nodes on the NPU"


class Report:
    """The report of a compilation: as text, as a dict, and as a page in a notebook."""

    def __init__(self, report: _native.CompileReport | _SavedReport) -> None:
        self._report = report

    def __getstate__(self) -> dict[str, Any]:
        return {"_report": _SavedReport(self._report)}

    @property
    def details(self) -> dict[str, Any]:
        """The report as `carina compile --json` prints it: sizes in bytes, cycles per inference, nodes with reasons."""
        details: dict[str, Any] = json.loads(self._report.to_json())
        return details

    def __str__(self) -> str:
        return self._report.to_text()

    def __repr__(self) -> str:
        details = self.details
        errors = f", {len(self._report.errors)} errors" if self._report.errors else ""
        return f"<carina.{type(self).__name__} of {details['model']} for {details['target']}: {_on_the_npu(details)}{errors}>"

    def to_html(self) -> str:
        """The page that `carina compile --report` writes: one file, which loads nothing. Only compile(report=...) and explain(report=...)
        add the results of other options, because each of them needs a compilation."""
        return self._report.to_html()

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.to_html())}" style="width: 100%; height: 900px; border: 0"></iframe>'


class Explanation(Report):
    """Where each node of a model runs, why, and what it costs; its text is what `carina explain` prints."""

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """For each node, a dict with "name", "op", "source", "runs_on", "reason", "hint", "cycles" and other keys."""
        nodes: list[dict[str, Any]] = self.details["nodes"]
        return nodes

    @property
    def compression(self) -> list[dict[str, Any]]:
        """For each layer, a dict with "layer", its "bytes" of weights and its "cycles", and "compressed": the same with each of the
        "options". Empty without explain(compression=True)."""
        layers: list[dict[str, Any]] = self.details.get("compression", [])
        return layers

    @property
    def errors(self) -> list[Diagnostic]:
        """All errors that prevent the compilation of the model."""
        return self._report.errors

    def __str__(self) -> str:
        return self._report.to_text(nodes=True)


@dataclass(frozen=True)
class Port:
    """An input or an output of a program."""

    name: str  # of the model's input; "input_0" if the program was loaded from a file
    dtype: str  # NumPy's name: "float32"
    shape: tuple[int, ...]
    # For raw integers (io="int8"): real = (integer - zero_point) * scale. None: not quantized, or loaded from a file.
    scale: float | None = None
    zero_point: int | None = None


def _inputs_in_order(names: Sequence[str], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The inputs in order; None without inputs."""
    alone = given[0] if len(given) == 1 else None
    if isinstance(alone, Mapping):
        given, named = (), {**alone, **named}
    elif isinstance(alone, (list, tuple)) and not named and all(map(is_array, alone)):
        given = tuple(alone)
    if not named:
        return given or None
    # Also the names that a file has, and "x" for the only input.
    others = {f"input_{n}": name for n, name in enumerate(names)} | ({"x": names[0]} if len(names) == 1 else {})
    named = {name if name in names else others.get(name, name): value for name, value in named.items()}
    unknown = [name for name in named if name not in names[len(given) :]]
    if unknown:
        raise unknown_input(unknown[0], names[len(given) :])
    missing = [name for name in names[len(given) :] if name not in named]
    if missing:
        raise usage_error(
            "inputs", f"no array for the input {missing[0]}", expected=", ".join(names), got=", ".join(named)
        )
    return [*given, *(named[name] for name in names[len(given) :])]


class Method:
    """A method of a program: `program["decode"]`. The methods of a program share its state."""

    def __init__(self, program: Program, name: str) -> None:
        self._program = program
        self.name = name

    @cached_property
    def _signature(self) -> _native.Signature:
        return _native.signature(self._program.pte, "program", self.name)

    def _ports(self, kind: str, found: Sequence[_native.InputType]) -> list[Port]:
        ports = [Port(port.name, port.dtype, tuple(port.shape)) for port in found]
        details = self._program._details_of(self.name).get(kind, [])
        if len(details) != len(ports):
            return ports
        return [
            Port(row["name"], port.dtype, port.shape, row.get("scale"), row.get("zero_point"))
            for port, row in zip(ports, details, strict=True)
        ]

    @cached_property
    def inputs(self) -> list[Port]:
        """The inputs, in order, with name, dtype, shape and scale."""
        return self._ports("inputs", self._signature.inputs)

    @cached_property
    def outputs(self) -> list[Port]:
        """The outputs, in order, with name, dtype, shape and scale."""
        return self._ports("outputs", self._signature.outputs)

    @property
    def cycles(self) -> int | None:
        """Estimated NPU cycles per run. None: not known, because the program was loaded from a file (run(timed=True) estimates them)."""
        cycles: int | None = self._program._details_of(self.name).get("cycles")
        return cycles

    @overload
    def run(self, *inputs: Any, timed: Literal[True], threads: int = 1, **options: Any) -> TimedRun: ...
    @overload
    def run(self, *inputs: Any, timed: bool = False, threads: int = 1, **options: Any) -> Run: ...
    def run(self, *inputs: Any, timed: bool = False, threads: int = 1, **options: Any) -> Run:
        """Runs the method, as Program.run() runs the program's main one. The state passes from method to method."""
        named = {name: options.pop(name) for name in list(options) if name not in RUN_OPTIONS}
        names = [port.name for port in self.inputs] if named or any(isinstance(x, Mapping) for x in inputs) else []
        given = _inputs_in_order(names, inputs, named)
        state = self._program._state_of(self.name)
        done = run(
            self._program.pte,
            given,
            timed=timed,
            threads=threads,
            state=state or None,
            method=self.name,
            **options,
        )
        self._program._take_state(self.name, done)
        return done

    __call__ = run

    def __repr__(self) -> str:
        cycles = f", {self.cycles:,} cycles" if self.cycles else ""
        return f"<carina.Method {self.name} of {self._program!r}{cycles}>"


class Program:
    """An ExecuTorch program. `pte` has its bytes, which the official runtime can run too. Programs with equal bytes are equal.

    A program of several methods (compile({"prefill": ..., "decode": ...})) has their names in `methods`, and program["decode"] is one of
    them. Inputs, outputs and run() without a method are those of forward, or of the first method.
    """

    def __init__(
        self, pte: bytes, report: _native.CompileReport | _SavedReport | None = None, notes: Sequence[Diagnostic] = ()
    ) -> None:
        self.pte = pte
        self.notes = tuple(notes)
        self._report = report
        self._request: _native.CompileRequest | None = None  # of a LiteRT model, for save() to a .tflite
        self._state: dict[str, Any] | None = None  # by name; None: the initial values
        self._methods: dict[str, Method] = {}

    @classmethod
    def load(cls, path: Path) -> Program:
        """Reads a program from a .pte file, or a bundled one. It has no report. Raises: InputError for a file of another kind."""
        pte = FilePath(path).read_bytes()
        if pte[4:6] not in (b"ET", b"BP"):  # the identifiers of programs and of bundled programs
            raise InputError(
                [
                    _native.Diagnostic(
                        os.fspath(path),
                        "not an ExecuTorch program",
                        expected="a .pte, or a .bpte",
                        got="",
                        hint="",
                        fault="input",
                    )
                ]
            )
        return cls(pte)

    @cached_property
    def _signature(self) -> _native.Signature:
        return _native.signature(self.pte, "program")

    @property
    def methods(self) -> list[str]:
        """The names of the program's methods."""
        return list(self._signature.methods)

    def __getitem__(self, method: str) -> Method:
        """The method of this name. Raises: KeyError for another name."""
        if method not in self.methods:
            raise KeyError(f"{method!r}: the program has {', '.join(self.methods)}")
        if method not in self._methods:
            self._methods[method] = Method(self, method)
        return self._methods[method]

    @property
    def _main(self) -> Method:
        return self[self._signature.method]

    @cached_property
    def _details(self) -> dict[str, Any]:
        """The report as JSON; nothing, if the program was loaded from a file."""
        return {} if self._report is None else dict(json.loads(self._report.to_json()))

    def _details_of(self, method: str) -> dict[str, Any]:
        """The part of the report about a method."""
        further = self._details.get("methods", [])
        return next((each for each in further if each["method"] == method), self._details)

    @cached_property
    def _first_state(self) -> dict[str, list[tuple[str, Any]]]:
        return dict(_native.first_state(self.pte, "program"))

    def _state_of(self, method: str) -> dict[str, Any]:
        """The state that a method begins with; nothing: the initial values."""
        if self._state is None:
            return {}
        return {name: self._state[name] for name, _ in self._first_state[method]}

    def _take_state(self, method: str, done: Run) -> None:
        """Keeps the state after the run of a method, for the runs that follow."""
        after = list(done.state.values())
        if not after:
            return
        if len(self.methods) == 1 and self._state is None:  # all state is that of the run
            self._state = {name: array.copy() for name, array in done.state.items()}
            return
        names = [name for name, _ in self._first_state[method]]
        self.state.update({name: array.copy() for name, array in zip(names, after, strict=True)})

    @property
    def inputs(self) -> list[Port]:
        """The inputs, in order, with name, dtype, shape and scale."""
        return self._main.inputs

    @property
    def outputs(self) -> list[Port]:
        """The outputs, in order, with name, dtype, shape and scale."""
        return self._main.outputs

    @property
    def target(self) -> str:
        """The NPU that the program was compiled for, "ethos-u55-128", or "vgf"; "" if all of it runs on the CPU."""
        return self._signature.target

    @property
    def cycles(self) -> int | None:
        """Estimated NPU cycles per inference. None: not known, because the program was loaded from a file (run(timed=True) estimates them)."""
        return self._main.cycles

    @overload
    def run(self, *inputs: Any, timed: Literal[True], threads: int = 1, **options: Any) -> TimedRun: ...
    @overload
    def run(self, *inputs: Any, timed: bool = False, threads: int = 1, **options: Any) -> Run: ...
    def run(self, *inputs: Any, timed: bool = False, threads: int = 1, **options: Any) -> Run:
        """Runs the program: kernels on the CPU, delegates on the simulated NPU. Options are those of carina.run().

        inputs: one array per input, of its type and shape, in order or by name (`run(x, mask=m)`, `run({"x": x, "mask": m})`); without
        inputs, all are ones. An array with several samples along its first axis, such as [32,3,128] for an input of [1,3,128], runs the
        program once for each; the outputs are joined in the same way. A program that keeps state passes it from sample to sample and
        from run to run; reset() begins again. Raises: InputError for inputs that do not fit.
        """
        return self._main.run(*inputs, timed=timed, threads=threads, **options)

    __call__ = run

    @property
    def state(self) -> dict[str, Any]:
        """The tensors that the program keeps from run to run, by the names of the model's buffers; methods share those of one name. Change the arrays, or assign others,
        to go on from another state; reset() gives the initial values. Empty for a program without state."""
        if self._state is None:
            self._state = {name: array.copy() for states in self._first_state.values() for name, array in states}
        return self._state

    @state.setter
    def state(self, arrays: Mapping[str, Any]) -> None:
        known = list(self.state)
        if sorted(arrays) != sorted(known):
            raise usage_error(
                "state", "other names than the program's", expected=", ".join(known), got=", ".join(arrays)
            )
        self._state = {name: arrays[name] for name in known}

    def reset(self) -> None:
        """Gives the state its initial values."""
        self._state = None

    def explain(self) -> Explanation:
        """Where each node of the model runs, why, and what it costs. Raises: UsageError for a program that was loaded from a file."""
        return Explanation(self._made())

    def report(self) -> Report:
        """Sizes, memory and cycles; a page in a notebook. Raises: UsageError for a program that was loaded from a file."""
        return Report(self._made())

    def save(self, path: Path) -> None:
        """Writes the .pte; to a name that ends in .h or .c, the program as a C array, as `carina compile -o model.h` does; to one that
        ends in .tflite, a LiteRT model that compile() took, compiled again with its options for TensorFlow Lite Micro. A failed write
        leaves an existing file unchanged. Raises: UsageError: a .tflite of a program that was not compiled from one."""
        file = FilePath(path)
        if file.suffix == ".tflite":
            _native.write_file(os.fspath(path), self._as_tflite())
            return
        if file.suffix not in (".h", ".c"):
            _native.write_file(os.fspath(path), self.pte)
            return
        ports = [
            [(port.name, port.scale, port.zero_point or 0) for port in side] for side in (self.inputs, self.outputs)
        ]
        header, source = _native.c_source(self.pte, file.stem, *ports, with_source=file.suffix == ".c")
        if source:
            _native.write_file(str(file), f'#include "{file.stem}.h"\n\n{source}'.encode())
        _native.write_file(str(file.with_suffix(".h")), header.encode())

    def _as_tflite(self) -> bytes:
        if self._request is None:
            raise usage_error(
                "save",
                "a .tflite is made of the model that was compiled",
                expected="a program that compile() made of a .tflite",
                hint="carina compile model.tflite -o FILE.tflite",
            )
        self._request.output = "tflite"
        try:
            return _native.compile(self._request).program
        finally:
            self._request.output = "program"

    def __getstate__(self) -> dict[str, Any]:
        return {
            "pte": self.pte,
            "notes": self.notes,
            "_request": None,
            "_state": self._state,
            "_methods": {},
            "_report": None if self._report is None else _SavedReport(self._report),
        }

    def __eq__(self, other: object) -> bool:
        return self.pte == other.pte if isinstance(other, Program) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.pte)

    def __repr__(self) -> str:
        cycles = f", {self.cycles:,} cycles" if self.cycles else ""
        return f"<carina.Program for {self.target or 'the CPU'}: {len(self.pte):,} bytes{cycles}>"

    def _repr_html_(self) -> str:
        if self._report is not None:
            return self.report()._repr_html_()
        rows = [("input", port) for port in self.inputs] + [("output", port) for port in self.outputs]
        lines = "".join(
            f"<tr><td>{kind}</td><td>{html.escape(port.name)}</td><td>{port.dtype}</td><td>{list(port.shape)}</td></tr>"
            for kind, port in rows
        )
        return f"<p>{html.escape(repr(self)[1:-1])}</p><table><tr><th></th><th>name</th><th>type</th><th>shape</th></tr>{lines}</table>"

    def _made(self) -> _native.CompileReport | _SavedReport:
        if self._report is None:
            raise usage_error(
                "program",
                "a program from a file has no report of its compilation",
                hint="carina.compile() returns one with a report; of this one, `inputs`, `outputs`, `target`, run(timed=True) and carina.inspect() tell the rest",
            )
        return self._report


def _write_page(report: _native.CompileReport, options: CompileOptions) -> None:
    path = options.get("report")
    if path is not None:
        _native.write_file(os.fspath(path), report.to_html().encode())


def compile(
    model: ModelLike | Mapping[str, ModelLike],
    inputs: Inputs | None = None,
    *,
    target: Target | None = None,
    quantize: str | None = None,
    calibration: Calibration | None = None,
    sequences: Sequences | Mapping[str, Sequences] | None = None,
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[CompileOptions],
) -> Program:
    """Compiles a model for an Ethos-U NPU, or for VGF, as `carina compile` does, to the same bytes.

    model: a path of a .pt2, .tosa, .vgf or .tflite; its bytes; a torch.nn.Module, which is exported in evaluation mode; or an
    ExportedProgram, float or from convert_pt2e. Or a dict of such models by name: the methods of one program, which share the buffers
    of one name; `inputs` and `calibration` are then dicts by method too. inputs: example inputs for a torch.nn.Module, as tensors or arrays.
    target: one of carina.targets(); board=, one of `carina targets --boards`, sets it too, with the memories and the budgets. quantize: "int8", "int8-only", "int16x8", "int16x16", "int8x4", "auto" or "none", with details after plus
    signs. The default is the model's own quantization, or int8 if there is calibration data. calibration: a path (.npz,
    .npy, a folder of them or of images, whose channel values v become (v / 255 - mean) / std), or "random" for cycles and memory without data; arrays by input name, with samples along the first axis; one array; or an iterable of samples, such as
    a DataLoader, a Dataset or a list: each item is an array, a tuple or a dict of arrays, of one sample or a batch, and what follows the
    inputs (labels) is not used. sequences: calibration data of a model that keeps state, instead of calibration: an iterable of arrays
    whose first axis is time, or of dicts of such arrays by input; state is carried along each, and each begins with the initial state; for
    several methods, a dict of such iterables by method. note: a function that gets each note and warning; by default, warnings become Python warnings.
    progress: True for a bar, or a function of step, done and total.

    options: those of `carina compile`, with the same names; help(carina._option_table.CompileOptions) describes each. report: an .html
    file to write. Sizes are bytes, or "512K".

    Raises: InputError: nodes that neither the target nor a CPU kernel can run, data that do not fit; UsageError: wrong
    arguments; KeyboardInterrupt on Ctrl-C.
    """
    check_names(options, CompileOptions)
    notes = Notes(note)
    request = request_of(model, inputs, target, quantize, calibration, options, notes, sequences=sequences)
    with Shown(progress) as listener:
        done = _native.compile(request, note=notes, progress=listener)
    _write_page(done.report, options)
    program = Program(done.program, done.report, notes.all)
    if _is_litert(model):
        program._request = request
    return program


def _is_litert(model: object) -> bool:
    if isinstance(model, bytes):
        return model[4:8] == b"TFL3"
    return isinstance(model, str | os.PathLike) and FilePath(model).suffix == ".tflite"


def explain(
    model: ModelLike | Mapping[str, ModelLike],
    inputs: Inputs | None = None,
    *,
    target: Target | None = None,
    quantize: str | None = None,
    calibration: Calibration | None = None,
    sequences: Sequences | Mapping[str, Sequences] | None = None,
    compression: bool = False,
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[CompileOptions],
) -> Explanation:
    """Reports for each node of a model where it runs, the reason, and its cost. The other arguments are those of compile().

    compression: also compiles the model with pruned and with clustered weights, and reports the bytes and cycles of each layer.
    A model that cannot be compiled has an explanation too: `errors` lists all reasons.
    Raises: InputError: a file that cannot be read; UsageError: wrong arguments.
    """
    check_names(options, CompileOptions)
    notes = Notes(note)
    request = request_of(model, inputs, target, quantize, calibration, options, notes, "explain", sequences)
    request.compression = compression
    with Shown(progress) as listener:
        report = _native.explain(request, note=notes, progress=listener)
    _write_page(report, options)
    return Explanation(report)


def tosa(
    model: ModelLike,
    inputs: Inputs | None = None,
    *,
    quantize: str | None = None,
    calibration: Calibration | None = None,
    tosa_version: str = "1.0",
    level: str = "8K",
    profile: str | Sequence[str] = (),
    extension: str | Sequence[str] = (),
    threads: int = 1,
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[QuantizeOptions],
) -> bytes:
    """Lowers a whole model to a TOSA file, as `carina tosa` does: INT if the model is quantized, else FP.

    tosa_version: "1.0" or "0.80", or "vgf" for a VGF file. level, profile, extension: features that the file may use.
    Raises: InputError: nodes without a lowering, broken rules; UsageError: wrong arguments.
    """
    check_names(options, QuantizeOptions)
    notes = Notes(note)
    request = request_of(model, inputs, "", quantize, calibration, {**options, "threads": threads}, notes, "tosa")
    with Shown(progress) as listener:
        return _native.tosa(
            request,
            version=tosa_version,
            level=level,
            profiles=strings(profile),
            extensions=strings(extension),
            note=notes,
            progress=listener,
        )
