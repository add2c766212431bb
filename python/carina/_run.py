"""Running programs, TOSA files and command streams on this machine."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, overload

from carina import _native
from carina._listeners import Notes, Progress, Shown
from carina._models import arrays_of
from carina._options import MemoryOptions, Path, byte_size, check_names, memories, paths, thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from carina._models import Inputs
    from carina._native import Diagnostic


class _SavedRun:
    """A run that was copied or sent to another process."""

    def __init__(self, done: _native.Run | _SavedRun) -> None:
        self.npu_cycles: int = done.npu_cycles
        self._texts = (done.to_text(), done.to_json())

    def to_text(self) -> str:
        return self._texts[0]

    def to_json(self) -> str:
        return self._texts[1]


class Run(Sequence["NDArray[Any]"]):
    """The outputs of one inference, as a sequence of arrays, with its memory and cycles. Of several samples, the outputs are joined, and
    memory and cycles are those of the first."""

    def __init__(self, run: _native.Run, notes: Sequence[Diagnostic]) -> None:
        self._run: _native.Run | _SavedRun = run
        self._outputs = run.outputs
        self._state = run.state
        self.notes = tuple(notes)

    def __getstate__(self) -> dict[str, Any]:
        return {"_run": _SavedRun(self._run), "_outputs": self._outputs, "_state": self._state, "notes": self.notes}

    @property
    def names(self) -> list[str]:
        """The outputs' names, in order."""
        return [name for name, _ in self._outputs]

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """The program's state after the run, by name: what the next run begins with."""
        return dict(self._state)

    @property
    def cycles(self) -> int | None:
        """Estimated cycles of the NPU (docs/cycle-model.md); None unless the run was timed."""
        return self._run.npu_cycles or None

    @property
    def details(self) -> dict[str, Any]:
        """The report as the command prints it with --json: memory in bytes, kernel calls, layers with their cycles."""
        details: dict[str, Any] = json.loads(self._run.to_json())
        return details

    @overload
    def __getitem__(self, index: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[NDArray[Any]]: ...
    def __getitem__(self, index: int | slice) -> NDArray[Any] | list[NDArray[Any]]:
        if isinstance(index, slice):
            return [array for _, array in self._outputs[index]]
        return self._outputs[index][1]

    def __len__(self) -> int:
        return len(self._outputs)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (array for _, array in self._outputs)

    def __str__(self) -> str:
        return self._run.to_text()

    def __repr__(self) -> str:
        kinds = ", ".join(f"{name}: {array.dtype}{list(array.shape)}" for name, array in self._outputs)
        return f"<carina.{type(self).__name__} {kinds}>"


class TimedRun(Run):
    """A run with estimated cycles."""

    @property
    def cycles(self) -> int:
        """Estimated cycles of the NPU for one inference (docs/cycle-model.md); 0 if nothing runs on an NPU."""
        return self._run.npu_cycles


# The options of run(), which are not names of inputs.
RUN_OPTIONS = ("data", "on", "portable_kernels", "note", "progress", "system_config", "memory_mode", "config")


def unknown_input(name: str, names: Sequence[str]) -> TypeError:
    """The error for a keyword that is neither an input nor an option of run()."""
    near = difflib.get_close_matches(name, [*names, *RUN_OPTIONS, "timed", "threads"], n=1, cutoff=0.6)
    return TypeError(
        f"{name!r} is no input: "
        + (f"did you mean {near[0]!r}? " if near else "")
        + f"expected {', '.join(names) or 'no further input'}"
    )


def _in_order(inputs: Inputs | None, names: Callable[[], list[str]]) -> list[Any] | None:
    """One array per input, in order."""
    if not isinstance(inputs, Mapping):
        return None if inputs is None else arrays_of(inputs)
    known = names()
    unknown = [name for name in inputs if name not in known]
    if len(known) == 1 and unknown == ["x"] and len(inputs) == 1:
        return arrays_of(list(inputs.values()))
    if unknown:
        raise unknown_input(unknown[0], known)
    return arrays_of([inputs[name] for name in known if name in inputs])


def file_of(given: Path | bytes) -> tuple[str, bytes]:
    """The name of a file for messages, and its bytes."""
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given), FilePath(given).read_bytes()
    return "memory", bytes(given)


