"""Steps that all commands on a cluster have in common: `--describe` lists the items, the state keeps their results, and
`--only-kept` reports them."""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from carina.cluster.connect import connected, reported, run
from carina.cluster.faults import ClusterError
from carina.cluster.progress import Progress
from carina.cluster.sharing import Job, Sharing

_WAIT_SECONDS = 60.0
_NOT_REPORTED = 74  # exit code of --only-kept when an output cannot be written (tools/carina/sweep.cpp)


class Here:
    """The command-line options for this machine, as the command parsed them."""

    def __init__(self, said: dict[str, Any]) -> None:
        self._values = {option["name"]: option["values"] for option in said["here"]}
        self.identity = (said["version"], said["program_sha256"])  # version and digest of the command

    def forget(self, name: str) -> None:
        self._values.pop(name, None)

    def has(self, name: str) -> bool:
        return name in self._values

    def value(self, name: str, default: str = "") -> str:
        return str(self._values[name][-1]) if name in self._values else default

    def number(self, name: str, default: float) -> float:
        return float(self.value(name, str(default)))


def share(here: Here, what: str, total: int, missing: int, jobs: Iterator[Job], folder: Path) -> None:
    """Runs the jobs on the cluster. `what` is the name of their items in messages. Errors: ClusterError."""
    if missing == 0:
        return
    tls = (here.value("--tls-ca"), here.value("--tls-cert"), here.value("--tls-key"))
    progress = Progress(what, total, total - missing, here.value("--progress"))
    try:
        with connected(here.value("--scheduler"), *tls) as client, reported(client, here.value("--performance-report")):
            Sharing(client, here.identity, progress, here.number("--wait", _WAIT_SECONDS)).run(jobs)
    except (KeyboardInterrupt, ClusterError, OSError) as error:
        kept = (
            f"{progress.done} of {total} {what} are kept in {folder}; the same command continues with the others"
            if here.has("--state")
            else ""
        )
        raise _explained(error, what, kept) from error
    finally:
        progress.close()


def _explained(error: BaseException, what: str, kept: str) -> ClusterError:
    if isinstance(error, KeyboardInterrupt):
        return ClusterError("interrupted", hint=kept or f"with --state DIR finished {what} would be kept", code=130)
    hint = error.hint if isinstance(error, ClusterError) else ""
    code = error.code if isinstance(error, ClusterError) else 1
    return ClusterError(str(error), hint="; ".join(text for text in (hint, kept) if text), code=code)


def with_state(name: str, words: Sequence[str], do: Callable[[dict[str, Any], Here, Path], None]) -> int:
    """Runs a command line with its --state, or with a temporary one. Returns the exit code. Errors: ClusterError."""
    temporary = None
    all_words = [name, *words]
    if not any(word == "--state" or word.startswith("--state=") for word in words):
        temporary = tempfile.mkdtemp(prefix=f"carina-{name}-")
        all_words += ["--state", temporary]
    try:
        described = run([*all_words, "--describe"], capture_output=True)
        if described.returncode != 0:
            raise ClusterError(described.stderr.strip().removeprefix("carina: error: "), code=described.returncode)
        said = json.loads(described.stdout)
        here = Here(said)
        folder = Path(temporary or here.value("--state"))
        if temporary is not None:
            here.forget("--state")
        do(said, here, folder)
        code = run([*all_words, "--only-kept"]).returncode
        if code != _NOT_REPORTED:
            return code
        if temporary is not None and any(Path(temporary).iterdir()):
            print(
                f"carina: note: the results are kept in {temporary}: the same command with --state {temporary} reports them",
                file=sys.stderr,
            )
            temporary = None
        return 1
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
