"""Verdicts (class, reason) on the results of a case, by the rules of the suite."""

import json

import cache
import numpy as np
from numbers_rule import Parameters, against_float, close, metrics, observed


class Graph:
    """A graph in the cache."""

    def __init__(self, key):
        self.folder = cache.graph(key)
        self.facts = json.loads((self.folder / "graph.json").read_text())
        self.model = self.folder / "model.pt2"
        self.inputs = self.arrays("x")
        self.reference = self.arrays("ref")

    def arrays(self, stem):
        paths = sorted(self.folder.glob(f"{stem}[0-9]*.npy"), key=lambda p: int(p.stem.removeprefix(stem)))
        return [np.load(p) for p in paths]

    def parameters(self, of):
        return [Parameters(**q) if q else None for q in self.facts.get(f"{of}_parameters", [])]


class Comparison:
    """Compares the results of one case. Measurements are added to `found`."""

    def __init__(self, case, found):
        self.case, self.found = case, found

    def compare(self, results, graph, steps=None):
        """(class, reason) by atol and rtol. A quantized value may differ by the suite's number of steps."""
        reference, case = graph.reference, self.case
        if len(results) != len(reference):
            return "wrong", f"{len(results)} outputs instead of {len(reference)}"
        steps = steps or [None] * len(results)
        bad, self.found["out"] = [], []
        for i, (ours, theirs, q) in enumerate(zip(results, reference, steps)):
            measured = metrics(ours, theirs, q and q.scale)
            self.found["out"].append({**measured, "types": f"{ours.dtype}/{theirs.dtype}"})
            if ours.shape != theirs.shape:
                bad.append(f"output {i}: shape {list(ours.shape)} instead of {list(theirs.shape)}")
            elif not close(ours, theirs, case["atol"] + (case["qtol"] * q.scale if q else 0), case["rtol"]):
                bad.append(
                    f"output {i}: max difference {measured.get('max_difference')}, {measured.get('steps')} steps, SQNR {measured.get('sqnr')} dB"
                )
        return ("wrong", "; ".join(bad)) if bad else ("pass", "")

    def compare_own(self, results, graph, parameters):
        """(class, reason) of a model that Carina quantized, by the suite's float rule. `within_a_step` is a stricter measure that is only
        recorded."""
        if len(results) != len(graph.reference):
            return "wrong", f"{len(results)} outputs instead of {len(graph.reference)}"
        bad, near_all, self.found["out"] = [], True, []
        for i, (ours, theirs, q) in enumerate(zip(results, graph.reference, parameters)):
            measured = metrics(ours, theirs, q and q.scale)
            self.found["out"].append({**measured, "types": f"{ours.dtype}/{theirs.dtype}"})
            why, near = self.check_output(ours, theirs, q)
            near_all &= near
            if why:
                bad.append(f"output {i}: {why}, SQNR {measured.get('sqnr')} dB, {measured.get('steps')} steps")
        self.found["within_a_step"] = near_all
        if not bad:
            return "pass", ""
        return ("as_peer" if self.peer_is_no_better(graph) else "wrong"), "; ".join(bad)

    def check_output(self, ours, theirs, q):
        """Returns a description of the mismatch ('' if there is none), and whether the result is within one step of the float model."""
        case = self.case
        if ours.shape != theirs.shape:
            return f"shape {list(ours.shape)} instead of {list(theirs.shape)}", False
        near = close(ours, theirs, case["atol"] + (max(case["qtol"], 1) * q.scale if q else 0), case["rtol"])
        if near:
            return "", True
        if theirs.dtype.kind != "f":
            return f"{theirs.dtype} differs", False
        return against_float(ours, theirs, q or observed(theirs), case["frobenius"], case["cosine"]), False

    def peer_is_no_better(self, graph):
        """True if the peer's quantized model fails the float rule too and is at most 1 dB better."""
        if "quantized" not in self.case:
            return False
        peer = Graph(self.case["quantized"]).reference
        fails = any(
            theirs.dtype.kind == "f"
            and against_float(its, theirs, observed(theirs), self.case["frobenius"], self.case["cosine"])
            for its, theirs in zip(peer, graph.reference)
        )
        its_sqnr = [metrics(its, theirs).get("sqnr") for its, theirs in zip(peer, graph.reference)]
        self.found["peer_sqnr"] = its_sqnr
        ours = [measured.get("sqnr") for measured in self.found["out"]]
        return fails and all(a == b or (None not in (a, b) and a >= b - 1) for a, b in zip(ours, its_sqnr))
