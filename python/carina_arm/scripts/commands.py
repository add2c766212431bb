"""Shows and runs commands of the `carina` program."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["carina", "carina_program", "python"]


def carina_program() -> str:
    """The program: $CARINA_BIN, which `carina` sets when it starts a script; else the one installed beside this Python; else the first in
    PATH."""
    if named := os.environ.get("CARINA_BIN"):
        return named
    beside = Path(sys.executable).parent / "carina"
    if beside.exists():
        return str(beside)
    if found := shutil.which("carina"):
        return found
    raise FileNotFoundError("the program carina is neither beside this Python nor in PATH: name it, CARINA_BIN=PROGRAM")


def carina(words: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Shows a command of carina and runs it with this process's output streams. Returns its exit code.

    environment: further variables.
    """
    print("CALL " + shlex.join(["carina", *words]), flush=True)
    return subprocess.run([carina_program(), *words], check=False, env={**os.environ, **(environment or {})}).returncode


def python(module: str, words: Sequence[str]) -> int:
    """Shows and runs a module of this Python. Returns its exit code."""
    print("CALL " + shlex.join(["python", "-m", module, *words]), flush=True)
    return subprocess.run([sys.executable, "-m", module, *words], check=False).returncode
