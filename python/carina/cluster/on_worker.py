"""The code that runs on the workers of a cluster. It is sent to them as text (plugin.py), so it uses the standard library and Dask only.

A `Site` is a worker's copy of one work: its files in a folder of their own, and the command `carina`. `Site.run` runs the command on a
part of the items in a child process and returns its lines.
"""

import ctypes
import hashlib
import json
import os
import selectors
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path
from typing import Any

from distributed import get_worker
from distributed.diagnostics.plugin import WorkerPlugin

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None, use_errno=True).prctl
_STDERR_BYTES = 2000
_ANSWER_SECONDS = 600  # a busy machine may need minutes
# A part that takes longer than this, and longer than this many times its preparation, returns its lines and stops.
# Lines that a worker has not returned are lost when its process is killed. Both are twice the values that parts.py
# plans with.
_PART_SECONDS = 4.0
_PART_PREPARATIONS = 16.0


class Rejected(Exception):
    """This worker cannot be used; the message has the reason."""


class Fault(Exception):
    """A child process returned no result. `kind` is one of signal, timeout, machine, output, answer, stopped."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def end_with_parent() -> None:
    """Runs in the child before its program. It makes the kernel kill the child when the worker's process ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def command(program: dict[str, Any]) -> str:
    """Returns the path of the program from its variable, beside this Python, or in PATH. Errors: Rejected."""
    name, variable = program["name"], program["variable"]
    beside = Path(sys.executable).parent / name
    found = os.environ.get(variable) or (str(beside) if beside.exists() else None) or shutil.which(name)
    if found is None:
        raise Rejected(
            f"the command {name} is not installed: {variable} is not set, and it is neither beside the worker's Python nor in PATH"
        )
    return found


def _output(words: list[str]) -> str:
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=_ANSWER_SECONDS
    )
    if done.returncode != 0:
        raise Rejected(f"`{' '.join(words)}` returned exit code {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout


def check_command(found: str, work: dict[str, Any]) -> None:
    """Compares version and digest of the command with those of the client. Errors: Rejected."""
    name, version, digest = work["program"]["name"], work["version"], work["digest"]
    try:
        said = _output([found, "--version"]).strip()
        if said != f"{name} {version}":
            raise Rejected(f"{found} has version {said.removeprefix(name).strip()}, the client has {version}")
        identity = json.loads(_output([found, *work["program"]["identity"]]))
        here = str(identity["program_sha256"])
    except (OSError, ValueError, KeyError, TypeError, subprocess.TimeoutExpired) as error:
        raise Rejected(f"{found} cannot be run: {error}") from error
    if here != digest:
        raise Rejected(
            f"{found} is another build of version {version} (SHA-256 {here[:12]}, the client's {digest[:12]})"
        )


def place(folder: Path, index: int, sent: dict[str, Any]) -> dict[str, Any]:
    """Writes a file or folder of the client. Returns its path and the digest of each file."""
    below = folder / str(index)
    below.mkdir(mode=0o700)
    path = below / sent["name"]
    if sent["is_folder"]:
        path.mkdir(mode=0o700)
    digests = {}
    for name, content in sent["contents"]:
        file = path / name if sent["is_folder"] else path
        file.write_bytes(content)
        digests[str(file)] = hashlib.sha256(content).hexdigest()
    return {"path": str(path), "original": sent["original"], "option": sent["option"], "digests": digests}


def check_owner(path: Path, expected: int) -> None:
    """Checks that no other user can change the path. Errors: Rejected."""
    found = path.lstat()
    if stat.S_IFMT(found.st_mode) != expected or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise Rejected(f"{path} was replaced, or other users can write to it")


def check_parents(folder: Path) -> None:
    """Checks that no other user can rename a folder above `folder` and put another in its place. Errors: Rejected."""
    for parent in Path(os.path.realpath(folder)).parents:
        found = parent.stat()
        others_write = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
        if others_write or found.st_uid not in (0, os.getuid()):
            raise Rejected(
                f"other users can change {parent}, which contains the worker's files: choose another --local-directory"
            )


def check_placed(folder: Path, placed: list[dict[str, Any]]) -> None:
    """Checks owner and content of all files. Errors: Rejected."""
    try:
        check_parents(folder)
        check_owner(folder, stat.S_IFDIR)
        for one in placed:
            for name, digest in one["digests"].items():
                check_owner(Path(name), stat.S_IFREG)
                with open(name, "rb") as file:
                    if _digest(file) != digest:
                        raise Rejected(f"{one['original']} was changed on this worker")
    except OSError as error:
        raise Rejected(f"a file of the work is missing: {error}") from error


def _digest(file: Any) -> str:
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def stop(child: "subprocess.Popen[bytes]") -> None:
    """Kills a child that has not been waited for, and the processes that it started."""
    if child.returncode is not None:
        return
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Lines:
    """Reads the lines that a child prints. `limit` is the maximum time per line in seconds; 0: none."""

    def __init__(self, child: "subprocess.Popen[bytes]", limit: float) -> None:
        self._child = child
        self._limit = limit
        self._rest = b""

    def __iter__(self) -> Any:
        assert self._child.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._child.stdout, selectors.EVENT_READ)
            end = time.monotonic() + self._limit
            while True:
                if not selector.select(max(0.0, end - time.monotonic()) if self._limit else None):
                    raise Fault("timeout", f"took more than {self._limit:g} s")
                block = os.read(self._child.stdout.fileno(), 1 << 16)
                if not block:
                    break
                *lines, self._rest = (self._rest + block).split(b"\n")
                yield from lines
                end = time.monotonic() + self._limit if lines else end
        if self._rest:
            raise Fault("output", f"printed an incomplete line of {len(self._rest)} bytes")


