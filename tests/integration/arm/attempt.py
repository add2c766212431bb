"""One case of one kind: runs the program on the captured graphs and compares the results."""

import json
import re
from pathlib import Path

import numpy as np
import vgf_case
from comparison import Comparison, Graph
from numbers_rule import Parameters, decoded, observed
from program import Crash, Rejected

TARGETS = {"U55": "ethos-u55-128", "U65": "ethos-u65-256", "U85": "ethos-u85-128", "VGF": "vgf"}
NUMPY = {"i8": np.int8, "i16": np.int16, "i32": np.int32}
ROUNDS = {
    "ops/test_while.py": 6
}  # the largest number of loop rounds; carina runs exactly as many as it is told (adr/0058)
BORDER = re.compile(r"kernel quantized_decomposed::(de)?quantize_per_tensor\.out \((.*)\)")


def numbers(text):
    return [int(digits) for digits in re.findall(r"\d+", text)]


class Attempt:
    def __init__(self, program, case, kind, folder):
        self.program, self.case, self.kind, self.folder = program, case, kind, Path(folder)
        self.found = {}
        self.comparison = Comparison(case, self.found)
        rounds = ROUNDS.get(case["id"].split("::")[0])
        self.reading = ["--loop-rounds", str(rounds)] if rounds else []  # options for reading the model
        self.base = kind.removeprefix("NS-").removeprefix("PT2E-").split("-")[0]

    def feed(self, arrays, stem="in"):
        paths = [self.folder / f"{stem}{i}.npy" for i in range(len(arrays))]
        for path, array in zip(paths, arrays):
            np.save(path, array)
        return [word for path in paths for word in ("-i", path)]

    def results(self, graph):
        paths = sorted(
            (self.folder / "out").glob("output_*.npy"), key=lambda p: int(re.search(r"_(\d+)\.npy", p.name).group(1))
        )
        types = graph.facts["output_types"] + [""] * len(paths)
        return [decoded(np.load(path), type_) for path, type_ in zip(paths, types)]

    def inspect(self, path):
        return json.loads(self.program.own("inspect", path, "--json"))

    def boundary_parameters(self, pte):
        """(inputs, outputs): quantization parameters from the quantize and dequantize kernels at the program's boundaries. None where there
        is no kernel."""
        parts = self.inspect(pte)["parts"]
        value = {int(p["index"]): p["is"] for p in parts if p["kind"] == "value"}
        method = next(p for p in parts if p["kind"] == "method")
        entering, leaving = {}, {}
        for part in parts:
            kernel = BORDER.match(part.get("does", "")) if part["kind"] == "instruction" else None
            if not kernel:
                continue
            source, *constants, target = numbers(kernel.group(2))
            q = Parameters(float(value[constants[0]]), *(int(value[i]) for i in constants[1:4]))
            if kernel.group(1):
                leaving[target] = q
            else:
                entering.setdefault(source, q)
        return [entering.get(i) for i in method.get("inputs", [])], [leaving.get(i) for i in method.get("outputs", [])]

    def tosa_types(self, path):
        """(types of the inputs, types of all floats in the graph except unused inputs)."""
        text = self.inspect(path)["text"]
        given = re.findall(r"^  input (%[^\s:]+): (\w+)\[", text, re.M)
        read = set(re.findall(r"%[^\s:,()]+", re.sub(r"^  input .*$", "", text, flags=re.M)))
        computed = re.findall(r": (fp\w+|bf\w+)\[", re.sub(r"^  input .*$", "", text, flags=re.M))
        return [type_ for _, type_ in given], sorted(
            {*computed, *(t for name, t in given if name in read and t[:2] in ("fp", "bf"))}
        )

    def quantizing(self, graph):
        calibration = graph.folder / "cal.npz"
        scheme = vgf_case.width(self.case)[0] if self.base == "VGF" else "int8"
        return ["--quantize", scheme, *(["--calibrate", calibration] if calibration.exists() else []), *self.reading]

    def interpreted(self, graph, tosa, inputs):
        self.program.own("interpret", tosa, *self.feed(inputs), "-o", self.folder / "out")
        return self.results(graph)

    def check_float(self):
        graph, tosa = Graph(self.case["float"]), self.folder / "m.tosa"
        self.program("tosa", graph.model, "--quantize", "none", *self.reading, "-o", tosa)
        return self.comparison.compare(self.interpreted(graph, tosa, graph.inputs), graph)

    def own_parameters(self, graph):
        """Carina's quantization parameters of inputs and outputs, from the programs that it compiles for the same model."""
        entering, leaving = [None] * len(graph.inputs), [None] * len(graph.reference)
        on_npu = ["--delegate-movement"]
        for more in (
            ["--target", "ethos-u85-128", *on_npu],
            ["--target", "ethos-u55-128", *on_npu],
            ["--target", "ethos-u55-128", "--no-delegate"],
        ):
            pte = self.folder / "q.pte"
            try:
                self.program("compile", graph.model, *self.quantizing(graph), *more, "-o", pte)
                more_entering, more_leaving = self.boundary_parameters(pte)
            except (Rejected, Crash):
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
        """(float result, parameters). If no program gives the scale, the best fitting candidate is used."""
        if theirs.dtype.kind != "f" or ours.dtype.kind != "i":
            return ours, None
        if q is None:
            self.found["guessed"] = True
            fits = lambda p: (
                np.nan_to_num(np.abs(p.dequantize(ours) - theirs).max(), nan=np.inf)
                if ours.shape == theirs.shape and theirs.size
                else 0
            )
            q = min([observed(theirs), *candidates], key=fits)
        return q.dequantize(ours), q

    def check_own_integer(self):
        graph, tosa = Graph(self.case["float"]), self.folder / "m.tosa"
        self.program("tosa", graph.model, *self.quantizing(graph), "-o", tosa)
        types, floats = self.tosa_types(tosa)
        entering, leaving = self.own_parameters(graph)
        raw = self.interpreted(graph, tosa, self.quantized_inputs(graph, entering, types))
        candidates = [q or observed(x) for q, x in zip(entering, graph.inputs) if x.dtype.kind == "f"]
        pairs = [self.dequantized(o, t, q, candidates) for o, t, q in zip(raw, graph.reference, leaving)]
        results = [r for r, _ in pairs] + raw[len(pairs) :]
        return self.not_all_integer(self.comparison.compare_own(results, graph, [q for _, q in pairs]), floats)

    def not_all_integer(self, verdict, floats):
        """A test that does not ask for a delegate, or that forbids one, does not require integers either."""
        self.found["floats"] = floats
        if verdict[0] in ("pass", "as_peer") and floats and self.case["delegates"] and not self.kind.startswith("NS-"):
            return "partial", f"not all integer: {', '.join(floats)} in the graph"
        return verdict

    def check_peer_integer(self):
        """Runs the peer's quantized graph in the interpreter. Results may differ by the number of steps that the suite allows."""
        graph, tosa = Graph(self.case["quantized"]), self.folder / "m.tosa"
        self.program("tosa", graph.model, *self.reading, "-o", tosa)
        types, floats = self.tosa_types(tosa)
        steps = graph.parameters("output")
        raw = self.interpreted(graph, tosa, self.quantized_inputs(graph, graph.parameters("input"), types))
        pairs = [self.dequantized(o, t, q, []) if q else (o, None) for o, t, q in zip(raw, graph.reference, steps)]
        results = [r for r, _ in pairs] + raw[len(pairs) :]
        return self.not_all_integer(self.comparison.compare(results, graph, [q for _, q in pairs]), floats)

    def compiled(self, graph, options):
        """Compiles for the kind's target and runs: the NPU is simulated, VGF is interpreted. The compiler's report is added to `found`."""
        target, pte = TARGETS[self.base], self.folder / "m.pte"
        report = json.loads(
            self.program(
                "compile", graph.model, "--target", target, *options, "--delegate-movement", "-o", pte, "--json"
            )
        )
        self.found["delegates"] = len(report.get("delegates", []))
        self.found["on_cpu"] = [[n["op"], n["reason"]] for n in report.get("nodes", []) if n.get("runs_on") == "cpu"][
            :20
        ]
        self.found["npu_cycles"] = report.get("cycles")
        self.program.own("run", pte, *self.program.device, *self.feed(graph.inputs), "-o", self.folder / "out")
        return self.results(graph)

    def not_all_delegated(self, verdict):
        wanted, made, on_cpu = self.case["delegates"], self.found["delegates"], self.found["on_cpu"]
        if self.kind.startswith("NS-") or wanted is None or verdict[0] not in ("pass", "as_peer"):
            return verdict
        all_in_one = made == 1 and wanted > 0 and not on_cpu
        if all_in_one or (made == wanted and not (on_cpu and made == 1)):
            return verdict
        operators = ", ".join(sorted({operator for operator, _ in on_cpu}))
        return "partial", f"{made} delegates, the test wants {wanted}; on the CPU: {operators}"

    def check_vgf_float(self):
        graph = Graph(self.case["float"])
        results = self.compiled(graph, ["--quantize", "none", *self.reading])
        return self.not_all_delegated(self.comparison.compare(results, graph))

    def check_own_target(self):
        graph = Graph(self.case["float"])
        results = self.compiled(graph, self.quantizing(graph))
        try:
            leaving = self.boundary_parameters(self.folder / "m.pte")[1]
        except Crash:
            leaving = []
        parameters = leaving if len(leaving) == len(results) else [None] * len(results)
        return self.not_all_delegated(self.comparison.compare_own(results, graph, parameters))

    def check_peer_target(self):
        graph = Graph(self.case["quantized"])
        return self.not_all_delegated(
            self.comparison.compare(self.compiled(graph, self.reading), graph, graph.parameters("output"))
        )

    def check(self):
        kind, base = self.kind, self.base
        if kind in ("FP", "NS-FP"):
            return self.check_float()
        if kind in ("INT", "NS-INT"):
            return self.check_own_integer()
        if kind == "VGF-FP" or (kind == "VGF-INT" and "INT" not in self.case["spec"]):
            return self.check_vgf_float()
        if kind in ("U55", "U65", "U85", "NS-U55", "VGF-INT"):
            return self.check_own_target()
        return self.check_peer_target() if base in TARGETS else self.check_peer_integer()
