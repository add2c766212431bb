"""Models compiled and explained."""

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
from carina.errors import usage_error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from carina._models import Calibration, Inputs, ModelLike
    from carina._native import Diagnostic


class Report:
    """What became of a model: as text, as a dict, and as a page in a notebook."""

    def __init__(self, report: _native.CompileReport) -> None:
        self._report = report

    @property
    def details(self) -> dict[str, Any]:
        """As `carina compile --json` prints it: sizes in bytes, cycles per inference, nodes with their reasons."""
        details: dict[str, Any] = json.loads(self._report.to_json())
        return details

    def __str__(self) -> str:
        return self._report.to_text()

    def to_html(self) -> str:
        """The page that `carina compile --report` writes: one file, which loads nothing. What other choices would bring is on it
        after compile(report=...) and explain(report=...) alone: it takes as many compilations."""
        return self._report.to_html()

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.to_html())}" style="width: 100%; height: 900px; border: 0"></iframe>'


class Explanation(Report):
    """Where each node of a model runs, why, and what it costs; its text is what `carina explain` prints."""

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """For each node of the model: name, op, source, place, reason, hint, cycles."""
        nodes: list[dict[str, Any]] = self.details["nodes"]
        return nodes

    @property
    def errors(self) -> list[Diagnostic]:
        """All that keeps the model from being compiled."""
        return self._report.errors

    def __str__(self) -> str:
        return self._report.to_text(nodes=True)


class Program:
    """An ExecuTorch program: `pte` has its bytes, which the official runtime runs as well."""

    def __init__(self, pte: bytes, report: _native.CompileReport | None = None, notes: Sequence[Diagnostic] = ()) -> None:
        self.pte = pte
        self.notes = tuple(notes)
        self._report = report

    @classmethod
    def load(cls, path: Path) -> Program:
        """A program from a .pte file; it has no report of how it was made."""
        return cls(FilePath(path).read_bytes())

    def run(self, *inputs: Any, timed: bool = False, threads: int = 1, **options: Any) -> Run:
        """One inference: kernels on the CPU, delegates on the simulated NPU. Options are those of carina.run().

        inputs: one array per input, of its type and shape; none: ones. Raises: InputError for inputs that do not fit.
        """
        return run(self.pte, inputs or None, timed=timed, threads=threads, **options)

    def explain(self) -> Explanation:
        """Where each node of the model runs, why, and what it costs."""
        return Explanation(self._made())

    def report(self) -> Report:
        """Sizes, memory and cycles; a page in a notebook."""
        return Report(self._made())

    def save(self, path: Path) -> None:
        """Writes the .pte; a failed write leaves what was there."""
        _native.write_file(os.fspath(path), self.pte)

    def __repr__(self) -> str:
        return f"<carina.Program of {len(self.pte)} bytes>"

    def _made(self) -> _native.CompileReport:
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

    model: a path of a .pt2, .tosa or .vgf; its bytes; a torch.nn.Module, which is exported in evaluation mode; an
    ExportedProgram, float or from convert_pt2e. inputs: example inputs for a torch.nn.Module: tensors or arrays.
    target: one of carina.targets(). quantize: "int8", "int16x8", "int8x4", "auto", "none", with details behind plus signs;
    by default as the model is, int8 where there is calibration data. calibration: a path (.npz, .npy, a folder); arrays by
    input, of one or many samples along the first axis; one array; or an iterable of samples, each as `inputs`.
    note: called with each note and warning; by default warnings are Python warnings. progress: True for a bar, or a function
    of step, done and total.

    Options, as on the command line: max_cycles, quantize_at, quantize_config, io; system_config, memory_mode, config,
    arena_cache_size (bytes, or "512K"); no_delegate, delegate_all, cpu_node, cpu_op, cpu_module,
    cpu_kernels ("portable", or "cortex-m" for int8 on the CPU); optimize ("performance",
    "size", "3" for seconds of search), dynamic_weights, legalize (rewrite what the NPU refuses), loop_rounds (of a while_loop, at most), sram_budget (bytes), extra_flag (Vela's), dump (a folder), report (an .html file: a page with plots), threads.

    Raises: InputError: what no target and no kernel can run, data that do not fit; UsageError: wrong arguments;
    KeyboardInterrupt on Ctrl-C.
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
    """Says for each node of a model where it runs, why, and what it costs. Arguments are those of compile().

    A model that cannot be compiled has an explanation too: `errors` says all that is in the way.
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
    """Lowers a model as a whole to a TOSA file, as `carina tosa` does: INT where it is quantized, else FP.

    tosa_version: "1.0" or "0.80", or "vgf" for a VGF file. level, profile, extension: what the file may use.
    Raises: InputError: nodes that do not lower, rules that break; UsageError: wrong arguments.
    """
    check_names(options, QuantizeOptions)
    request = request_of(model, inputs, "", quantize, calibration, {**options, "threads": threads})
    with Shown(progress) as listener:
        return _native.tosa(request, version=tosa_version, level=level, profiles=strings(profile), extensions=strings(extension), note=Notes(note), progress=listener)