@overload
def run(
    program: Path | bytes,
    inputs: Inputs | None = None,
    *,
    timed: Literal[True],
    data: Path | Sequence[Path] = (),
    state: Mapping[str, Any] | None = None,
    method: str = "",
    on: Literal["host", "vulkan"] = "host",
    portable_kernels: bool = False,
    threads: int = 1,
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[MemoryOptions],
) -> TimedRun: ...
@overload
def run(
    program: Path | bytes,
    inputs: Inputs | None = None,
    *,
    data: Path | Sequence[Path] = (),
    state: Mapping[str, Any] | None = None,
    method: str = "",
    timed: bool = False,
    on: Literal["host", "vulkan"] = "host",
    portable_kernels: bool = False,
    threads: int = 1,
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[MemoryOptions],
) -> Run: ...
def run(
    program: Path | bytes,
    inputs: Inputs | None = None,
    *,
    data: Path | Sequence[Path] = (),
    state: Mapping[str, Any] | None = None,
    method: str = "",
    timed: bool = False,
    on: Literal["host", "vulkan"] = "host",
    portable_kernels: bool = False,
    threads: int = 1,
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[MemoryOptions],
) -> Run:
    """Runs an ExecuTorch program, as `carina run` does: kernels on the CPU, Ethos-U delegates with the NPU's bits.

    program: a .pte, its path or its bytes. inputs: one array per input, of its type and shape, in order or by name (input_0, input_1 ...,
    since a file has no names); None: ones, as in ExecuTorch's runner. Arrays with several samples along the first axis run the program
    once for each sample, in order: state of the program is passed from each to the next. Dense arrays are not copied. state: the
    state to begin with, as Run.state has it; None: the initial values. method: the method to run; by default forward, or the first one. data: .ptd files; by default the one beside the program. timed: also estimate
    cycles. on: "host", or "vulkan" for VGF delegates. options: system_config, memory_mode, config, for timed runs.
    Raises: InputError for a damaged program, an unknown backend or kernel, inputs that do not fit.
    """
    check_names(options, MemoryOptions)
    name, file = file_of(program)
    notes = Notes(note)
    with Shown(progress) as listener:
        done = _native.run(
            file,
            _in_order(inputs, lambda: [port.name for port in _native.signature(file, name, method).inputs]),
            name=name,
            state=None if state is None else arrays_of(list(state.values())),
            method=method,
            data=paths(data),
            timed=timed,
            memories=memories(options),
            vgf=on,
            portable_kernels=portable_kernels,
            threads=thread_count(threads),
            note=notes,
            progress=listener,
        )
    return (TimedRun if timed else Run)(done, notes.all)


def interpret(
    tosa: Path | bytes,
    inputs: Inputs | None = None,
    *,
    profile: bool = False,
    level: str = "8K",
    memory_budget: int | str = "4G",
    dump: Path | None = None,
    threads: int = 1,
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
) -> Run:
    """Evaluates a TOSA file exactly by the specification, as `carina interpret` does.

    tosa: a .tosa, .vgf or .tflite, its path or its bytes. inputs: one array per input; None: zeros. memory_budget: a
    limit in bytes for the tensors of the run. dump: a folder for all intermediate values, as .npy files.
    Raises: InputError for a file that violates a rule, inputs that do not fit, data that violate a REQUIRE.
    """
    name, file = file_of(tosa)
    notes = Notes(note)
    with Shown(progress) as listener:
        done = _native.interpret(
            file,
            None if inputs is None else arrays_of(inputs),
            name=name,
            profile=profile,
            level=level,
            memory_budget_bytes=byte_size(memory_budget, "memory_budget"),
            dump_folder=os.fspath(dump or ""),
            threads=thread_count(threads),
            note=notes,
            progress=listener,
        )
    return Run(done, notes.all)


def npu(
    stream: Path | bytes,
    inputs: Inputs | None = None,
    *,
    timed: bool = False,
    check: bool = False,
    poison: bool = False,
    trace: Path | None = None,
    threads: int = 1,
    note: Callable[[Diagnostic], None] | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[MemoryOptions],
) -> Run:
    """Runs a command stream on the simulated NPU, as `carina npu run` does.

    stream: Vela's raw .npz, its path or its bytes. inputs: integers of the stream's element sizes, one array per input; None:
    zeros. check: report hazards, undefined reads and layout conflicts in `details["findings"]`. poison: fill unused
    memory with garbage before the run. trace: a file for Perfetto; implies timed.
    Raises: InputError for a stream that the NPU would reject, inputs that do not fit.
    """
    check_names(options, MemoryOptions)
    name, file = file_of(stream)
    notes = Notes(note)
    with Shown(progress) as listener:
        done = _native.npu(
            file,
            None if inputs is None else arrays_of(inputs),
            name=name,
            timed=timed,
            check=check,
            poison=poison,
            trace_file=os.fspath(trace or ""),
            memories=memories(options),
            threads=thread_count(threads),
            note=notes,
            progress=listener,
        )
    return Run(done, notes.all)
