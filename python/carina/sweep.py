"""`carina sweep` on a Dask cluster.

Every worker compiles a part of the combinations; the result has the bytes of a run on one machine.

    python -m carina.sweep MODEL --scheduler tcp://HOST:PORT [options of `carina sweep`]

Workers need Dask's `distributed` and the command `carina` (in PATH, or named by $CARINA_BIN), of the same version as here; models, calibration
data and vela.ini files are sent to them. If a worker dies, another worker repeats its part.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client

# Options of the output on this machine, each with a value.
_SHOWN = ("--table", "--csv", "--report")
_PROGRAMS = ("-o", "--output")
_PARTS_PER_THREAD = 4  # of the cluster; small, so that a lost part costs little


@dataclass(frozen=True)
class Sent:
    """A file that workers need, or a folder of files."""

    original: str  # the path on this machine, which messages show
    contents: tuple[tuple[str, bytes], ...]  # by name in the folder; of a file alone, one entry with its own name
    is_folder: bool


@dataclass(frozen=True)
class Part:
    """The input of a worker: the arguments of a command line, in which "{i}" stands for `sent[i]`."""

    words: tuple[str, ...]
    sent: tuple[Sent, ...]
    programs: bool  # whether the programs are wanted as well


@dataclass(frozen=True)
class Made:
    """The output of a worker."""

    model: str
    rows: list[dict[str, Any]]
    programs: dict[str, bytes]  # by name


class SweepError(Exception):
    """`carina sweep` failed on a worker; the message is its stderr."""


def command() -> str:
    """The path of the command `carina`. Errors: FileNotFoundError."""
    found = os.environ.get("CARINA_BIN") or shutil.which("carina")
    if found is None:
        raise FileNotFoundError("the command carina is not in PATH; set CARINA_BIN")
    return found


def _read(path: str) -> Sent:
    place = Path(path)
    if place.is_dir():
        return Sent(path, tuple((file.name, file.read_bytes()) for file in sorted(place.iterdir()) if file.is_file()), is_folder=True)
    return Sent(path, ((place.name, place.read_bytes()),), is_folder=False)


def _placed(sent: Sent) -> str:
    """Writes a file or folder under a name made from its content, so a worker writes it once. Returns the path."""
    digest = hashlib.sha256(b"".join(name.encode() + b"\0" + content for name, content in sent.contents)).hexdigest()
    folder = Path(tempfile.gettempdir()) / f"carina-sweep-{os.getuid()}" / digest
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in sent.contents:
        if not (folder / name).exists():
            beside = folder.parent / f"{digest}.{os.urandom(8).hex()}"
            beside.write_bytes(content)
            beside.rename(folder / name)
    return str(folder if sent.is_folder else folder / sent.contents[0][0])


def make_part(part: Part, index: int, parts: int) -> Made:
    """Compiles the combinations index, index + parts, index + 2 * parts ... on this machine. Errors: SweepError."""
    paths = [_placed(sent) for sent in part.sent]
    words = [paths[int(word[1:-1])] if word.startswith("{") and word.endswith("}") else word for word in part.words]
    with tempfile.TemporaryDirectory() as outputs:
        more = ["--output", outputs] if part.programs else []
        run = [command(), "sweep", *words, *more, "--part", str(index), "--parts", str(parts), "--threads", "1", "--json"]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        programs = {file.name: file.read_bytes() for file in sorted(Path(outputs).iterdir())}
    text, errors = done.stdout, done.stderr
    for path, sent in zip(paths, part.sent, strict=True):
        text, errors = text.replace(json.dumps(path)[1:-1], json.dumps(sent.original)[1:-1]), errors.replace(path, sent.original)
    if done.returncode != 0:
        raise SweepError(errors.strip())
    sweep = json.loads(text)
    return Made(sweep["model"], sweep["rows"], programs)


def merged(made: Sequence[Made]) -> dict[str, Any]:
    """The rows of all parts in the order of one machine. Part i has every len(made)-th row, starting with row i."""
    longest = max(len(part.rows) for part in made)
    rows = [part.rows[step] for step in range(longest) for part in made if step < len(part.rows)]
    return {"model": made[0].model, "rows": rows}


def distributed_sweep(client: "Client", words: Sequence[str], files: Sequence[str], *, programs: bool = False, parts: int | None = None) -> list[Made]:
    """Makes the parts of a sweep on a cluster.

    client    the client of the cluster
    words     the arguments of `carina sweep`, in which "{i}" stands for files[i]
    files     paths of files and folders that workers need
    programs  whether the programs are returned in addition to the rows
    parts     number of parts; None: some for every thread of the cluster
    Errors: SweepError of the first part that fails; Dask's exceptions if no worker is left.
    """
    import cloudpickle
    from distributed import as_completed

    threads = sum(client.nthreads().values()) or 1
    count = parts or threads * _PARTS_PER_THREAD
    part = Part(tuple(words), tuple(_read(name) for name in files), programs)
    # By value: workers need not have this package.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    [everywhere] = client.scatter([part], broadcast=True)
    indices = {client.submit(make_part, everywhere, index, count, pure=False): index for index in range(count)}
    # Taken home as they come: what has been done is not lost with the worker that did it.
    made = {indices[future]: result for future, result in as_completed(indices, with_results=True)}
    return [made[index] for index in range(count)]


@dataclass
class _Arguments:
    words: list[str] = field(default_factory=list)  # for workers; files[i] stands as "{i}"
    files: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)  # for what is shown and written here
    folders: list[str] = field(default_factory=list)  # where programs go


def _split(arguments: Sequence[str]) -> _Arguments:
    """Divides the arguments. Existing files are sent to the workers; outputs are written on this machine."""
    split = _Arguments()
    rest = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    while rest:
        word = rest.pop(0)
        if word == "--json":
            split.shown.append(word)
        elif word in (*_SHOWN, *_PROGRAMS, "--threads") and rest:
            value = rest.pop(0)
            split.shown += [word, value] if word in _SHOWN else []
            split.folders += [value] if word in _PROGRAMS else []
        elif not word.startswith("-") and Path(word).exists():
            split.words.append(f"{{{len(split.files)}}}")
            split.files.append(word)
        else:
            split.words.append(word)
    return split


def show(sweep: dict[str, Any], shown: Sequence[str]) -> int:
    """Prints a sweep and writes its tables and pages, as `carina sweep` does with `shown`. Returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.json"
        rows.write_text(json.dumps(sweep))
        return subprocess.run([command(), "sweep", "--rows", str(rows), *shown], check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="carina sweep", allow_abbrev=False, description=(__doc__ or "").split("\n")[0], epilog="All other options are those of `carina sweep`.")
    parser.add_argument("--scheduler", required=True, help="address of Dask's scheduler: tcp://HOST:PORT")
    own, rest = parser.parse_known_args(arguments)
    split = _split(rest)
    try:
        from distributed import Client
    except ImportError:
        print("carina: error: Dask is not installed: pip install 'carina[sweep]'", file=sys.stderr)
        return 1
    try:
        with Client(own.scheduler, timeout="30s") as client:
            made = distributed_sweep(client, split.words, split.files, programs=bool(split.folders))
    except (SweepError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for folder in split.folders:
        for name, content in {name: content for part in made for name, content in part.programs.items()}.items():
            (Path(folder) / name).write_bytes(content)
    return show(merged(made), split.shown)


if __name__ == "__main__":
    sys.exit(main())
