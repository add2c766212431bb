"""Shows and runs commands of the `carina` program."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["carina", "carina_bundle", "carina_program", "python"]


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


# The line of an image after a run in which it compares nothing.
_MODEL_RUN = "I [carina] Model run: 1"


def _result_lines(line: str) -> list[str]:
    """The lines of ExecuTorch's runner for a line of `carina run FILE.bpte`: "forward 0: pass"."""
    found = re.fullmatch(r"\S+ (\d+): (pass|FAIL)", line.rstrip())
    if found is None:
        return []
    return [
        f"TEST: BundleIO index[{found[1]}] Test_result: {found[2].upper()}",
        f"Model run: {int(found[2] == 'pass')}",
    ]


def carina_bundle(words: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """As carina(), for a run of a bundle. Each test case also gets the lines of ExecuTorch's runner, which scripts search for."""
    print("CALL " + shlex.join(["carina", *words]), flush=True)
    with subprocess.Popen(
        [carina_program(), *words], stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line.rstrip() == _MODEL_RUN:
                continue  # the outputs are compared later
            print(line, end="", flush=True)
            for result in _result_lines(line):
                print(result, flush=True)
    return running.returncode


def python(module: str, words: Sequence[str]) -> int:
    """Shows and runs a module of this Python. Returns its exit code."""
    print("CALL " + shlex.join(["python", "-m", module, *words]), flush=True)
    return subprocess.run([sys.executable, "-m", module, *words], check=False).returncode
