"""`carina accuracy --scheduler`: each sample is an item. The command adds the scores in the order of the samples, so the result has
the same bytes as on one machine."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from carina.cluster.command import Here, share, with_state
from carina.cluster.faults import ClusterError
from carina.cluster.parts import Parts
from carina.cluster.sharing import Job, all_items
from carina.cluster.state import State
from carina.cluster.work import Work


class _Sink:
    """Writes scores to the state. If one sample has no score, the command fails, because the report needs all of them."""

    def __init__(self, folder: Path, key: str) -> None:
        self._state = State(folder, key)

    def add(self, item: int, line: dict[str, Any], text: str, programs: dict[str, bytes]) -> None:
        if line.get("sample") != item:
            raise ClusterError(f"sample {item}: a worker returned the score of another sample")
        self._state.add(text, None, {})

    def give_up(self, item: int, reason: str) -> None:
        raise ClusterError(reason.removeprefix("carina: error: "))


def _jobs(said: dict[str, Any], here: Here, folder: Path) -> Iterator[Job]:
    files = tuple((option["name"], path) for option in said["files"] for path in option["values"])
    work = Work(("accuracy", "--threads=1"), tuple(said["words"]), files, False, here.number("--timeout", 0))
    sink = _Sink(folder, said["key"])
    yield Job(work, Parts(said["missing"], said["samples"], 1), sink.add, sink.give_up)


def _share(said: dict[str, Any], here: Here, folder: Path) -> None:
    share(here, "samples", said["samples"], all_items(said["missing"]), _jobs(said, here, folder), folder)


def main(words: Sequence[str]) -> int:
    """Runs the arguments of `carina accuracy`. Returns the exit code. Errors: ClusterError."""
    return with_state("accuracy", words, _share)
