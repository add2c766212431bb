"""Compiling and explaining models."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from carina import _native
from carina._listeners import Notes, Progress, Shown
from carina._options import CompileOptions, Path, QuantizeOptions, check_names, request_of, strings
from carina._run import Run, run
from carina.errors import InputError, usage_error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from carina._models import Calibration, Inputs, ModelLike
    from carina._native import Diagnostic


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
    def errors(self) -> list[Diagnostic]:
        """All errors that prevent the compilation of the model."""
        return self._report.errors

    def __str__(self) -> str:
        return self._report.to_text(nodes=True)


class Program:
    """An ExecuTorch program. `pte` has its bytes, which the official runtime can run too."""

    def __init__(self, pte: bytes, report: _native.CompileReport | _SavedReport | None = None, notes: Sequence[Diagnostic] = ()) -> None:
        self.pte = pte
        self.notes = tuple(notes)
        self._report = report

    @classmethod
    def load(cls, path: Path) -> Program:
        """Reads a program from a .pte file, or a bundled one. It has no report. Raises: InputError for a file of another kind."""
        pte = FilePath(path).read_bytes()
        if pte[4:6] not in (b"ET", b"BP"):  # the identifiers of programs and of bundled programs
            raise InputError([_native.Diagnostic(os.fspath(path), "not an ExecuTorch program", expected="a .pte, or a .bpte", got="", hint="", fault="input")])
        return cls(pte)

    def run(self, *inputs: Any, timed: bool = False, threads: int = 1, **options: Any) -> Run:
        """Runs one inference: kernels on the CPU, delegates on the simulated NPU. Options are those of carina.run().

        inputs: one array per input, of its type and shape; without inputs, all are ones.
        Raises: InputError for inputs that do not fit.
        """
        return run(self.pte, inputs or None, timed=timed, threads=threads, **options)

    def explain(self) -> Explanation:
        """Where each node of the model runs, why, and what it costs."""
        return Explanation(self._made())

    def report(self) -> Report:
        """Sizes, memory and cycles; a page in a notebook."""
        return Report(self._made())

    def save(self, path: Path) -> None:
        """Writes the .pte. A failed write leaves an existing file unchanged."""
        _native.write_file(os.fspath(path), self.pte)

    def __getstate__(self) -> dict[str, Any]:
        return {"pte": self.pte, "notes": self.notes, "_report": None if self._report is None else _SavedReport(self._report)}

    def __repr__(self) -> str:
        return f"<carina.Program of {len(self.pte)} bytes>"

    def _made(self) -> _native.CompileReport | _SavedReport:
        if self._report is None:
            raise usage_error("program", "a loaded program has no report of how it was made", hint="carina.compile() gives one that has")
        return self._report


def _write_page(report: _native.CompileReport, options: CompileOptions) -> None:
    path = options.get("report")
    if path is not None:
        _native.write_file(os.fspath(path), report.to_html().encode())


def compile(
    model: ModelLike,
    inputs: Inputs | None = None,
    *,
    target: str,
    quantize: str | None = None,
    calibration: Calibration | None = None,
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[CompileOptions],
) -> Program:
    """Compiles a model for an Ethos-U NPU, or for VGF, as `carina compile` does, to the same bytes.

    model: a path of a .pt2, .tosa or .vgf; its bytes; a torch.nn.Module, which is exported in evaluation mode; or an
    ExportedProgram, float or from convert_pt2e. inputs: example inputs for a torch.nn.Module, as tensors or arrays.
    target: one of carina.targets(). quantize: "int8", "int16x8", "int8x4", "auto" or "none", with details after plus
    signs. The default is the model's own quantization, or int8 if there is calibration data. calibration: a path (.npz,
    .npy, a folder); arrays by input name, with samples along the first axis; one array; or an iterable of samples, each
    as `inputs`. note: a function that gets each note and warning; by default, warnings become Python warnings.
    progress: True for a bar, or a function of step, done and total.

    Options, as on the command line: max_cycles, min_sqnr, auto_front, quantize_at, quantize_config, io; system_config, memory_mode, config,
    arena_cache_size (bytes, or "512K"); no_delegate, delegate_all, cpu_node, cpu_op, cpu_module, cpu_kernels ("portable",
    or "cortex-m" for int8 on the CPU); optimize ("performance"; "size"; "3" for a search of some seconds),
    dynamic_weights, legalize (rewrite nodes that the target does not support), loop_rounds (the maximum of a while_loop),
    sram_budget (bytes), extra_flag (Vela's flags), dump (a folder), report (an .html file).

    Raises: InputError: nodes that neither the target nor a CPU kernel can run, data that do not fit; UsageError: wrong
    arguments; KeyboardInterrupt on Ctrl-C.
    """
    check_names(options, CompileOptions)
    request = request_of(model, inputs, target, quantize, calibration, options)
    notes = Notes(note)
    with Shown(progress) as listener:
        done = _native.compile(request, note=notes, progress=listener)
    _write_page(done.report, options)
    return Program(done.program, done.report, notes.all)


def explain(
    model: ModelLike,
    inputs: Inputs | None = None,
    *,
    target: str,
    quantize: str | None = None,
    calibration: Calibration | None = None,
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[CompileOptions],
) -> Explanation:
    """Reports for each node of a model where it runs, the reason, and its cost. The arguments are those of compile().

    A model that cannot be compiled has an explanation too: `errors` lists all reasons.
    Raises: InputError: a file that cannot be read; UsageError: wrong arguments.
    """
    check_names(options, CompileOptions)
    request = request_of(model, inputs, target, quantize, calibration, options)
    with Shown(progress) as listener:
        report = _native.explain(request, note=Notes(note), progress=listener)
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
    request = request_of(model, inputs, "", quantize, calibration, {**options, "threads": threads})
    with Shown(progress) as listener:
        return _native.tosa(request, version=tosa_version, level=level, profiles=strings(profile), extensions=strings(extension), note=Notes(note), progress=listener)
