"""Calls of Dask's client that wait for workers. They run in the client's event loop, so a worker that does not answer, for example a
stopped process, delays only its own call."""

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client

Call = concurrent.futures.Future[Any]


def begin(client: "Client", function: Callable[..., Awaitable[Any]], *arguments: Any, **more: Any) -> Call:
    """Begins function(*arguments, **more), a method of the client, and does not wait for it."""

    async def call() -> Any:
        return await function(*arguments, **more)  # inside its event loop, the client returns awaitables

    return asyncio.run_coroutine_threadsafe(call(), client.loop.asyncio_loop)


def wait(calls: Iterable[Call], seconds: float) -> None:
    """Waits until all calls have ended, at most `seconds`."""
    concurrent.futures.wait(list(calls), timeout=seconds)


def result_of(call: Call) -> Any:
    """The result of a call that has ended. None: it failed, for example because a worker stopped."""
    return None if call.cancelled() or call.exception() is not None else call.result()
