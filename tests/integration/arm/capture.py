"""Captures the cases of the Arm backend's tests. pytest runs the wheel's files with a run() of pipelines that records the test instead of
running it.

Each test file has a child process: a crash or hang of PyTorch or of the peer's quantizer loses one file. Skip and xfail marks are recorded,
but the tests run.
"""

import contextlib
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass

import cache
from backend_tests import run_pytest, tests_folder
from tier_plugin import export_quickly

CASE_SECONDS = 240
FILE_SECONDS = 2400
QUANTIZED = ("INT", "U55", "U65", "U85")


class Alarm(Exception):
    pass


def on_alarm(*_):
    raise Alarm(f"time-out after {CASE_SECONDS} s")


def peer_mark(item):
    """Whether the suite itself passes the test: pass, 'skip: why' or 'xfail: why'. Marks for a missing FVP or Vulkan do not count."""
    found = "pass"
    for mark in item.iter_markers():
        first = mark.args[0] if mark.args else None
        why = str(mark.kwargs.get("reason", first if isinstance(first, str) else ""))
        condition = mark.kwargs.get("condition", first if isinstance(first, bool) else True)
        if (
            mark.name in ("skip", "skipif")
            and (mark.name == "skip" or condition is True)
            and "model-converter" not in why
        ):
            return f"skip: {why[:80]}"
        if (
            mark.name == "xfail"
            and condition is True
            and mark.kwargs.get("raises") is not FileNotFoundError
            and "VKML" not in why
        ):
            found = f"xfail: {why[:80]}"
    return found


@dataclass
class Order:
    """What to capture of a file."""

    test_file: str
    quantized: bool = True  # with the graphs of the peer's quantizer
    only: frozenset = frozenset()  # ids of cases; empty: all cases
    part: str = "files"  # the folder of the cache

    def is_done(self):
        return cache.is_captured(self.test_file, self.quantized, self.part)

    def keep(self, cases, quantized):
        cache.write(
            cache.file_record(self.test_file, self.part),
            {"file": self.test_file, "quantized": quantized, "cases": cases},
        )


class Recorder:
    """The pytest plugin of one file: collects a record per pipeline, and per test without a pipeline."""

    def __init__(self, order, root):
        self.order, self.root = order, root
        self.cases, self.item, self.count = [], None, 0

    def name(self):
        path = os.path.relpath(str(self.item.path), self.root)
        return f"{path}::{self.item.name}" + (f"#{self.count}" if self.count > 1 else "")

    def captured(self, pipeline):
        """Replaces run() of every pipeline."""
        import pipeline_case

        self.count += 1
        if self.order.only and self.name() not in self.order.only:
            return
        case = pipeline_case.read(pipeline)
        record = {"id": self.name(), "kind": case.kind, "peer": peer_mark(self.item), **case.facts}
        started = time.monotonic()
        signal.alarm(CASE_SECONDS)
        try:
            self.export(case, record)
        except Alarm as error:
            record["unable"] = str(error)
        except Exception:  # an error of this script: no case may get lost
            record["unable"] = "capture failed: " + traceback.format_exc()[-600:]
        finally:
            signal.alarm(0)
        record["capture_seconds"] = round(time.monotonic() - started, 2)
        self.cases.append(record)

    def export(self, case, record):
        import exported_graphs

        try:
            record["float"] = exported_graphs.capture_float(case, record["id"] + case.kind)
        except exported_graphs.Unable as error:
            record["unable"] = str(error)
            return
        if not self.order.quantized or case.quantize_stage is None or case.kind.split("-")[0] not in QUANTIZED:
            return
        try:
            record["quantized"] = exported_graphs.capture_quantized(case, record["float"])
        except exported_graphs.Unable as error:
            record["peer_unable"] = str(error)

    def pytest_runtest_setup(self, item):
        self.item, self.count = item, 0

    def pytest_runtest_logreport(self, report):
        wanted = report.when == "call" or report.outcome in ("failed", "skipped")
        if self.item is None or not wanted or self.count:
            return
        self.count = -1
        text = str(report.longrepr).strip().splitlines()[-1][:300] if report.longrepr else ""
        self.cases.append(
            {
                "id": self.name(),
                "kind": "NO-PIPELINE",
                "peer": peer_mark(self.item),
                "outcome": report.outcome,
                "why": text,
            }
        )

    def pytest_collectreport(self, report):
        if report.failed:
            self.cases.append(
                {
                    "id": self.order.test_file,
                    "kind": "FILE",
                    "peer": "",
                    "unable": str(report.longrepr).strip().splitlines()[-1][:300],
                }
            )


def drive(recorder, path, root, log):
    """Runs pytest on one file with every pipeline's run() replaced."""
    from executorch.backends.arm.test.tester import test_pipeline

    def run(pipeline):
        recorder.captured(pipeline)

    for class_ in vars(test_pipeline).values():
        if isinstance(class_, type) and issubclass(class_, test_pipeline.BasePipeline) and "run" in vars(class_):
            class_.run = run
    signal.signal(signal.SIGALRM, on_alarm)
    run_pytest(root, [path], log.with_suffix(".ini"), recorder, "-pno:skipping", "--assert=plain", "-s")


def child(order, log):
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    root = tests_folder()
    recorder = Recorder(order, root)
    try:
        drive(recorder, root / order.test_file, root, log)
    finally:
        order.keep(recorder.cases, order.quantized)
        os._exit(0)


def settle(order, note):
    """A file that killed its process is recorded as one case that is not applicable. Otherwise each run would try it again."""
    if not order.is_done():
        record = {"id": order.test_file, "kind": "FILE", "peer": "", "unable": note}
        order.keep((cache.cases_of(order.test_file, order.part) or []) + [record], quantized=True)


def capture_file(order):
    """Forks a child that captures one file; waits for it."""
    log = cache.file_record(order.test_file, order.part).with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    pid = os.fork()
    if pid == 0:
        child(order, log)
    deadline = time.monotonic() + FILE_SECONDS
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            settle(order, f"capture took more than {FILE_SECONDS} s")
            return
        time.sleep(0.05)
    settle(order, "capture ended without a result: " + log.read_text(errors="replace")[-300:])


def load():
    """Imports everything that the children need, once before the forks."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # loading hypothesis takes seconds per file
    import offline
    import torch

    torch.set_num_threads(1)
    offline.no_downloads()
    import executorch.backends.arm.test.tester.test_pipeline  # noqa: F401
    import exported_graphs  # noqa: F401
    import pytest  # noqa: F401

    for strict in (False, True):  # torch.export imports more modules on its first use
        with contextlib.suppress(Exception):
            torch.export.export(torch.nn.ReLU(), (torch.zeros(1),), strict=strict)
    export_quickly()  # children neither scan nor copy the parent's objects


def capture(orders, again=False):
    """Captures what the cache lacks. Without the graphs of the peer's quantizer this takes a third of the time."""
    missing = [order for order in orders if again or not order.is_done()]
    if not missing:
        return
    load()
    for number, order in enumerate(missing, 1):
        started = time.monotonic()
        with cache.alone(order.test_file):
            if again or not order.is_done():
                capture_file(order)
        seconds, cases = time.monotonic() - started, len(cache.cases_of(order.test_file, order.part))
        print(
            f"captured {number}/{len(missing)} {order.test_file}: {cases} cases, {seconds:.0f} s",
            file=sys.stderr,
            flush=True,
        )
