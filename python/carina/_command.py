"""Commands of the package's program that have no function in carina._native: sweep, firmware, qemu, disasm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, overload

from carina import _native
from carina.__main__ import program_path
from carina._listeners import Notes
from carina._models import arrays_of, dense, inputs_of, is_array, source_of
from carina._options import Path, strings
from carina._samples import arrays_by_input, collected
from carina.errors import error_of, hidden

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from carina._models import Calibration, Inputs, ModelLike
    from carina._native import Diagnostic
    from carina._program import Program

_EXIT_FAULTS = {2: "usage", 3: "internal"}


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    """Keyword arguments as options of the command line: memory_modes=["all"] is --memory-modes all."""
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            yield option
        elif isinstance(value, (list, tuple)):
            for each in value:
                yield f"{option}={os.fspath(each) if isinstance(each, os.PathLike) else each}"
        else:
            yield f"{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}"


def _diagnostics(said: dict[str, Any], code: int) -> list[Diagnostic]:
    fault = _EXIT_FAULTS.get(code, "input")
    parts = ("where", "what", "expected", "got", "hint")
    return [
        _native.Diagnostic(**{part: error.get(part, "") for part in parts}, fault=error.get("fault", fault))
        for error in said.get("errors", [])
    ]


def _run(words: Sequence[str], note: Callable[[Diagnostic], None], *, as_json: bool = True) -> str:
    """Runs a command of the program. Returns what it prints; its notes go to `note`. Raises: the errors of the command."""
    command = [str(program_path()), *words, *(["--json"] if as_json else [])]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "CARINA_PYTHON": sys.executable}, check=False
    )
    for line in done.stderr.splitlines():
        for severity in ("warning", "note"):
            if line.startswith(f"carina: {severity}: "):
                where, _, what = line.removeprefix(f"carina: {severity}: ").partition(": ")
                note(_native.Diagnostic(where, what, expected="", got="", hint="", fault="input", severity=severity))
    try:
        said = json.loads(done.stdout) if as_json else {}
    except json.JSONDecodeError:
        said = {}
    # A sweep in which nothing compiled has rows with the reasons.
    if done.returncode == 0 or (said and "errors" not in said):
        return done.stdout
    errors = _diagnostics(said, done.returncode)
    if not errors:
        text = done.stderr.strip().removeprefix("carina: error: ") or f"the command ended with code {done.returncode}"
        errors = [
            _native.Diagnostic(
                words[0], text, expected="", got="", hint="", fault=_EXIT_FAULTS.get(done.returncode, "input")
            )
        ]
    raise error_of(errors)


@contextmanager
def _placed() -> Iterator[tuple[FilePath, Callable[[str, Any], str], Callable[[Diagnostic], Diagnostic]]]:
    """A temporary folder for objects in memory: the folder, a function that gives a path for a path or for bytes, and one that removes the
    folder's name from notes."""
    with tempfile.TemporaryDirectory(prefix="carina-") as name, hidden(name) as without:
        folder = FilePath(name)

        def place(file: str, given: Any) -> str:
            if isinstance(given, (str, os.PathLike)):
                return os.fspath(given)
            (folder / file).write_bytes(getattr(given, "pte", given))
            return str(folder / file)

        yield folder, place, without


