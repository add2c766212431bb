"""Finds the workers that can be used: those with the same command and version of Python as the client."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from carina.cluster.plugin import OfWorker

if TYPE_CHECKING:
    from distributed import Client


class Workers:
    """The current workers of the cluster. Calls `say` with a line for each rejected worker."""

    def __init__(self, client: "Client", site: str, say: Callable[[str], None]) -> None:
        self._client, self._site, self._say = client, site, say
        self._threads: dict[str, int] = {}
        self._hosts: dict[str, str] = {}  # host of each checked worker
        self.refused: dict[str, str] = {}

    def poll(self) -> None:
        """Updates the list of workers, and checks new ones. Errors: OSError of the connection."""
        self._threads = dict(self._client.nthreads())
        self._hosts = {address: host for address, host in self._hosts.items() if address in self._threads}
        self.refused = {address: why for address, why in self.refused.items() if address in self._threads}
        new = [address for address in self._threads if address not in self._hosts]
        if new:
            self._ask(new)

    def _ask(self, new: list[str]) -> None:
        # A worker that is being set up returns None, and one that has just stopped returns nothing. Both are checked again.
        said: dict[str, Any] = self._client.run(OfWorker(self._site, "status"), workers=new, on_error="return")
        for address, status in said.items():
            if not isinstance(status, dict):
                continue
            self._hosts[address] = status["host"]
            if status["refusal"] is not None:
                self.refuse(address, status["refusal"])

    def refuse(self, address: str, why: str) -> None:
        if address not in self.refused:
            self._say(f"warning: {self.name(address)} gets no work: {why}")
        self.refused[address] = why

    def name(self, address: str) -> str:
        host = self._hosts.get(address)
        return f"worker {address} ({host})" if host else f"worker {address}"

    def host(self, address: str) -> str:
        return self._hosts.get(address, "")

    def present(self) -> set[str]:
        return set(self._threads)

    def accepted(self) -> set[str]:
        return {address for address in self._hosts if address not in self.refused}

    def threads(self) -> int:
        return sum(self._threads[address] for address in self.accepted())
