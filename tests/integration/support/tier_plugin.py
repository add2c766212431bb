"""Settings for every integration test: how programs start, what a test costs, and its tier.

Signals   A shell that starts a job in the background makes it ignore SIGINT and SIGQUIT, and some block SIGPIPE; children
inherit both. So programs under test start with the default dispositions, except SIGHUP, because `nohup` shall
protect them too. A test that sends SIGHUP restores it for its own child (hangs_up).
Costs     The CPU time of each test and its children becomes the property `cpu_seconds` of the JUnit file.
Tiers     @pytest.mark.long: only in `make test-all`. sampled(20, 300): 300 in `make test-all`, else 20. every(3, cases): all cases in
          `make test-all`, else each third. in_turn(rows, columns): all pairs in `make test-all`, else a column for each row.
Deadline  No test begins in the last eight minutes before CARINA_DEADLINE (scripts/test.py); it counts as skipped.
"""

import gc
import itertools
import os
import signal
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / os.environ.get("CARINA_BUILD", "build")
DEFAULTS = {
    "CARINA_BIN": BUILD / "release" / "bin" / "carina",
    "CARINA_TEST_ENV": BUILD / "test-env",
    "CARINA_FIRMWARE": BUILD / "release" / "share" / "carina" / "firmware",
    "CARINA_DEV_CHECKS": 1,
}
MARKERS = {
    "long": "takes minutes, or an environment of its own: only in `make test-all`",
    "small_memory": "limits the address space of a program, which one with sanitizers does not survive",
}
LAST_START = float(os.environ.get("CARINA_DEADLINE", "inf")) - 8 * 60
RESTORED = [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE]


def sampled(some, whole):
    """The number of samples in this tier."""
    return whole if os.environ.get("CARINA_TIER") == "all" else some


def every(step, cases):
    """All cases in `make test-all`, else the first of each `step`: every(3, "abcdefg") is "adg"."""
    return list(cases)[:: sampled(step, 1)]


def in_turn(rows, columns, number=1):
    """Pairs of a row and a column: all in `make test-all`, else `number` columns per row, in turn. in_turn("abc", "xy") is ax, by, cx."""
    chosen = itertools.cycle(columns)
    for row in rows:
        yield from ((row, column) for column in itertools.islice(chosen, sampled(number, len(columns))))


def export_quickly():
    """Called after the imports. torch.export and the peer's passes make many objects that stay: looking for garbage is a tenth of their time.
    A third of to_edge's time is a list of operators, which it makes twice."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    if "torch.export.exported_program" in sys.modules:
        _list_operators_once()


def _list_operators_once():
    """PyTorch's list of operators that decompose implicitly is made anew only when operators have been registered."""
    import torch
    from torch._export import utils
    from torch.export import decomp_utils, exported_program

    known = {}
    name = "_collect_all_valid_cia_ops"
    collected = getattr(utils, name)
    if hasattr(collected, "known"):
        return

    def listed():
        count = len(torch._C._dispatch_get_all_op_names())
        if count not in known:
            known.clear()
            known[count] = collected()
        return known[count]

    listed.known = known
    for module in (utils, decomp_utils, exported_program):
        setattr(module, name, listed)


def restore_signals():
    """Handlers that do nothing, instead of ignored signals: exec resets handlers to the default for the started program."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, RESTORED)
    for number in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def hangs_up():
    """For preexec_fn of a child that will be sent SIGHUP."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def set_defaults():
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, str(value))


class Deadline:
    """Not part of the wrapper below: the wrappers of other plugins have to see each setup."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self):
        if time.time() > LAST_START:
            pytest.skip("the time limit of this run is too near")


def pytest_configure(config):
    config.pluginmanager.register(Deadline())
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    restore_signals()


def cpu_seconds():
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[started] = cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu_seconds", f"{cpu_seconds() - item.stash[started]:.2f}"))


started = pytest.StashKey[float]()
