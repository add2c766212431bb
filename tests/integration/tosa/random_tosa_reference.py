"""Runs random graphs through Carina's interpreter and the official reference model.

How an output is checked, given the elements that Carina's interpreter computed for the node's operands:
- Bit for bit if the specification fixes the result. These are integers, comparisons, data movement, and floats whose result is an operand
or the single nearest number (MAXIMUM, CLAMP, CAST, ADD, ...). NaN equals NaN, whatever its payload. All such nodes of a graph make one
file. Inexact nodes are removed from it, and their outputs, as Carina computed them, become inputs.
- Otherwise by the official verifier (tosa_verify's library) against the reference model's fp64 results and error bounds. The mode and
numbers are those of the official test generator for the operator. These are sums of products, transcendental functions, POW,
REDUCE_PRODUCT, float RESIZE, and RESCALE with INEXACT_ROUND. All such nodes of a graph make a second file.
So two values are never compared if they were computed from different inexact results.
"""

import contextlib
import json
import os
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import generator.tosa_utils as generator_utils
import ml_dtypes
import numpy as np
import tosa_reference_model
import tosa_serializer as ts
import tosa_types  # noqa: F401  registers the types that the reference model's outputs use
from checker.verifier import VerifierLibrary
from generator.tosa_build_gen import TosaBuildGen
from generator.tosa_test_gen import TosaTestGen
from interpreter_cases import NUMPY
from interpreter_reference import ROW_TYPES, run_tosa_program
from random_tosa_ir import D, Graph, Value, is_float, tosa_file

STAGES = ["ran", "not read", "rejected by the verifier", "rejected in planning", "rejected while running"]
SITE = Path(ts.__file__).parents[1]
SAME, BOTH_REJECT = "same", "both reject"


def program(name="run_graphs"):
    return run_tosa_program().parent / name


# --- Carina's results ---------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    stage: int
    message: str
    values: dict

    @property
    def rejected(self):
        return f"{STAGES[self.stage]}: {self.message.strip()}" if self.stage else None


def block(content):
    return struct.pack("<I", len(content)) + content


def read_outcomes(content):
    at = 0

    def number():
        nonlocal at
        at += 4
        return struct.unpack_from("<I", content, at - 4)[0]

    def text():
        nonlocal at
        size = number()
        at += size
        return content[at - size : at]

    outcomes = []
    while at < len(content):
        stage, message = number(), text().decode()
        outcomes.append(Outcome(stage, message, {text().decode(): text() for _ in range(number())}))
    return outcomes


def run_ours(folder, files, *options):
    """Runs Carina's interpreter on (file, arrays) pairs, all in one process."""
    batch, results = Path(folder) / "batch", Path(folder) / "results"
    with batch.open("wb") as out:
        for tosa, arrays in files:
            out.write(block(tosa) + struct.pack("<I", len(arrays)))
            for array in arrays:
                out.write(block(np.ascontiguousarray(array).tobytes()))
    subprocess.run([program(), *options, batch, results], check=True, timeout=1800)
    outcomes = read_outcomes(results.read_bytes())
    assert len(outcomes) == len(files)
    return outcomes


# --- the reference model ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def quiet():
    """Hides the line that the reference model prints for each file."""
    kept = [os.dup(1), os.dup(2)]
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1), os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept[0], 1), os.dup2(kept[1], 2)
        for handle in (*kept, nothing):
            os.close(handle)


def plain(array):
    dense = np.ascontiguousarray(array).reshape(array.shape)
    return dense.view(f"V{array.dtype.itemsize}") if array.dtype in ROW_TYPES else dense


def in_process(tosa, arrays):
    """The outputs, or None if the reference model does not call the graph valid."""
    with quiet():
        outputs, status = tosa_reference_model.run(tosa, [plain(a) for a in arrays], verbosity="NONE")
    return [np.asarray(o) for o in outputs] if status == tosa_reference_model.GraphStatus.TOSA_VALID else None