class Site(WorkerPlugin):  # type: ignore[misc]
    """One work on a worker. `work` has name, python, version, digest, command, options, files, programs, limit."""

    def __init__(self, work: dict[str, Any]) -> None:
        self.work = work
        self.is_set_up = False
        self.rejection: str | None = None
        self.folder: Path | None = None
        self.placed: list[dict[str, Any]] = []
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self.lock = threading.Lock()
        self.ended = False

    # --- Dask calls these ------------------------------------------------------------------------------------------------

    async def setup(self, worker: Any) -> None:
        import asyncio

        self.worker = worker
        await asyncio.to_thread(self._set_up)
        self.is_set_up = True

    def teardown(self, worker: Any) -> None:
        self.ended = True
        with self.lock:
            for child in self.children.values():
                stop(child)
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def transition(self, key: str, start: str, finish: str, **_: Any) -> None:
        """Kills the child of a task that was cancelled."""
        if finish in ("cancelled", "forgotten", "released", "resumed"):
            with self.lock:
                child = self.children.get(key)
            if child is not None:
                stop(child)

    # --- the client calls these. They return None while the site is being set up -----------------------------------------

    def status(self) -> dict[str, Any] | None:
        if not self.is_set_up:
            return None
        return {"rejection": self.rejection, "host": socket.gethostname(), "address": self.worker.address}

    def run(self, items: list[list[int]]) -> dict[str, Any] | None:
        """Runs a part. Returns its lines with their indices (compressed), the programs, and the fault if there was one."""
        if not self.is_set_up:
            return None
        result: dict[str, Any] = {
            "lines": [],
            "programs": {},
            "fault": None,
            "at": None,
            "prepare_seconds": 0.0,
            "seconds": 0.0,
        }
        result |= {"worker": self.worker.address, "host": socket.gethostname()}
        try:
            if self.rejection is not None:
                raise Rejected(self.rejection)
            self._check_command()  # the program may have been replaced
            check_placed(self._folder(), self.placed)
            self._run(items, result)
        except Rejected as error:
            self.rejection = str(error)
            result["fault"] = {"kind": "rejected", "text": str(error)}
        except Fault as error:
            result["fault"] = {"kind": error.kind, "text": str(error)}
        except OSError as error:
            result["fault"] = {"kind": "machine", "text": str(error)}
        return result | {"lines": zlib.compress(json.dumps(result["lines"]).encode(), 1)}

    # --- inside ----------------------------------------------------------------------------------------------------------

    def _folder(self) -> Path:
        assert self.folder is not None
        return self.folder

    def _set_up(self) -> None:
        try:
            here = f"{sys.version_info[0]}.{sys.version_info[1]}"
            if here != self.work["python"]:
                raise Rejected(f"has Python {here}, the client has {self.work['python']}")
            self.command = command(self.work["program"])
            self._check_command()
            self.folder = Path(tempfile.mkdtemp(prefix=f"{self.work['name']}-", dir=self.worker.local_directory))
            check_parents(self.folder)
            self.placed = [place(self.folder, index, sent) for index, sent in enumerate(self.work.pop("files"))]
            self.rejection = None
        except Rejected as error:
            self.rejection = str(error)
        except OSError as error:
            self.rejection = f"cannot write the files of the work: {error}"
        except Exception as error:  # it would reach the client as an error of its own
            self.rejection = f"cannot be set up: {type(error).__name__}: {error}"

    def _check_command(self) -> None:
        # Several works of one client use one command, so it is checked once per worker.
        known = self.worker.__dict__.setdefault("carina_commands", {})
        try:
            found = os.stat(shutil.which(self.command) or self.command)
        except OSError as error:
            raise Rejected(f"{self.command} cannot be run: {error.strerror}") from error
        key = (self.command, found.st_mtime_ns, found.st_size, self.work["version"], self.work["digest"])
        if key not in known:
            check_command(self.command, self.work)
            known[key] = True

    def _words(self, here: Path, items: list[list[int]]) -> list[str]:
        job = here / "job.json"
        job.write_text(
            json.dumps({"combinations": items, "names": [[one["path"], one["original"]] for one in self.placed]})
        )
        words = [
            self.command,
            *self.work["command"],
            *self.work["options"],
            *(f"{one['option']}={one['path']}" if one["option"] else one["path"] for one in self.placed),
        ]
        programs = here / "programs"
        programs.mkdir()
        return [*words, f"--job={job}", *([f"--output={programs}"] if self.work["programs"] else [])]

    def _run(self, items: list[list[int]], result: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory(dir=self._folder()) as name:
            here = Path(name)
            try:
                self._run_child(self._words(here, items), here, result)
            finally:
                made = {json.loads(line).get("program") for _, line in result["lines"]}
                result["programs"] = {
                    file.name: file.read_bytes() for file in sorted((here / "programs").iterdir()) if file.name in made
                }

    def _run_child(self, words: list[str], here: Path, result: dict[str, Any]) -> None:
        key = get_worker().get_current_task()
        begin = time.monotonic()
        with open(here / "stderr", "w+b") as errors:
            child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=here,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
            with self.lock:
                self.children[key] = child
            try:
                if self.ended:
                    raise Fault("stopped", "the work was cancelled")
                if not self._read(child, begin, result):
                    return
            finally:
                result["seconds"] = time.monotonic() - begin
                stop(child)
                child.wait()
                assert child.stdout is not None
                child.stdout.close()
                with self.lock:
                    del self.children[key]
            errors.seek(0)
            text = errors.read()[-_STDERR_BYTES:].decode(errors="replace").strip()
            self._check_end(child.returncode, text, items_left=result["at"] is not None)

    def _read(self, child: "subprocess.Popen[bytes]", begin: float, result: dict[str, Any]) -> bool:
        """Reads the lines of the child. Returns whether it ended; a part that takes long is stopped after a line."""
        first = True
        for line in Lines(child, self.work["limit"]):
            try:
                said = json.loads(line)
            except ValueError as error:
                raise Fault("output", f"printed a line that is not JSON: {line[:80]!r}") from error
            if "errors" in said:
                raise Fault("machine" if said["fault"] == "environment" else "answer", said["errors"])
            if "started" in said:
                result["at"] = said["started"]
                result["prepare_seconds"] = time.monotonic() - begin if first else result["prepare_seconds"]
                first = False
            elif result["at"] is not None:
                result["lines"].append([result["at"], line.decode()])
                result["at"] = None
                if time.monotonic() - begin > max(_PART_SECONDS, result["prepare_seconds"] * _PART_PREPARATIONS):
                    result["fault"] = {"kind": "time", "text": "the part took long"}
                    return False
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # keeps the process id reserved until stop()
        return True

    def _check_end(self, code: int, text: str, items_left: bool) -> None:
        last = text.splitlines()[-1] if text else "no message"
        if code < 0:
            name = signal.Signals(-code).name
            more = ", possibly out of memory" if -code == signal.SIGKILL else ""
            raise Fault("signal", f"killed by signal {-code} ({name}){more}")
        if code != 0 or items_left:
            raise Fault("machine", f"ended with exit code {code}: {last}")
