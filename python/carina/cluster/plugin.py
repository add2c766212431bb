"""Sends the code of on_worker.py to the workers as text in a Dask plugin, so that they need no package of Carina.

Dask sets up a plugin on every worker, including workers that start or restart later. The pickle of the plugin contains source text and
data, so a worker with another version of Python can read it and report its version.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin

_SOURCE = Path(__file__).with_name("on_worker.py")
_LOAD = "(exec(compile(source, 'carina_on_worker.py', 'exec'), globals()), Site(work))[1]"


class Shipped(WorkerPlugin):  # type: ignore[misc]
    """A plugin that is unpickled as an on_worker.Site on workers."""

    def __init__(self, work: dict[str, Any]) -> None:
        self.name = work["name"]
        self._work = work

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return eval, (_LOAD, {"__name__": "carina_on_worker", "source": _SOURCE.read_text(), "work": self._work})


_CLEANER = """
import asyncio
from distributed.diagnostics.plugin import SchedulerPlugin

class Cleaner(SchedulerPlugin):
    def remove_client(self, scheduler, client):
        if client == self.client:
            asyncio.ensure_future(self.clean(scheduler))

    async def clean(self, scheduler):
        for name in [name for name in scheduler.worker_plugins if name.startswith(self.prefix)]:
            if name in scheduler.worker_plugins:
                await scheduler.unregister_worker_plugin(comm=None, name=name)
        await scheduler.unregister_scheduler_plugin(name=self.name)

cleaner = Cleaner()
cleaner.client, cleaner.prefix, cleaner.name = client, prefix, prefix + "-cleaner"
"""
_LOAD_CLEANER = "(exec(compile(source, 'carina_cleaner.py', 'exec'), globals()), cleaner)[1]"


class Cleaner(SchedulerPlugin):  # type: ignore[misc]
    """A scheduler plugin that removes the worker plugins with a prefix when their client disconnects, even if it was killed."""

    def __init__(self, client: str, prefix: str) -> None:
        self._client, self._prefix, self.name = client, prefix, f"{prefix}-cleaner"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return eval, (
            _LOAD_CLEANER,
            {"__name__": "carina_cleaner", "source": _CLEANER, "client": self._client, "prefix": self._prefix},
        )


class OfWorker:
    """A function that calls `run` or `status` of the Site with this name on the worker where it runs. Its pickle has about 200 bytes.

    It returns None if the Site is not set up yet.
    """

    def __init__(self, name: str, method: str) -> None:
        self._name, self._method = name, method

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        # Client.run passes `dask_worker` to the function. In a task, get_worker() returns it.
        worker = "(dask_worker or __import__('distributed').get_worker())"
        site = f"{worker}.plugins.get({self._name!r})"
        call = "site.run(items)" if self._method == "run" else "site.status()"
        return eval, (f"lambda items=None, dask_worker=None: (lambda site: site and {call})({site})",)

    def __call__(self, *arguments: Any) -> Any:
        raise RuntimeError("this function runs on workers")