class Sweep:
    """The result of a sweep: a table as text, one dict per combination in `rows`, and a page in a notebook."""

    def __init__(self, text: str, details: dict[str, Any], page: str) -> None:
        self._text = text
        self.details = details
        self._page = page

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per combination: "quantization", "target", "memory_mode", "status", "cycles", "sram_bytes" and other keys."""
        rows: list[dict[str, Any]] = self.details["rows"]
        return rows

    def to_html(self) -> str:
        """The page that `carina sweep --report` writes: one file, which loads nothing."""
        return self._page

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        compiled = sum(row.get("status") == "compiled" for row in self.rows)
        return f"<carina.Sweep of {self.details.get('model', 'a model')}: {compiled} of {len(self.rows)} combinations compiled>"

    def _repr_html_(self) -> str:
        import html

        return f'<iframe srcdoc="{html.escape(self._page)}" style="width: 100%; height: 900px; border: 0"></iframe>'


def sweep(
    model: ModelLike,
    inputs: Inputs | None = None,
    *,
    targets: str | Sequence[str] = (),
    memory_modes: str | Sequence[str] = (),
    quantize: str | Sequence[str] = (),
    calibration: Calibration | None = None,
    data: Any = None,
    report: Path | None = None,
    threads: int | None = None,
    note: Callable[[Diagnostic], None] | None = None,
    **options: Any,
) -> Sweep:
    """Compiles a model for many NPUs, memory modes and quantizations, as `carina sweep` does, and compares cycles and memory.

    model, inputs, calibration: as of carina.compile(). targets: names, or what they begin with ("ethos-u55"), or "all"; by default that
    of board=, or all. memory_modes: names, or "all"; by default that of board=, or of each target. quantize: schemes, such as ["int8", "int16x8"]. data: labeled data, as of carina.accuracy(). report: an .html file.
    options: those of `carina sweep --help`, with underscores: output (a folder for the programs), system_config, config, optimize ...
    A combination that cannot be compiled has a row with the reason. Raises: InputError: a model that cannot be read; UsageError: wrong names.
    """
    notes = Notes(note)
    with _placed() as (folder, place, without):
        source = source_of(model, inputs, "sweep")

        def told(said: Diagnostic) -> None:
            notes(without(said))

        def arrays_file(name: str, given: Any) -> str | None:
            if given is None or isinstance(given, (str, os.PathLike)):
                return None if given is None else os.fspath(given)
            import numpy as np

            if isinstance(given, Mapping):
                arrays = {key: np.asarray(dense(value)) for key, value in given.items()}
            elif is_array(given):
                arrays = {"x": np.asarray(dense(given))}
            else:
                taken = inputs_of(source) or []
                arrays = arrays_by_input(collected(given, taken, name, told), taken)
            np.savez(folder / f"{name}.npz", **arrays)
            return str(folder / f"{name}.npz")

        words = [
            "sweep",
            source.name if source.file is None else place(f"{FilePath(source.name).stem}.pt2", source.file),
        ]
        lists = {"targets": targets, "memory_modes": memory_modes, "quantize": quantize}
        words += _words({name: ",".join(strings(value)) or None for name, value in lists.items()})
        words += _words(
            {
                "calibrate": arrays_file("calibration", calibration),
                "data": arrays_file("data", data),
                "threads": threads,
                **options,
            }
        )
        rows, page = folder / "rows.json", folder / "page.html"
        rows.write_text(_run(words, told).replace(str(folder) + os.sep, ""))
        text = _run(["sweep", "--rows", str(rows), "--report", str(page)], told, as_json=False)
        html = page.read_text().replace(str(folder) + os.sep, "")
        if report is not None:
            _native.write_file(os.fspath(report), html.encode())
        return Sweep(text.replace(f"wrote {page}\n", ""), json.loads(rows.read_text()), html)


def firmware(
    program: Program | Path | bytes,
    output: Path,
    *,
    image: Path = "corstone300-host",
    note: Callable[[Diagnostic], None] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Puts a program into a firmware image for a Cortex-M55, as `carina firmware` does. Returns its report.

    output: the .elf to write. image: the name of an image, or the path of an .elf. options: those of `carina firmware --help`, with
    underscores: ops_from, ops (kernels to link), method_pool, temp_pool, fast_pool ("64K"), target.
    Raises: InputError: a program that the image cannot run; EnvironmentFailure: no such image.
    """
    notes = Notes(note)
    with _placed() as (_, place, without):
        words = [
            "firmware",
            place("program.pte", program),
            "--image",
            os.fspath(image),
            "-o",
            os.fspath(output),
            *_words(options),
        ]
        report: dict[str, Any] = json.loads(_run(words, lambda said: notes(without(said))))
        return report


class DeviceRun(Sequence["NDArray[Any]"]):
    """The outputs of a run on an emulated device, as a sequence of arrays, and its console."""

    def __init__(self, outputs: list[NDArray[Any]], details: dict[str, Any]) -> None:
        self._outputs = outputs
        self.details = details

    @property
    def console(self) -> list[str]:
        """The lines that the device printed: its log, cycles and memory."""
        lines: list[str] = self.details["console"]
        return lines

    @overload
    def __getitem__(self, index: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[NDArray[Any]]: ...
    def __getitem__(self, index: int | slice) -> NDArray[Any] | list[NDArray[Any]]:
        return self._outputs[index]

    def __len__(self) -> int:
        return len(self._outputs)

    def __str__(self) -> str:
        return "\n".join(self.console)

    def __repr__(self) -> str:
        return f"<carina.DeviceRun {', '.join(f'{array.dtype}{list(array.shape)}' for array in self._outputs)}; {len(self.console)} lines of console>"


def qemu(
    program: Program | Path | bytes,
    inputs: Inputs | None = None,
    *,
    note: Callable[[Diagnostic], None] | None = None,
    **options: Any,
) -> DeviceRun:
    """Runs a program on an emulated Cortex-M55 beside the simulated NPU, as `carina qemu` does. Needs qemu-system-arm.

    program: an .elf of carina.firmware(), or a program, which is put into the image corstone300-host first. inputs: one array per input;
    None: ones. options: those of `carina qemu --help`, with underscores: inferences, target, memory_mode, timeout, no_cycles ...
    Raises: InputError: errors that the device prints; EnvironmentFailure: no QEMU.
    """
    import numpy as np

    notes = Notes(note)
    with _placed() as (folder, place, without):
        path = place("program.pte", program)
        words = ["qemu", path] if path.endswith(".elf") else ["run", path, "--on", "qemu"]
        for n, array in enumerate([] if inputs is None else arrays_of(inputs)):
            np.save(folder / f"in{n}.npy", np.asarray(array))
            words += ["-i", str(folder / f"in{n}.npy")]
        words += ["-o", str(folder / "out"), *_words(options)]
        details = json.loads(_run(words, lambda said: notes(without(said))).replace(str(folder) + os.sep, ""))
        files = sorted((folder / "out").glob("output_*.npy"), key=lambda file: int(file.stem.rpartition("_")[2]))
        return DeviceRun([np.load(file) for file in files], details)


def disasm(program: Program | Path | bytes) -> str:
    """The command streams of a .pte or of Vela's raw .npz, or the SPIR-V of a .vgf, as `carina disasm` prints them.

    Raises: InputError for a file without a command stream.
    """
    with _placed() as (_, place, _without):
        path = place("program.pte", program)
        return _run(["disasm", path], lambda said: None, as_json=False).replace(path, os.path.basename(path))
