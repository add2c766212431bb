"""Checks carina on captured cases. It only runs the program and imports nothing of Carina.

Classes
  pass      correct, and delegated as the test requires
  as_peer   fails the suite's float rule, but so does the peer's own quantized model, and Carina's is at most 1 dB worse
  partial   the numbers are correct, but a part is not on the NPU or not integer
  rejected  exit code 1 with a reason
  wrong     the numbers are wrong
  crash     a signal, an internal error or a time-out, or Carina rejects its own file
  na        PyTorch cannot run or export the test, or the peer's quantizer cannot quantize it
  counted   the kind is not run
"""

import shutil
import tempfile
import time

from attempt import Attempt
from program import Crash, Rejected, reasons


def kinds_of(case):
    """The kinds for which a captured case is checked."""
    kind = case["kind"]
    extra = {"INT": "PT2E", "U55": "PT2E-U55", "U85": "PT2E-U85"}.get(kind)
    return [kind, extra] if extra else [kind]


def needs_peer(kind):
    return kind.startswith("PT2E") or kind.endswith(("-A16W8", "-A8W4", "-Q32"))


RUN = (
    "FP",
    "INT",
    "U55",
    "U85",
    "U65",
    "PT2E",
    "PT2E-U55",
    "PT2E-U85",
    "NS-FP",
    "NS-INT",
    "NS-U55",
    "VGF-FP",
    "VGF-INT",
)
RUN += tuple(f"{base}-{scheme}" for scheme in ("A16W8", "A8W4", "Q32") for base in ("INT", "U55", "U85"))


def inapplicable(case, kind):
    if kind not in RUN:
        return {"class": "counted"}
    if "unable" in case:
        return {"class": "na", "stage": "pytorch", "reason": case["unable"]}
    if needs_peer(kind) and "quantized" not in case:
        return {
            "class": "na",
            "stage": "peer quantizer",
            "reason": case.get("peer_unable", "the pipeline does not quantize"),
        }
    return None


def outcome(program, case, kind):
    """The record of a case and a kind."""
    found = {"id": case["id"], "kind": kind, "peer": case["peer"]}
    if (known := inapplicable(case, kind)) is not None:
        return {**found, **known}
    folder, started = tempfile.mkdtemp(prefix="arm-"), time.monotonic()
    attempt = Attempt(program, case, kind, folder)
    try:
        found["class"], found["reason"] = attempt.check()
    except Rejected as error:
        why = reasons(error.text)
        found.update(
            {
                "class": "rejected",
                "stage": error.stage,
                "reason": why[0][1],
                "reasons": [list(r) for r in dict.fromkeys(why)][:12],
            }
        )
    except Crash as error:
        found.update({"class": "crash", "stage": error.stage, "reason": error.text[:500]})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {**found, **attempt.found, "seconds": round(time.monotonic() - started, 3)}
