"""`carina sweep --scheduler`: each model is a work, and each of its combinations an item. Results go to the state, and the command
itself reports them, so tables and pages have the same bytes as on one machine."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from carina.cluster.command import Here, share, with_state
from carina.cluster.faults import ClusterError
from carina.cluster.parts import Parts
from carina.cluster.sharing import Job, all_items
from carina.cluster.state import State
from carina.cluster.work import Work, stamps


def _words_of(options: Sequence[dict[str, Any]]) -> list[str]:
    return [f"{option['name']}={value}" for option in options for value in option["values"]] + [
        option["name"] for option in options if not option["values"]
    ]


class _Sink:
    """Writes the rows of one model to the state."""

    def __init__(self, sweep: dict[str, Any], folder: Path) -> None:
        self._sweep = sweep
        self._folder = folder
        self._state: State | None = None

    def _open(self) -> State:
        if self._state is None:
            self._state = State(self._folder, self._sweep["key"])
        return self._state

    def close(self) -> None:
        if self._state is not None:
            self._state.close()

    def _names(self, item: int) -> tuple[str, str, str]:
        """Scheme, target and memory mode."""
        schemes, targets, modes = self._sweep["schemes"], self._sweep["targets"], self._sweep["memory_modes"]
        return (
            schemes[item // (len(targets) * len(modes))],
            targets[item // len(modes) % len(targets)],
            modes[item % len(modes)],
        )

    def add(self, item: int, line: dict[str, Any], text: str, programs: dict[str, bytes]) -> None:
        if (line["scheme"], line["target"], line["memory_mode"]) != self._names(item):
            raise ClusterError(f"combination {item}: a worker returned the row of another combination")
        self._open().add(text, line.get("program"), programs)

    def give_up(self, item: int, reason: str) -> None:
        scheme, target, mode = self._names(item)
        row = {
            "quantization": scheme or "as is",
            "target": target,
            "system_config": "",
            "memory_mode": mode,
            "status": "failed",
            "reason": reason,
            "notes": [],
        }
        self._open().add(
            json.dumps({"scheme": scheme, "target": target, "memory_mode": mode, "machine": True, "row": row}), None, {}
        )


def _files_of(sweep: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((option["name"], path) for option in sweep["files"] for path in option["values"])


def _jobs(said: dict[str, Any], here: Here, folder: Path) -> Iterator[Job]:
    missing = [sweep for sweep in said["sweeps"] if sweep["missing"]]
    known = [stamps(_files_of(sweep)) for sweep in missing]
    for sweep, before in zip(missing, known, strict=True):
        files = _files_of(sweep)
        if stamps(files) != before:  # the key of the state has the old content
            raise ClusterError(f"{sweep['model']}: a file was changed after the sweep began")
        modes, targets = len(sweep["memory_modes"]), len(sweep["targets"])
        work = Work(
            ("sweep", "--threads=1"),
            tuple(_words_of(sweep["options"])),
            files,
            here.has("--output"),
            here.number("--timeout", 0),
        )
        sink = _Sink(sweep, folder)
        yield Job(work, Parts(sweep["missing"], targets * modes, modes), sink.add, sink.give_up, sink.close)


def _share(said: dict[str, Any], here: Here, folder: Path) -> None:
    total = sum(len(sweep["schemes"]) * len(sweep["targets"]) * len(sweep["memory_modes"]) for sweep in said["sweeps"])
    missing = sum(all_items(sweep["missing"]) for sweep in said["sweeps"])
    share(here, "combinations", total, missing, _jobs(said, here, folder), folder)


def main(words: Sequence[str]) -> int:
    """Runs the arguments of `carina sweep`. Returns the exit code. Errors: ClusterError."""
    return with_state("sweep", words, _share)
