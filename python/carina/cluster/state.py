"""Writes the finished items of a work to a folder in the format of the command (src/explore/sweep_state.h): DIR/<key>.jsonl has a
line per item, DIR/<key>/ has the programs. A later call, on one machine or on a cluster, computes only the other items."""

import os
from collections.abc import Mapping
from pathlib import Path


class State:
    """The state of one work. Errors of all methods: OSError."""

    def __init__(self, folder: Path, key: str) -> None:
        self._programs = folder / key
        folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(folder / f"{key}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        os.write(self._file, b"\n")  # ends the incomplete line of a killed process; readers ignore empty lines

    def add(self, line: str, program: str | None, programs: Mapping[str, bytes]) -> None:
        """Adds a line. The program is written first, so that no line names a missing program."""
        if program is not None:
            self._write_program(program, programs[program])
        content = f"{line}\n".encode()
        if os.write(self._file, content) != len(content):
            raise OSError(28, "no space left for the state")

    def close(self) -> None:
        os.close(self._file)

    def _write_program(self, name: str, content: bytes) -> None:
        if Path(name).name != name or name.startswith("."):
            raise OSError(22, f"a worker returned a program with the name {name!r}, which is not a file name")
        self._programs.mkdir(exist_ok=True)
        beside = self._programs / f".{os.urandom(6).hex()}.new"  # unique, because several clients may use one folder
        beside.write_bytes(content)
        beside.replace(self._programs / name)