def by_program(tosa, inputs, outputs, compliance=None):
    """The same with the reference model's program, which supports 48-bit tensors and, with `compliance`, gives fp64 results and bounds."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "t.tosa").write_bytes(tosa)
        for i, array in enumerate(inputs.values()):
            np.save(here / f"i{i}.npy", array.view(np.uint8) if array.dtype == ml_dtypes.float8_e5m2 else array)
        description = {
            "tosa_file": "t.tosa", "expected_failure": False,
            "ifm_name": list(inputs), "ifm_file": [f"i{i}.npy" for i in range(len(inputs))],
            "ofm_name": list(outputs), "ofm_file": [f"o{i}.npy" for i in range(len(outputs))],
        }  # fmt: skip
        if compliance is not None:
            description |= {
                "meta": {"compliance": {"version": "1.0", "tensors": compliance}},
                "test_requirements": {"bounds_file_required": True},
            }
        (here / "desc.json").write_text(json.dumps(description))
        mode = [] if compliance is None else ["--precise_mode=1"]
        command = [SITE / "bin" / "tosa_reference_model", "--test_desc=desc.json", "-l", "NONE", *mode]
        if subprocess.run(command, cwd=here, capture_output=True, timeout=300).returncode != 0:
            return None
        found = [np.load(here / f"o{i}.npy") for i in range(len(outputs))]
        if compliance is None:
            return found
        bounds = [here / f"bounds_o{i}.npy" for i in range(len(outputs))]
        return list(zip(found, [np.load(b) if b.exists() else None for b in bounds]))


# --- comparing --------------------------------------------------------------------------------------------------------


@dataclass
class Sample:
    """A graph, its file, and the results of Carina's interpreter."""

    graph: Graph
    seed: object = None
    tosa: bytes = b""
    names: dict = field(default_factory=dict)
    outcome: object = None  # with the graph's outputs only, and with fusion
    dumped: object = None  # with every value

    def __post_init__(self):
        self.tosa, self.names = tosa_file(self.graph)

    @property
    def arrays(self):
        return [self.graph.values[i].data for i in self.graph.inputs]

    def computed(self, value_id):
        """The elements that were computed or given for the value, or None."""
        value = self.graph.values[value_id]
        if value.constant is not None:
            return value.constant
        if value.data is not None:
            return value.data
        found = self.dumped.values.get(self.names.get(value_id))
        return None if found is None else np.frombuffer(found, NUMPY[value.dtype]).reshape(value.shape)


@dataclass
class Verdict:
    what: str  # SAME, BOTH_REJECT, or the difference
    node: object = None

    @property
    def wrong(self):
        return self.what not in (SAME, BOTH_REJECT)


def same_elements(dtype, wanted, got):
    wanted = np.ascontiguousarray(wanted)
    if is_float(dtype):
        wanted = wanted.view(NUMPY[dtype]) if wanted.dtype.itemsize == np.dtype(NUMPY[dtype]).itemsize else wanted
        with np.errstate(invalid="ignore"):
            nan = np.isnan(wanted.astype(np.float32)) & np.isnan(got.astype(np.float32))
        bits = f"u{got.dtype.itemsize}"
        return bool(np.all((wanted.reshape(got.shape).view(bits) == got.view(bits)) | nan.reshape(got.shape)))
    return np.array_equal(wanted.astype(np.int64).reshape(got.shape), got.astype(np.int64))


def shown(array, limit=12):
    flat = array.astype(np.float64 if array.dtype in ROW_TYPES or array.dtype.kind == "f" else array.dtype).reshape(-1)
    return str(flat[:limit].tolist()) + ("..." if flat.size > limit else "")


def first_difference(dtype, wanted, got):
    wanted = np.ascontiguousarray(wanted)
    if is_float(dtype) and wanted.dtype.kind == "V":
        wanted = wanted.view(NUMPY[dtype])
    with np.errstate(invalid="ignore"):
        a, b = wanted.astype(np.float64).reshape(-1), got.astype(np.float64).reshape(-1)
    places = np.flatnonzero(~((a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))))
    where = places[0] if places.size else 0
    return f"{places.size} of {a.size} elements, first at {np.unravel_index(where, got.shape) if got.shape else ()}: wanted {a[where]!r}, got {b[where]!r}"


def reference_run(graph, sample, nodes, inputs, outputs):
    tosa, names = tosa_file(graph, inputs, nodes, outputs)
    arrays = {names[i]: sample.computed(i) for i in inputs}
    if any(
        graph.values[i].dtype in (D.INT4, D.INT48) for i in (*inputs, *outputs)
    ):  # types that the Python module does not return
        return by_program(tosa, arrays, [names[i] for i in outputs])
    return in_process(tosa, list(arrays.values()))


def check_exact(sample):
    graph = sample.graph
    nodes = [n for n in graph.nodes if n.compliance is None]
    made = [v for n in nodes for v in n.outputs]
    if not made:
        return Verdict(SAME)
    read = {v for n in nodes for v in n.inputs if graph.values[v].constant is None}
    wanted = reference_run(graph, sample, nodes, sorted(read - set(made)), made)
    if wanted is None:
        return Verdict("we run what the reference model rejects")
    for value, reference in zip(made, wanted, strict=True):
        got = sample.computed(value)
        if not same_elements(graph.values[value].dtype, reference, got):
            node = graph.producer(value)
            return Verdict(f"{node.op}: {first_difference(graph.values[value].dtype, reference, got)}", node)
    return Verdict(SAME)


