"""80 of the Arm backend's own tests, each with the class that it had when the sample was chosen. `make test-all` runs 500, and `make
conformance` all.

The first run captures them, which takes minutes: PyTorch exports the models, and the peer's quantizer quantizes some. They are stored in
build/test-env/cache/arm.
"""

import warnings

import run
import sample
from program import Program
from tier_plugin import sampled

from report import GOOD

LEAST = {"whole": 490, "part": 60}  # a smaller sample is an error


def worse(expected, got):
    """Wrong numbers and crashes are always errors. A good case must stay good, and a case with correct numbers must keep them."""
    if got in ("wrong", "crash"):
        return expected != got
    return (expected in GOOD and got not in GOOD) or (expected == "partial" and got == "rejected")


def test_no_case_is_worse_than_its_recorded_class(carina):
    share = sampled("part", "whole")
    entries = sample.share_of(share)
    assert len(entries) >= LEAST[share]
    sample.capture_apart(share)
    outcomes = run.check_all(Program(carina), sample.captured(entries), jobs=2, progress=False)
    assert all(o["class"] not in ("na", "counted") for o in outcomes)
    pairs = [(e["class"], o) for e, o in zip(entries, outcomes)]
    better = [f"{o['kind']} {o['id']}" for was, o in pairs if was not in GOOD and o["class"] in GOOD]
    if better:
        warnings.warn(
            f"{len(better)} cases have become good (tests/integration/arm/run.py --choose): " + ", ".join(better)
        )
    bad = [
        f"{o['kind']} {o['id']}: was {was}, is {o['class']}: {o.get('reason')}"
        for was, o in pairs
        if worse(was, o["class"])
    ]
    assert not bad, "\n".join(bad)
