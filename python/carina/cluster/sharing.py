"""Divides jobs among the workers of a cluster, and handles failures of workers.

Dask schedules the tasks. This module chooses the items of each task, submits failed items again, and detects the end. At most a few
tasks per thread are submitted at a time. So the work adapts to workers that start or stop, and the memory of the client does not
depend on the size of the work.
"""

import contextlib
import json
import logging
import os
import sys
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from carina.cluster import calls
from carina.cluster.faults import Attempts, ClusterError, Fault
from carina.cluster.parts import Parts, items_of, ranges_of
from carina.cluster.plugin import Cleaner, OfWorker, Shipped
from carina.cluster.progress import Progress
from carina.cluster.work import CARINA, Program, Work, packed
from carina.cluster.workers import Workers

if TYPE_CHECKING:
    from distributed import Client, Future

_TASKS_PER_THREAD = 2
_POLL_SECONDS = 1.0
_PAUSE_SECONDS = 0.02
_UNREADY_SECONDS = 0.5
_REGISTER_SECONDS = 2.0  # usual maximum time until all workers have the files
_END_SECONDS = 10.0
_MAX_FETCHED = 16  # maximum number of results in transfer at a time, which bounds the client's memory


@dataclass
class Job:
    """A work, and the functions that take its results."""

    work: Work
    parts: Parts
    add: Callable[
        [int, dict[str, Any], str, dict[str, bytes]], None
    ]  # item, line as JSON and as text, programs. Errors: OSError
    give_up: Callable[[int, str], None]  # item, reason. Errors: OSError
    close: Callable[[], None] = lambda: None  # all items are finished
    attempts: Attempts = field(default_factory=Attempts)
    name: str = ""  # name of its plugin; "": not registered yet
    open: int = 0  # parts that are submitted or wait for another attempt


@dataclass
class _Part:
    job: Job
    items: list[int]
    is_fresh: bool = False
    avoids: str = ""  # the worker that must not run it again
    workers: frozenset[str] | None = None  # where it may run; None: anywhere
    not_before: float = 0.0
    unready: int = 0  # how often its worker was not set up


def quiet() -> None:
    """Disables Dask's own log messages, because this package reports the same failures in one line each."""
    logging.disable(logging.CRITICAL)
    sys.unraisablehook = lambda _: None  # a client that could not connect raises in its destructor


