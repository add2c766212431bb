"""What workers need: a command, its options, and the files that the options name."""

import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carina.cluster.faults import ClusterError


@dataclass(frozen=True)
class Program:
    """How a worker finds the program, and the arguments that print its version and digest."""

    name: str
    variable: str  # environment variable on the worker with the program's path
    identity: tuple[str, ...]


CARINA = Program("carina", "CARINA_BIN", ("sweep", "--identity"))


@dataclass(frozen=True)
class Work:
    """A command that computes items by index and prints one line per item."""

    command: tuple[str, ...]  # ("sweep",)
    options: tuple[str, ...]  # "--name=value"
    files: tuple[tuple[str, str], ...]  # option, and path of a file or folder
    programs: bool  # whether the programs that the lines name are returned as well
    limit: float  # maximum seconds per item; 0: none
    program: Program = CARINA


def stamps(files: Iterable[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Returns size and time of the last change of each file that would be sent. Errors: ClusterError."""
    found = {}
    try:
        for _, path in files:
            for file in _contents(Path(path)):
                status = file.stat()
                found[str(file)] = (status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise ClusterError(f"cannot send {error.filename}: {error.strerror}") from error
    return found


def _contents(place: Path) -> list[Path]:
    if not stat.S_ISDIR(place.stat().st_mode):
        return [place]
    return sorted(file for file in place.iterdir() if file.is_file())


def read(option: str, path: str) -> dict[str, Any]:
    """Returns a file, or the regular files of a folder, in the form that is sent to workers. Errors: OSError."""
    place = Path(path)
    is_folder = stat.S_ISDIR(place.stat().st_mode)
    contents = [(file.name, file.read_bytes()) for file in _contents(place)]
    return {
        "option": option,
        "original": path,
        "name": place.resolve().name if place.name in ("", "..") else place.name,
        "is_folder": is_folder,
        "contents": contents,
    }


def packed(work: Work, name: str, version: str, digest: str) -> dict[str, Any]:
    """Returns the work as workers receive it (on_worker.Site). Errors: OSError of a file."""
    return {
        "name": name,
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "version": version,
        "digest": digest,
        "program": {
            "name": work.program.name,
            "variable": work.program.variable,
            "identity": list(work.program.identity),
        },
        "command": list(work.command),
        "options": list(work.options),
        "files": [read(option, path) for option, path in work.files],
        "programs": work.programs,
        "limit": work.limit,
    }