def isolated(sample, nodes):
    """A graph of these nodes in which every operand is an input, so that no node reads another one. Also returns the copied nodes."""
    graph, copies = Graph(), []
    for node in nodes:
        inputs = []
        for i in node.inputs:
            old = sample.graph.values[i]
            data = None if old.constant is not None else sample.computed(i)
            graph.values.append(
                Value(len(graph.values), old.dtype, old.shape, old.low, old.high, old.wild, old.constant, data)
            )
            inputs.append(graph.values[-1].id)
            if old.constant is None:
                graph.inputs.append(inputs[-1])
        outputs = [graph.value(sample.graph.values[i].dtype, sample.graph.values[i].shape).id for i in node.outputs]
        copies.append(
            type(node)(node.op, node.mode, node.kind, node.attributes, inputs, outputs, node.compliance, node.graphs)
        )
        graph.outputs += outputs
    graph.nodes = copies
    return graph, copies


def official_rule(graph, node, output, name):
    """The compliance mode and numbers of the official test generator."""
    known = dict(node.compliance)
    known["dg_type"] = (
        generator_utils.DataGenType.DOT_PRODUCT
        if known.pop("dot", False)
        else generator_utils.DataGenType.PSEUDO_RANDOM
    )
    known["s"] = -1  # not a statistical test set
    row = TosaTestGen.TOSA_OP_LIST.get(node.op.lower(), {"op": getattr(ts.Op, node.op)})
    value = graph.values[output]
    types = [graph.values[i].dtype for i in node.inputs if graph.values[i].dtype != D.SHAPE]
    return TosaBuildGen._get_compliance_tens(row, types, known, name, value.dtype, list(value.shape))


_library = None


def verifier():
    global _library
    if _library is None:
        _library = VerifierLibrary(SITE / "tosa_reference_model" / "libtosa_reference_verify_lib.so")
    return _library


def complies(rule, name, got, wanted, bound):
    got = np.ascontiguousarray(got)
    if got.dtype == ml_dtypes.float8_e5m2:
        got = got.view(np.uint8)
    elif got.dtype in ROW_TYPES:
        got = got.view(f"V{got.dtype.itemsize}")
    library, kind = verifier(), rule["data_type"]
    tensors = [
        library._get_tensor_data(name, np.ascontiguousarray(a), kind) for a in (wanted, bound, got) if a is not None
    ]
    reference, bounds, implementation = tensors if bound is not None else (tensors[0], None, tensors[1])
    with quiet():
        return library.tvf_verify_data(
            reference, bounds, implementation, json.dumps({"version": "1.0", "tensors": {name: rule}}).encode()
        )


def nearer_to_truth(graph, node, output, got):
    """Whether these are the nearest fp32 numbers to the exact results of a Fourier transform.

    The reference model takes sines and cosines of angles rounded to fp64, where sin(pi) is 1.2e-16. If all exact terms of an output are
    zero, the reference value is only this noise, and its bound is as small.
    """
    if node.op not in ("FFT2D", "RFFT2D"):
        return False
    parts = [graph.values[i].constant if graph.values[i].data is None else graph.values[i].data for i in node.inputs]
    signal = parts[0].astype(np.clongdouble)
    if len(parts) == 2:
        signal = signal + 1j * parts[1].astype(np.clongdouble)
    inverse = node.op == "FFT2D" and node.attributes[0]
    truth = np.fft.ifft2(signal, norm="forward") if inverse else np.fft.fft2(signal)
    truth = truth.real if output == node.outputs[0] else truth.imag
    truth = truth[..., : got.shape[-1]]
    noise = 2.0**-60 * np.abs(signal).sum(axis=(1, 2), keepdims=True)  # error of the sums in long double
    return bool(np.all(np.abs(got - truth) <= 2.0**-24 * np.abs(truth) + noise))


def check_inexact(sample):
    nodes = [n for n in sample.graph.nodes if n.compliance is not None]
    if not nodes:
        return Verdict(SAME)
    graph, copies = isolated(sample, nodes)
    tosa, names = tosa_file(graph)
    rules = {names[v]: official_rule(graph, n, v, names[v]) for n in copies for v in n.outputs}
    given = {names[i]: graph.values[i].data for i in graph.inputs}
    results = by_program(tosa, given, list(rules), rules)
    # The fp64 run does not check REQUIREs of floats.
    if results is None or reference_run(graph, Sample(graph), graph.nodes, graph.inputs, graph.outputs) is None:
        return Verdict("we run what the reference model rejects (inexact operators)")
    found = dict(zip(rules, results))
    for node, copy in zip(nodes, copies):
        for value, copied in zip(node.outputs, copy.outputs):
            name, got = names[copied], sample.computed(value)
            wanted, bound = found[name]
            if not complies(rules[name], name, got, wanted, bound) and not nearer_to_truth(graph, copy, copied, got):
                text = first_difference(sample.graph.values[value].dtype, wanted, got)
                return Verdict(f"{node.op}: not compliant ({rules[name]['mode']}): {text}", node)
    return Verdict(SAME)