class Sharing:
    """One run. Errors of run(): ClusterError."""

    def __init__(
        self,
        client: "Client",
        identity: tuple[str, str],
        progress: Progress,
        wait_seconds: float,
        program: Program = CARINA,
    ) -> None:
        from distributed import as_completed

        self._client, self._identity, self._progress, self._wait = client, identity, progress, wait_seconds
        self._program = program
        self._id = f"carina-{os.urandom(6).hex()}"
        self._address = client.scheduler.address
        self._workers = Workers(client, self._id, progress.log)
        self._ended = as_completed(loop=client.loop)  # ended tasks whose results are still on workers
        self._fetched = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._fetching = 0
        self._sent: dict[Future, _Part] = {}
        self._again: deque[_Part] = deque()
        self._count = 0
        self._polled = 0.0
        self._last_worker = time.monotonic()
        self._said_waiting = False
        self._exhausted = False  # whether all jobs have begun
        self._plugins: dict[str, calls.Call] = {}  # the last call about each plugin, until it has ended

    def run(self, jobs: Iterator[Job]) -> None:
        self._source, self._jobs = jobs, deque[Job]()
        try:
            self._client.register_plugin(Cleaner(self._client.id, self._id))
            self._register(self._id, Work((), (), (), False, 0, self._program))
            while self._step():
                self._progress.show()
        except ClusterError:
            raise
        except Exception as error:  # the classes of Dask's errors differ, also for one cause
            self._check_scheduler()
            if isinstance(error, OSError | ValueError):
                raise ClusterError(f"the scheduler {self._address} does not answer: {_first_line(error)}") from error
            raise
        finally:
            self._end()

    # --- the loop --------------------------------------------------------------------------------------------------------

    def _step(self) -> bool:
        self._poll()
        self._submit()
        if self._exhausted and not self._sent and not self._again and not self._jobs:
            return False
        if not self._ended.has_ready() and not self._fetched.has_ready():
            time.sleep(_PAUSE_SECONDS)
        self._fetch()
        while self._fetched.has_ready():
            future, result = next(self._fetched)
            self._fetching -= 1
            self._take(future, result)
            self._fetch()
        self._progress.running = len(self._sent)
        return True

    def _fetch(self) -> None:
        while self._fetching < _MAX_FETCHED and self._ended.has_ready():
            self._fetched.add(next(self._ended))
            self._fetching += 1

    def _poll(self) -> None:
        now = time.monotonic()
        if now - self._polled < _POLL_SECONDS:
            return
        self._polled = now
        self._check_scheduler()
        self._workers.poll()
        self._progress.workers = len(self._workers.accepted())
        self._check_workers(now)
        self._move_stranded()
        self._move_silent()

    def _check_scheduler(self) -> None:
        if self._client.status != "running":
            raise ClusterError(f"the scheduler {self._address} has stopped, or the connection is lost")

    def _check_workers(self, now: float) -> None:
        if self._workers.accepted():
            self._last_worker, self._said_waiting = now, False
            return
        rejected = self._workers.rejected
        if rejected and set(rejected) == self._workers.present():
            raise ClusterError(
                f"no worker of {self._address} can be used: "
                + "; ".join(f"{address}: {why}" for address, why in sorted(rejected.items()))
            )
        if now - self._last_worker > self._wait:
            raise ClusterError(
                f"{self._address} had no worker for {self._wait:g} s",
                hint="start workers, or wait longer: --wait SECONDS",
            )
        if not self._said_waiting:
            self._progress.log(f"note: waiting at most {self._wait:g} s for a worker at {self._address}")
            self._said_waiting = True

    def _move_stranded(self) -> None:
        """Submits tasks again that were restricted to workers that no longer exist."""
        present = self._workers.present()
        self._move(
            [future for future, part in self._sent.items() if part.workers is not None and not part.workers & present]
        )

    def _move_silent(self) -> None:
        """Submits tasks again that are on workers that do not answer."""
        if self._workers.silent and self._workers.accepted():
            keys = {
                key for some in self._client.processing(workers=sorted(self._workers.silent)).values() for key in some
            }
            self._move([future for future in self._sent if future.key in keys])

    def _move(self, futures: Sequence["Future"]) -> None:
        for future in futures:
            self._again.append(self._sent.pop(future))
        if futures:
            self._client.cancel(list(futures))

    # --- tasks -----------------------------------------------------------------------------------------------------------

    def _submit(self) -> None:
        threads = self._workers.threads()
        if threads == 0:
            return
        batches: dict[tuple[str, frozenset[str] | None], list[_Part]] = {}
        room = threads * _TASKS_PER_THREAD - len(self._sent)
        while room > 0 and (part := self._next_part(threads)) is not None:
            part.workers = self._places(part)
            batches.setdefault((part.job.name, part.workers), []).append(part)
            room -= 1
        for (name, workers), parts in batches.items():
            self._send(name, workers, parts)

    def _send(self, name: str, workers: frozenset[str] | None, parts: Sequence[_Part]) -> None:
        keys = [f"{name}-part-{self._count + index}" for index in range(len(parts))]
        self._count += len(parts)
        where = {} if workers is None else {"workers": sorted(workers)}
        futures = self._client.map(
            OfWorker(name, "run"), [ranges_of(part.items) for part in parts], key=keys, pure=False, **where
        )
        self._sent.update(zip(futures, parts, strict=True))
        self._ended.update(futures)

    def _places(self, part: _Part) -> frozenset[str] | None:
        accepted = self._workers.accepted()
        others = accepted - {part.avoids}
        if part.avoids in accepted and others:
            return frozenset(others)
        return frozenset(accepted) if accepted != self._workers.present() else None

    def _next_part(self, threads: int) -> _Part | None:
        now = time.monotonic()
        for _ in range(len(self._again)):
            part = self._again.popleft()
            if part.not_before <= now:
                return part
            self._again.append(part)
        for job in self._open_jobs():
            items = job.parts.take(threads)
            if items is not None:
                job.open += 1
                return _Part(job, items, is_fresh=True)
        return None

    def _open_jobs(self) -> Iterator[Job]:
        """Yields the jobs that have begun, then new ones."""
        yield from list(self._jobs)
        for job in self._source:
            job.name = f"{self._id}-{self._count}"
            try:
                self._register(job.name, job.work)
            except OSError as error:
                raise ClusterError(f"cannot send {error.filename}: {error.strerror}") from error
            self._jobs.append(job)
            yield job
        self._exhausted = True

    def _register(self, name: str, work: Work) -> None:
        """Sends the files to all workers. Workers that have not received them return None (OfWorker)."""
        self._count += 1
        plugin = Shipped(packed(work, name, *self._identity))
        self._plugins = {name: call for name, call in self._plugins.items() if not call.done()}
        self._plugins[name] = calls.begin(self._client, self._client.register_plugin, plugin)
        calls.wait([self._plugins[name]], _REGISTER_SECONDS)

    def _unregister(self, name: str) -> None:
        self._plugins[name] = calls.begin(self._client, self._client.unregister_worker_plugin, name)

    def _close_if_done(self, job: Job) -> None:
        if job.open == 0 and job.parts.empty():
            self._jobs.remove(job)
            self._unregister(job.name)
            job.close()

    # --- results ---------------------------------------------------------------------------------------------------------

    def _take(self, future: "Future", result: Any) -> None:
        part = self._sent.pop(future, None)
        if part is None:
            return  # moved
        if future.status == "cancelled" or future.status == "lost":
            self._check_scheduler()
            self._again.append(part)
        elif future.status == "error":
            self._take_error(part, result[1])
        elif result is None:
            self._wait_for_setup(part)
        else:
            self._take_result(part, result)

    def _wait_for_setup(self, part: _Part) -> None:
        sending = self._plugins.get(part.job.name)
        part.unready += sending is None or sending.done()  # large files take time
        if part.unready * _UNREADY_SECONDS > max(self._wait, 10 * _UNREADY_SECONDS):
            raise ClusterError(
                f"the workers of {self._address} do not receive the files; the scheduler may have been restarted"
            )
        part.not_before = time.monotonic() + _UNREADY_SECONDS
        self._again.append(part)

    def _take_error(self, part: _Part, error: BaseException) -> None:
        """Handles an error of Dask: all workers that ran the part died."""
        from distributed import KilledWorker

        job = part.job
        self._measured(part, {"prepare_seconds": 0.0, "seconds": 0.0}, 0)
        if isinstance(error, KilledWorker):
            address = error.last_worker.address
            if len(part.items) > 1:  # it is not known which item is the cause, so each item runs alone
                self._put_back(job, *([item] for item in part.items))
            else:
                self._give_up(
                    job,
                    part.items[0],
                    f"killed {error.allowed_failures + 1} workers, at last {address} ({self._workers.host(address) or error.last_worker.name})",
                )
        else:
            fault = Fault("worker", f"{type(error).__name__}: {_first_line(error)}", "", "")
            self._try_again(job, part.items, fault)
        self._part_ends(job)

    def _take_result(self, part: _Part, result: dict[str, Any]) -> None:
        job = part.job
        left = dict.fromkeys(part.items)
        again: list[int] = []
        lines = json.loads(zlib.decompress(result["lines"]))
        self._measured(part, result, len(lines))
        for item, text in lines:
            line = json.loads(text)
            if item not in left or line.get("program") not in (None, "", *result["programs"]):
                continue
            del left[item]
            if line.get("machine"):
                fault = Fault("machine", line["row"]["reason"], result["worker"], result["host"])
                again += [item] if self._noted(job, item, fault) else []
            else:
                self._add(job, item, line, text, result["programs"])
        for item in again:
            self._put_back(job, [item], avoids=self._avoided(job, item))
        if left:
            self._take_left(job, list(left), result)
        self._part_ends(job)

    def _take_left(self, job: Job, left: list[int], result: dict[str, Any]) -> None:
        said = result["fault"] or {"kind": "output", "text": "ended without a result for this item"}
        fault = Fault(said["kind"], said["text"], result["worker"], result["host"])
        if fault.kind == "rejected":
            self._workers.reject(fault.worker, fault.text)
            self._put_back(job, left)
        elif fault.kind == "stopped":
            self._put_back(job, left)
        elif fault.kind == "time":
            job.parts.give_back(left)
        elif result["at"] in left:
            self._put_back(job, [item for item in left if item != result["at"]])
            self._try_again(job, [result["at"]], fault)
        else:
            self._try_again(job, left, fault)

    def _try_again(self, job: Job, items: Sequence[int], fault: Fault) -> None:
        kept = [item for item in items if self._noted(job, item, fault)]
        last = [item for item in kept if job.attempts.is_last(item)]
        self._put_back(job, [item for item in kept if item not in last])
        self._put_back(job, last, avoids=fault.worker)

    def _noted(self, job: Job, item: int, fault: Fault) -> bool:
        """Records a fault. Returns whether the item gets another attempt."""
        if not job.attempts.failed(item, fault):
            return True
        self._give_up(job, item, job.attempts.reason(item))
        return False

    def _avoided(self, job: Job, item: int) -> str:
        return job.attempts.last[item].worker if job.attempts.is_last(item) else ""

    def _put_back(self, job: Job, *groups: list[int], avoids: str = "") -> None:
        for items in groups:
            if items:
                job.open += 1
                self._again.append(_Part(job, items, avoids=avoids))

    def _part_ends(self, job: Job) -> None:
        self._progress.parts += 1
        job.open -= 1
        self._close_if_done(job)

    def _measured(self, part: _Part, result: dict[str, Any], finished: int) -> None:
        if part.is_fresh:
            fault = result.get("fault")
            seconds = 0.0 if (fault and fault["kind"] != "time") or finished == 0 else result["seconds"]
            part.job.parts.measured(part.items[0], finished, result["prepare_seconds"], seconds)

    def _add(self, job: Job, item: int, line: dict[str, Any], text: str, programs: dict[str, bytes]) -> None:
        with _keeping():
            job.add(item, line, text, programs)
        self._progress.done += 1
        self._progress.failed += line.get("row", {}).get("status") == "failed"

    def _give_up(self, job: Job, item: int, reason: str) -> None:
        with _keeping():
            job.give_up(item, reason)
        self._progress.done += 1
        self._progress.failed += 1

    # --- the end ---------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Cancels tasks and removes the plugins. Workers then kill their children and remove the files."""
        if self._client.status != "running":
            return
        # The scheduler may have stopped, and its plugins with it.
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            if self._sent:
                self._client.cancel(list(self._sent))
            for name in [*(job.name for job in self._jobs), self._id]:
                self._unregister(name)
            calls.wait(self._plugins.values(), _END_SECONDS)


@contextlib.contextmanager
def _keeping() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ClusterError(f"cannot keep the results: {error}") from error


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def all_items(ranges: Sequence[Sequence[int]]) -> int:
    return sum(1 for _ in items_of(ranges))
