"""Calls in a child process, so that a crash or a hang of what is called is an outcome and not the end.

    for item, outcome in each_apart(function, items, seconds=60): ...

A child handles one item after the other until it dies; the next child goes on after the item that killed it. A fork
inherits the imports, which take seconds, so a child costs 20 ms. An outcome is the JSON of the function's result, a
dict, or a Died.
"""

import contextlib
import json
import os
import select
import signal
import sys
import traceback
from dataclasses import dataclass

CHUNK = 200  # items of a child, so that what it never frees stays small


@dataclass(frozen=True)
class Died:
    how: str  # "signal SIGSEGV", "more than 60 s", the text of an exception


def each_apart(function, items, seconds=60):
    items = list(items)
    while items:
        done = 0
        for item, outcome in _one_child(function, items[:CHUNK], seconds):
            done += 1
            yield item, outcome
        items = items[done:]


def apart(function, item, seconds=60):
    return next(iter(each_apart(function, [item], seconds)))[1]


def _one_child(function, items, seconds):
    """The outcomes of a child. The last one may be a Died."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _serve(function, items, writer)
    os.close(writer)
    rest = b""
    try:
        for item in items:
            while b"\n" not in rest:
                if not select.select([reader], [], [], seconds)[0]:
                    os.kill(pid, signal.SIGKILL)
                    yield item, Died(f"more than {seconds} s")
                    return
                read = os.read(reader, 1 << 16)
                if not read:
                    yield item, Died(_end_of(os.waitpid(pid, 0)[1]))
                    pid = 0
                    return
                rest += read
            line, rest = rest.split(b"\n", 1)
            outcome = json.loads(line)
            yield item, Died(outcome["exception"]) if "exception" in outcome else outcome
    finally:
        os.close(reader)
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _serve(function, items, writer):
    """In the child. Does not return. Its own output is dropped: the reference model prints lines for every graph."""
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    for item in items:
        try:
            outcome = function(item)
        except Exception:
            outcome = {"exception": traceback.format_exc()}
        text = json.dumps(outcome).encode() + b"\n"
        while text:
            text = text[os.write(writer, text) :]
    os._exit(0)


def _end_of(status):
    code = os.waitstatus_to_exitcode(status)
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