def check(sample):
    """Compares the results of Carina's interpreter for the sample with those of the reference model."""
    if sample.dumped.rejected or sample.outcome.rejected:
        rejection = sample.outcome.rejected or sample.dumped.rejected
        if sample.outcome.stage != sample.dumped.stage:
            return Verdict(f"rejected with or without the dump only: {rejection}")
        if (
            reference_run(sample.graph, sample, sample.graph.nodes, sample.graph.inputs, sample.graph.outputs)
            is not None
            or sample.outcome.stage != 4
        ):
            return Verdict(f"we reject what the reference model runs: {rejection}")
        return Verdict(BOTH_REJECT)
    for value in sample.graph.outputs:
        name = sample.names[value]
        if sample.outcome.values[name] != sample.dumped.values[name]:
            return Verdict(
                f"{sample.graph.producer(value).op}: other elements when nodes are fused", sample.graph.producer(value)
            )
    exact = check_exact(sample)
    return exact if exact.wrong else check_inexact(sample)


def interpret_all(folder, samples, *options):
    files = [(s.tosa, s.arrays) for s in samples]
    for sample, outcome, dumped in zip(
        samples, run_ours(folder, files, *options), run_ours(folder, files, "--dump", *options)
    ):
        sample.outcome, sample.dumped = outcome, dumped
    return samples


# --- shrinking --------------------------------------------------------------------------------------------------------


def part(sample, nodes):
    """The graph of these nodes alone, or None. A value that other nodes compute becomes an input with the elements that Carina computed."""
    made = {v for n in nodes for v in n.outputs}
    graph = Graph(values=[Value(**vars(v)) for v in sample.graph.values], nodes=list(nodes))
    for value in sorted({v for n in nodes for v in n.inputs} - made):
        known = graph.values[value]
        if known.constant is not None:
            continue
        if known.data is None:
            known.data = sample.computed(value)
        if known.data is None or known.dtype == D.INT48:
            return None
        graph.inputs.append(value)
    read = {v for n in nodes for v in n.inputs}
    graph.outputs = [v for n in nodes for v in n.outputs if v not in read]
    return graph


def fails(folder, graph):
    sample = interpret_all(folder, [Sample(graph)])[0]
    verdict = check(sample)
    return (sample, verdict) if verdict.wrong else None


def shrink(folder, sample, verdict):
    """A smaller sample that fails too, and its verdict: one node if that suffices. Otherwise nodes are removed as long as it still fails."""
    best, why = sample, verdict
    for node in [verdict.node] if verdict.node else sample.graph.nodes:
        graph = part(sample, [node])
        if graph and (found := fails(folder, graph)):
            return found
    index = 0
    while index < len(best.graph.nodes):
        nodes = [n for i, n in enumerate(best.graph.nodes) if i != index]
        graph = part(best, nodes) if nodes else None
        found = fails(folder, graph) if graph else None
        if found:
            best, why = found
        else:
            index += 1
    return best, why


def smaller(folder, rows, sample, verdict, generate):
    """A failing graph of the same operator on small shapes. If there is none, the given one."""
    op = verdict.node.op if verdict.node else None
    if op is None or op in ("COND_IF", "WHILE_LOOP"):
        return sample, verdict
    graphs = [generate(rows, seed, top, 3, {op}) for top in (1, 2, 3) for seed in range(90)]
    candidates = interpret_all(folder, [Sample(g) for g in graphs if g.nodes])
    wrong = [(s, v) for s in candidates if (v := check(s)).wrong and v.node and v.node.op == op]
    return min(wrong, key=lambda found: sum(v.size for v in found[0].graph.values)) if wrong else (sample, verdict)


def failure_text(folder, name, sample, verdict):
    """Writes the graph, its text form and its inputs. Returns the text for the failure message."""
    stem = Path(folder) / f"failure-{name}"
    stem.with_suffix(".tosa").write_bytes(sample.tosa)
    printed = subprocess.run(
        [program("tosa_tool"), "print", stem.with_suffix(".tosa")], capture_output=True, text=True
    ).stdout
    inputs = "\n".join(f"# {sample.names[i]} = {sample.graph.values[i].data.tolist()}" for i in sample.graph.inputs)
    text = f"# {name}: {verdict.what}\n{printed}\n{inputs}\n"
    stem.with_suffix(".txt").write_text(text)
    return f"{name}: {verdict.what}\n({stem.with_suffix('.txt')})\n{text[:3000]}"
