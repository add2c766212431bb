"""Judges carina on captured cases: nothing of Carina's is imported, only the program is run.

Classes
  pass      right, and delegated as the test asks
  as_peer   fails the suite's float rule, but so does the peer's own quantized model, and ours is at most 1 dB below it
  partial   the numbers are right, but not all is on the NPU, or not all is integer
  refused   exit code 1 with a reason
  wrong     other numbers
  crash     a signal, an internal error, a time-out, or Carina refuses its own file
  na        PyTorch cannot run or export the test, or the peer's quantizer cannot quantize it
  counted   a kind that is not run
"""

import json
import re
import shutil
import tempfile
import time
from pathlib import Path

import cache
import numpy as np
from numbers_rule import Parameters, against_float, close, decoded, metrics, observed
from program import Crash, Refused, reasons

DEFAULT_MACS = {"U55": "ethos-u55-128", "U65": "ethos-u65-256", "U85": "ethos-u85-128"}
NUMPY = {"i8": np.int8, "i16": np.int16, "i32": np.int32}


class Graph:
    """A folder of the cache."""

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


class Attempt:
    """One case of one kind: runs the program in a folder of its own and compares."""

    def __init__(self, program, case, kind, folder):
        self.program, self.case, self.kind, self.folder = program, case, kind, Path(folder)
        self.found = {}
        self.base = kind.removeprefix("NS-").removeprefix("PT2E-").split("-")[0]

    # --- files -----------------------------------------------------------------------------------------------------

    def feed(self, arrays, stem="in"):
        paths = [self.folder / f"{stem}{i}.npy" for i in range(len(arrays))]
        for path, array in zip(paths, arrays):
            np.save(path, array)
        return [word for path in paths for word in ("-i", path)]

    def results(self, graph):
        paths = sorted((self.folder / "out").glob("output_*.npy"), key=lambda p: int(re.search(r"_(\d+)\.npy", p.name).group(1)))
        types = graph.facts["output_types"] + [""] * len(paths)
        return [decoded(np.load(path), type_) for path, type_ in zip(paths, types)]

    def inspect(self, path):
        return json.loads(self.program.own("inspect", path, "--json"))

    def border_parameters(self, pte):
        """(of the inputs, of the outputs) by the quantize and dequantize kernels at the borders of a program; None where there is none."""
        parts = self.inspect(pte)["parts"]
        value = {int(p["index"]): p["is"] for p in parts if p["kind"] == "value"}
        method = next(p for p in parts if p["kind"] == "method")
        numbers = lambda text: [int(v) for v in re.findall(r"\d+", text)]
        entering, leaving = {}, {}
        for part in (p for p in parts if p["kind"] == "instruction"):
            kernel = re.match(r"kernel quantized_decomposed::(de)?quantize_per_tensor\.out \((.*)\)", part.get("does", ""))
            if not kernel:
                continue
            ids = numbers(kernel.group(2))
            q = Parameters(float(value[ids[1]]), *(int(value[i]) for i in ids[2:5]))
            if kernel.group(1):
                leaving[ids[-1]] = q
            else:
                entering.setdefault(ids[0], q)
        return [entering.get(i) for i in numbers(method.get("inputs", ""))], [leaving.get(i) for i in numbers(method.get("outputs", ""))]

    def tosa_types(self, path):
        """(types of the inputs, float types anywhere in the graph)"""
        text = self.inspect(path)["text"]
        return re.findall(r"^  input %[^\s:]+: (\w+)\[", text, re.M), sorted(set(re.findall(r": (fp\w+|bf\w+)\[", text)))

    # --- comparisons -----------------------------------------------------------------------------------------------

    def compare(self, results, graph, steps=None):
        """(class, reason) by atol and rtol, and where a value is quantized by the suite's number of steps."""
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
                bad.append(f"output {i}: max difference {measured.get('max_difference')}, {measured.get('steps')} steps, SQNR {measured.get('sqnr')} dB")
        return ("wrong", "; ".join(bad)) if bad else ("pass", "")

    def compare_own(self, results, graph, parameters):
        """(class, reason) of a model that Carina quantized: the suite's float rule; within_a_step is the harder measure beside it."""
        if len(results) != len(graph.reference):
            return "wrong", f"{len(results)} outputs instead of {len(graph.reference)}"
        bad, near_all, self.found["out"] = [], True, []
        for i, (ours, theirs, q) in enumerate(zip(results, graph.reference, parameters)):
            measured = metrics(ours, theirs, q and q.scale)
            self.found["out"].append({**measured, "types": f"{ours.dtype}/{theirs.dtype}"})
            why, near = self.judge_output(ours, theirs, q)
            near_all &= near
            if why:
                bad.append(f"output {i}: {why}, SQNR {measured.get('sqnr')} dB, {measured.get('steps')} steps")
        self.found["within_a_step"] = near_all
        if not bad:
            return "pass", ""
        return ("as_peer" if self.peer_is_no_better(graph) else "wrong"), "; ".join(bad)

    def judge_output(self, ours, theirs, q):
        """('' or what is wrong, within a step of the float model?)"""
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
        """The peer's quantized model fails the float rule too, and is at most 1 dB better."""
        if "quantized" not in self.case:
            return False
        peer = Graph(self.case["quantized"]).reference
        fails = any(
            theirs.dtype.kind == "f" and against_float(its, theirs, observed(theirs), self.case["frobenius"], self.case["cosine"])
            for its, theirs in zip(peer, graph.reference)
        )
        its_sqnr = [metrics(its, theirs).get("sqnr") for its, theirs in zip(peer, graph.reference)]
        self.found["peer_sqnr"] = its_sqnr
        ours = [measured.get("sqnr") for measured in self.found["out"]]
        return fails and all(a == b or (None not in (a, b) and a >= b - 1) for a, b in zip(ours, its_sqnr))

    # --- kinds -----------------------------------------------------------------------------------------------------

    def quantizing(self, graph):
        calibration = graph.folder / "cal.npz"
        return ["--quantize", "int8", *(["--calibrate", calibration] if calibration.exists() else [])]

    def interpreted(self, graph, tosa, inputs):
        self.program.own("interpret", tosa, *self.feed(inputs), "-o", self.folder / "out")
        return self.results(graph)

    def through_vgf(self, tosa):
        """VGF is what `carina tosa` writes under that name: there and back."""
        self.program.own("tosa", tosa, "-o", self.folder / "m.vgf")
        self.program.own("tosa", self.folder / "m.vgf", "-o", self.folder / "back.tosa")
        return self.folder / "back.tosa"

    def judge_float(self):
        graph, tosa = Graph(self.case["float"]), self.folder / "m.tosa"
        self.program("tosa", graph.model, "--quantize", "none", "-o", tosa)
        if self.kind.startswith("VGF"):
            tosa = self.through_vgf(tosa)
        return self.compare(self.interpreted(graph, tosa, graph.inputs), graph)

    def own_parameters(self, graph):
        """What Carina's quantizer chose for inputs and outputs, by the programs that it compiles for the same model."""
        entering, leaving = [None] * len(graph.inputs), [None] * len(graph.reference)
        for more in (["--target", "ethos-u85-128"], ["--target", "ethos-u55-128"], ["--target", "ethos-u55-128", "--no-delegate"]):
            pte = self.folder / "q.pte"
            try:
                self.program("compile", graph.model, *self.quantizing(graph), *more, "-o", pte)
                more_entering, more_leaving = self.border_parameters(pte)
            except (Refused, Crash):
                continue
            if len(more_entering) == len(entering):
                entering = [a or b for a, b in zip(entering, more_entering)]
            if len(more_leaving) == len(leaving):
                leaving = [a or b for a, b in zip(leaving, more_leaving)]
            if all(entering) and all(leaving):
                break
        return entering, leaving

    def quantized_inputs(self, graph, parameters, types):
        arrays = []
        for array, type_, q in zip(graph.inputs, types, parameters):
            if type_ in NUMPY and array.dtype.kind == "f":
                arrays.append((q or self.guess(array)).quantize(array, NUMPY[type_]))
            else:
                arrays.append(array)
        return arrays

    def guess(self, array):
        self.found["guessed"] = True
        return observed(array)

    def dequantized(self, ours, theirs, q, candidates):
        """(float result, parameters): where no program told the scale, the one of the candidates that fits best."""
        if theirs.dtype.kind != "f" or ours.dtype.kind != "i":
            return ours, None
        if q is None:
            self.found["guessed"] = True
            fits = lambda p: np.nan_to_num(np.abs(p.dequantize(ours) - theirs).max(), nan=np.inf) if ours.shape == theirs.shape and theirs.size else 0
            q = min([observed(theirs), *candidates], key=fits)
        return q.dequantize(ours), q

    def judge_own_integer(self):
        graph, tosa = Graph(self.case["float"]), self.folder / "m.tosa"
        self.program("tosa", graph.model, *self.quantizing(graph), "-o", tosa)
        if self.kind.startswith("VGF"):
            tosa = self.through_vgf(tosa)
        types, floats = self.tosa_types(tosa)
        entering, leaving = self.own_parameters(graph)
        raw = self.interpreted(graph, tosa, self.quantized_inputs(graph, entering, types))
        candidates = [q or observed(x) for q, x in zip(entering, graph.inputs) if x.dtype.kind == "f"]
        pairs = [self.dequantized(o, t, q, candidates) for o, t, q in zip(raw, graph.reference, leaving)]
        results = [r for r, _ in pairs] + raw[len(pairs) :]
        return self.not_all_integer(self.compare_own(results, graph, [q for _, q in pairs]), floats)

    def not_all_integer(self, verdict, floats):
        if verdict[0] in ("pass", "as_peer") and floats:
            return "partial", f"not all integer: {', '.join(floats)} in the graph"
        return verdict

    def judge_peer_integer(self):
        """The peer's quantized graph in the interpreter, by the suite's exact rule: as many steps from that graph as it allows."""
        graph, tosa = Graph(self.case["quantized"]), self.folder / "m.tosa"
        self.program("tosa", graph.model, "-o", tosa)
        types, floats = self.tosa_types(tosa)
        steps = graph.parameters("output")
        raw = self.interpreted(graph, tosa, self.quantized_inputs(graph, graph.parameters("input"), types))
        pairs = [self.dequantized(o, t, q, []) if q else (o, None) for o, t, q in zip(raw, graph.reference, steps)]
        results = [r for r, _ in pairs] + raw[len(pairs) :]
        return self.not_all_integer(self.compare(results, graph, [q for _, q in pairs]), floats)

    def compiled(self, graph, options):
        """Compiles for the kind's NPU and runs; (results, the compiler's report)"""
        movement = ["--delegate-movement"] if self.program.knows("compile", "--delegate-movement") else []
        target, pte = DEFAULT_MACS[self.base], self.folder / "m.pte"
        report = json.loads(self.program("compile", graph.model, "--target", target, *options, *movement, "-o", pte, "--json"))
        self.found["delegates"] = len(report.get("delegates", []))
        self.found["on_cpu"] = [[n["op"], n["reason"]] for n in report.get("nodes", []) if n.get("runs_on") not in ("npu", "folded")][:20]
        self.found["npu_cycles"] = report.get("cycles")
        self.program.own("run", pte, *self.feed(graph.inputs), "-o", self.folder / "out")
        return self.results(graph)

    def not_all_delegated(self, verdict):
        wanted, made, on_cpu = self.case["delegates"], self.found["delegates"], self.found["on_cpu"]
        if self.kind.startswith("NS-") or wanted is None or verdict[0] not in ("pass", "as_peer"):
            return verdict
        if made == wanted and not (on_cpu and made == 1):
            return verdict
        operators = ", ".join(sorted({operator for operator, _ in on_cpu}))
        return "partial", f"{made} delegates, the test wants {wanted}; on the CPU: {operators}"

    def judge_own_npu(self):
        graph = Graph(self.case["float"])
        results = self.compiled(graph, self.quantizing(graph))
        try:
            leaving = self.border_parameters(self.folder / "m.pte")[1]
        except Crash:
            leaving = []
        parameters = leaving if len(leaving) == len(results) else [None] * len(results)
        return self.not_all_delegated(self.compare_own(results, graph, parameters))

    def judge_peer_npu(self):
        graph = Graph(self.case["quantized"])
        return self.not_all_delegated(self.compare(self.compiled(graph, []), graph, graph.parameters("output")))

    def judge(self):
        kind, base = self.kind, self.base
        if kind in ("FP", "NS-FP", "VGF-FP"):
            return self.judge_float()
        if kind in ("INT", "NS-INT", "VGF-INT"):
            return self.judge_own_integer()
        if kind in ("U55", "U65", "U85", "NS-U55"):
            return self.judge_own_npu()
        return self.judge_peer_npu() if base in DEFAULT_MACS else self.judge_peer_integer()


