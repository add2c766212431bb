"""Finds the workers that can be used: those with the same command and version of Python as the client."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from carina.cluster import calls
from carina.cluster.plugin import OfWorker

if TYPE_CHECKING:
    from distributed import Client


_ANSWER_SECONDS = 0.5  # usual maximum time of an answer
_SILENT_CHECK_SECONDS = 10.0
_SILENT_SECONDS = 60.0  # a worker that sends no heartbeat for this time gets no work; Dask itself waits 300 s


class Workers:
    """The current workers of the cluster. Calls `log` with a line for each rejected worker."""

    def __init__(self, client: "Client", site: str, log: Callable[[str], None]) -> None:
        self._client, self._site, self._log = client, site, log
        self._threads: dict[str, int] = {}
        self._hosts: dict[str, str] = {}  # host of each checked worker
        self._asked: dict[str, calls.Call] = {}
        self._pauses: dict[
            str, tuple[float, float]
        ] = {}  # until when a worker is not asked again, and the seconds of this pause
        self.rejected: dict[str, str] = {}
        self.silent: set[str] = set()
        self._checked = time.monotonic()

    def poll(self) -> None:
        """Updates the list of workers, and checks new ones. Errors: OSError of the connection."""
        self._threads = dict(self._client.nthreads())
        self._hosts = {address: host for address, host in self._hosts.items() if address in self._threads}
        self.rejected = {address: why for address, why in self.rejected.items() if address in self._threads}
        self._asked = {address: call for address, call in self._asked.items() if address in self._threads}
        now = time.monotonic()
        self._ask(
            [
                address
                for address in self._threads
                if address not in self._hosts
                and address not in self._asked
                and self._pauses.get(address, (now, 0))[0] <= now
            ]
        )
        for address, call in list(self._asked.items()):
            if call.done():
                del self._asked[address]
                self._answered(address, calls.result_of(call))
        if time.monotonic() - self._checked > _SILENT_CHECK_SECONDS:
            self._checked = time.monotonic()
            self._check_heartbeats()

    def _check_heartbeats(self) -> None:
        # The times are the scheduler's. Comparing them with each other does not depend on the clock of this machine.
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        seen = {address: float(worker["last_seen"]) for address, worker in workers.items()}
        silent = {address for address in seen if max(seen.values()) - seen[address] > _SILENT_SECONDS}
        for address in sorted(silent - self.silent):
            self._log(
                f"warning: {self.name(address)} has not answered for {_SILENT_SECONDS:g} s: other workers do its work"
            )
        self.silent = silent

    def _ask(self, new: list[str]) -> None:
        # Each worker has a call of its own, because one that does not answer delays the answers of the others in a
        # common call.
        for address in new:
            self._asked[address] = calls.begin(
                self._client, self._client.run, OfWorker(self._site, "status"), workers=[address], on_error="return"
            )
        calls.wait([self._asked[address] for address in new], _ANSWER_SECONDS)

    def _answered(self, address: str, said: dict[str, Any] | None) -> None:
        # A worker that is being set up returns None, and one that has just stopped returns an exception. Both are asked
        # again.
        status = (said or {}).get(address)
        if not isinstance(status, dict):
            pause = min(2 * self._pauses.get(address, (0, _ANSWER_SECONDS / 2))[1], _SILENT_CHECK_SECONDS)
            self._pauses[address] = (time.monotonic() + pause, pause)
            return
        self._hosts[address] = status["host"]
        if status["rejection"] is not None:
            self.reject(address, status["rejection"])

    def reject(self, address: str, why: str) -> None:
        if address not in self.rejected:
            self._log(f"warning: {self.name(address)} gets no work: {why}")
        self.rejected[address] = why

    def name(self, address: str) -> str:
        host = self._hosts.get(address)
        return f"worker {address} ({host})" if host else f"worker {address}"

    def host(self, address: str) -> str:
        return self._hosts.get(address, "")

    def present(self) -> set[str]:
        return set(self._threads)

    def accepted(self) -> set[str]:
        return {address for address in self._hosts if address not in self.rejected and address not in self.silent}

    def threads(self) -> int:
        return sum(self._threads[address] for address in self.accepted())
