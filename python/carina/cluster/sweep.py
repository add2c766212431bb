"""`carina sweep --scheduler`: the combinations are the items of a work per model. What has come home is in the state; the command
itself shows it, so tables and pages have the bytes of a sweep on one machine."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from carina.cluster.connect import connected, reported, run
from carina.cluster.faults import ClusterError
from carina.cluster.parts import Parts
from carina.cluster.progress import Progress
from carina.cluster.sharing import Job, Sharing, all_items
from carina.cluster.state import State
from carina.cluster.work import Work

_WAIT_SECONDS = 60.0


class Described:
    """What the command says of the words (`carina sweep --describe`)."""

    def __init__(self, text: str) -> None:
        said = json.loads(text)
        self.identity = (said["version"], said["program_sha256"])
        self.sweeps: list[dict[str, Any]] = said["sweeps"]
        self._here = {option["name"]: option["values"] for option in said["here"]}

    def forget(self, name: str) -> None:
        self._here.pop(name, None)

    def has(self, name: str) -> bool:
        return name in self._here

    def value(self, name: str, default: str = "") -> str:
        return str(self._here[name][-1]) if name in self._here else default


def _words_of(options: Sequence[dict[str, Any]]) -> list[str]:
    return [f"{option['name']}={value}" for option in options for value in option["values"]] + [option["name"] for option in options if not option["values"]]


class _Sink:
    """The state of one model."""

    def __init__(self, sweep: dict[str, Any], folder: Path) -> None:
        self._sweep = sweep
        self._folder = folder
        self._state: State | None = None

    def _open(self) -> State:
        if self._state is None:
            self._state = State(self._folder, self._sweep["key"])
        return self._state

    def add(self, item: int, line: dict[str, Any], text: str, programs: dict[str, bytes]) -> None:
        self._open().add(text, line.get("program"), programs)

    def give_up(self, item: int, reason: str) -> None:
        schemes, targets, modes = self._sweep["schemes"], self._sweep["targets"], self._sweep["memory_modes"]
        scheme, target, mode = schemes[item // (len(targets) * len(modes))], targets[item // len(modes) % len(targets)], modes[item % len(modes)]
        row = {"quantization": scheme or "as is", "target": target, "system_config": "", "memory_mode": mode, "status": "failed", "reason": reason, "notes": []}
        self._open().add(json.dumps({"scheme": scheme, "target": target, "memory_mode": mode, "machine": True, "row": row}), None, {})


def _jobs(described: Described, folder: Path) -> Iterator[Job]:
    for sweep in described.sweeps:
        if not sweep["missing"]:
            continue
        modes, targets = len(sweep["memory_modes"]), len(sweep["targets"])
        files = tuple((option["name"], path) for option in sweep["files"] for path in option["values"])
        limit = float(described.value("--timeout", "0"))
        work = Work(("sweep", "--threads=1"), tuple(_words_of(sweep["options"])), files, described.has("--output"), limit)
        sink = _Sink(sweep, folder)
        yield Job(work, Parts(sweep["missing"], targets * modes, modes), modes, sink.add, sink.give_up)


def _share(described: Described, folder: Path) -> None:
    total = sum(len(sweep["schemes"]) * len(sweep["targets"]) * len(sweep["memory_modes"]) for sweep in described.sweeps)
    missing = sum(all_items(sweep["missing"]) for sweep in described.sweeps)
    if missing == 0:
        return
    tls = (described.value("--tls-ca"), described.value("--tls-cert"), described.value("--tls-key"))
    progress = Progress(total, total - missing, described.value("--progress"))
    try:
        with connected(described.value("--scheduler"), *tls) as client, reported(client, described.value("--performance-report")):
            Sharing(client, described.identity, progress, float(described.value("--wait", str(_WAIT_SECONDS)))).run(_jobs(described, folder))
    except (KeyboardInterrupt, ClusterError, OSError) as error:
        kept = f"{progress.done} of {total} combinations are kept in {folder}; the same command does the rest" if described.has("--state") else ""
        if isinstance(error, KeyboardInterrupt):
            raise ClusterError("interrupted", hint=kept or "with --state DIR finished combinations would be kept", code=130) from error
        if isinstance(error, ClusterError):
            raise ClusterError(str(error), hint="; ".join(text for text in (error.hint, kept) if text), code=error.code) from error
        raise ClusterError(f"cannot keep the rows: {error}", hint=kept) from error
    finally:
        progress.close()


def main(words: Sequence[str]) -> int:
    """The words behind `carina sweep`. Returns the exit code. Errors: ClusterError."""
    temporary = None
    all_words = ["sweep", *words]
    if not any(word == "--state" or word.startswith("--state=") for word in words):
        temporary = tempfile.mkdtemp(prefix="carina-sweep-")
        all_words += ["--state", temporary]
    try:
        said = run([*all_words, "--describe"], capture_output=True)
        if said.returncode != 0:
            raise ClusterError(said.stderr.strip(), code=said.returncode)
        described = Described(said.stdout)
        if temporary is not None:
            described.forget("--state")
        _share(described, Path(temporary or described.value("--state")))
        return run([*all_words, "--only-kept"]).returncode
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