def kinds_of(case):
    """The kinds under which a captured case is judged."""
    kind = case["kind"]
    extra = {"INT": "PT2E", "U55": "PT2E-U55", "U85": "PT2E-U85"}.get(kind)
    return [kind, extra] if extra else [kind]


def needs_peer(kind):
    return kind.startswith("PT2E") or kind.endswith(("-A16W8", "-A8W4", "-Q32"))


RUN = ("FP", "INT", "U55", "U85", "U65", "PT2E", "PT2E-U55", "PT2E-U85", "NS-FP", "NS-INT", "NS-U55", "VGF-FP", "VGF-INT")
RUN += tuple(f"{base}-{scheme}" for scheme in ("A16W8", "A8W4", "Q32") for base in ("INT", "U55", "U85"))


def inapplicable(case, kind):
    if kind not in RUN:
        return {"class": "counted"}
    if "unable" in case:
        return {"class": "na", "stage": "pytorch", "reason": case["unable"]}
    if needs_peer(kind) and "quantized" not in case:
        return {"class": "na", "stage": "peer quantizer", "reason": case.get("peer_unable", "the pipeline does not quantize")}
    return None


def outcome(program, case, kind):
    """The record of a case under a kind."""
    found = {"id": case["id"], "kind": kind, "peer": case["peer"]}
    if (known := inapplicable(case, kind)) is not None:
        return {**found, **known}
    folder, started = tempfile.mkdtemp(prefix="arm-"), time.monotonic()
    attempt = Attempt(program, case, kind, folder)
    try:
        found["class"], found["reason"] = attempt.judge()
    except Refused as error:
        why = reasons(error.text)
        found.update({"class": "refused", "stage": error.stage, "reason": why[0][1], "reasons": [list(r) for r in dict.fromkeys(why)][:12]})
    except Crash as error:
        found.update({"class": "crash", "stage": error.stage, "reason": error.text[:500]})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {**found, **attempt.found, "seconds": round(time.monotonic() - started, 3)}
