"""Runs random graphs of 5 to 40 TOSA operators, with every type row, through Carina's interpreter and the official reference model.
random_tosa_reference.py describes the comparison. CARINA_RANDOM_GRAPHS sets their number, CARINA_RANDOM_SEED the first seed.

A failing graph is shrunk to the operators that cause the difference. Its file, text form and inputs stay in the test's folder.
"""

import json
import os
import subprocess

import numpy as np
import pytest
import random_tosa_reference
from random_tosa_graphs import LEFT_OUT, generate
from random_tosa_ir import D, is_float
from random_tosa_reference import (
    BOTH_REJECT,
    SAME,
    Sample,
    check,
    failure_text,
    in_process,
    interpret_all,
    program,
    run_ours,
    shrink,
    smaller,
)
from random_tosa_builders import BUILDERS
from tier_plugin import sampled

GRAPHS = int(os.environ.get("CARINA_RANDOM_GRAPHS", sampled(100, 300)))
FIRST = int(os.environ.get("CARINA_RANDOM_SEED", "0"))
CHUNK = 50
CHUNKS = [(first, min(CHUNK, FIRST + GRAPHS - first)) for first in range(FIRST, FIRST + GRAPHS, CHUNK)]


@pytest.fixture(scope="session")
def rows():
    if not program().exists():
        pytest.fail(f"{program()} is missing: run `make build`")
    return json.loads(subprocess.check_output([program(), "--rows"]))


def samples_of(rows, first, count):
    return [Sample(generate(rows, seed), seed) for seed in range(first, first + count)]


def test_every_operator_has_a_maker_or_a_reason(rows):
    assert set(rows) == set(BUILDERS) | set(LEFT_OUT)
    assert not set(BUILDERS) & set(LEFT_OUT)


def of_type_row(rows, op, row, index):
    """A graph with one or two nodes of this operator and these types."""
    for attempt in range(20):
        graph = generate(
            {**rows, op: [row]}, 3 * (FIRST + 20 * index + attempt) + 2, 7, 2, {op}
        )  # a seed without careless graphs
        if not graph.careless and any((node.op, node.mode) == (op, row["mode"]) for node in graph.nodes):
            return Sample(graph, f"{op} {row['mode']}")
    pytest.fail(f"no graph of {op}, {row['mode']}")


def explained(folder, rows, samples):
    """Texts about the samples that differ, shrunk, and all verdicts."""
    verdicts = [check(sample) for sample in samples]
    wrong = [(sample, verdict) for sample, verdict in zip(samples, verdicts) if verdict.wrong]
    texts = []
    for sample, verdict in wrong[:5]:
        small = smaller(folder, rows, *shrink(folder, sample, verdict), generate)
        texts.append(failure_text(folder, f"{sample.seed}".replace(" ", "-"), *small))
    return f"{len(wrong)} of {len(samples)} graphs differ\n" + "\n".join(texts) if wrong else "", verdicts


def test_each_type_row(rows, tmp_path):
    every = [(op, row) for op in sorted(BUILDERS) for row in rows[op]]
    samples = interpret_all(tmp_path, [of_type_row(rows, op, row, index) for index, (op, row) in enumerate(every)])
    text, verdicts = explained(tmp_path, rows, samples)
    assert not text, text
    assert {verdict.what for verdict in verdicts} == {SAME}


@pytest.mark.parametrize(("first", "count"), CHUNKS)
def test_interpreter_equals_reference_model(first, count, rows, tmp_path):
    samples = interpret_all(tmp_path, samples_of(rows, first, count))
    text, verdicts = explained(tmp_path, rows, samples)
    assert not text, text
    rejected = [sample for sample, verdict in zip(samples, verdicts) if verdict.what == BOTH_REJECT]
    assert all(sample.graph.careless for sample in rejected), [sample.seed for sample in rejected]
    assert len(rejected) <= 0.2 * count, f"{len(rejected)} of {count} graphs break a REQUIRE"


def test_a_wrong_element_is_noticed(rows, tmp_path):
    """Tests the comparison itself: changes one element in an output of a graph's last node, for each kind of comparison."""
    noticed = 0
    for sample in interpret_all(tmp_path, samples_of(rows, 0, 30)):
        if sample.dumped.rejected:
            continue
        for node in (
            next((n for n in reversed(sample.graph.nodes) if (n.compliance is None) == exact), None)
            for exact in (True, False)
        ):
            if node is None:
                continue
            value = sample.graph.values[node.outputs[0]]
            name, kept = sample.names[value.id], sample.dumped.values[sample.names[value.id]]
            array = np.frombuffer(kept, np.uint8).copy()
            array[array.size - 1] ^= 0x41 if is_float(value.dtype) else 1
            sample.dumped.values[name] = array.tobytes()
            sample.outcome.values = {n: sample.dumped.values[n] for n in sample.outcome.values}
            assert check(sample).wrong, f"seed {sample.seed}: {node.op} {name}"
            sample.dumped.values[name] = kept
            noticed += 1
        sample.outcome.values = {n: sample.dumped.values[n] for n in sample.outcome.values}
        assert check(sample).what == SAME
    assert noticed > 40


def ways():
    found = (
        subprocess.run([program(), "--targets"], capture_output=True, text=True).stdout.split()
        if program().exists()
        else []
    )
    return [["--threads", "2"], ["--threads", "3"]] + [["--target", name] for name in found]


def test_a_failure_shrinks_to_one_operator_in_a_text_file(rows, tmp_path, monkeypatch):
    """A fake comparison fails for every graph with a CLZ."""

    def fake(sample):
        node = next((n for n in sample.graph.nodes if n.op == "CLZ"), None)
        return (
            random_tosa_reference.Verdict("CLZ: said to be wrong", node)
            if node
            else random_tosa_reference.Verdict(SAME)
        )

    monkeypatch.setattr(random_tosa_reference, "check_exact", fake)
    candidates = interpret_all(tmp_path, samples_of(rows, 0, 30))
    sample = next(s for s in candidates if not s.dumped.rejected and fake(s).wrong and len(s.graph.nodes) > 10)
    small, verdict = shrink(tmp_path, sample, fake(sample))
    assert [node.op for node in small.graph.nodes] == ["CLZ"]
    smallest, verdict = smaller(tmp_path, rows, small, verdict, generate)
    assert sum(value.size for value in smallest.graph.values) <= sum(value.size for value in small.graph.values)
    text = failure_text(tmp_path, "clz", smallest, verdict)
    assert "tosa.CLZ(" in text and "# input-0 = " in text
    assert "tosa.CLZ(" in (tmp_path / "failure-clz.txt").read_text()


def test_rewritten_graph_gives_the_same_results(rows, tmp_path):
    """The rewritten graph gives identical results in Carina's interpreter and in the reference model, whose reader accepts Carina's files."""
    samples = interpret_all(tmp_path, samples_of(rows, FIRST, 100))
    outcomes = run_ours(tmp_path, [(sample.tosa, sample.arrays) for sample in samples], "--rewrite")
    compared = 0
    for sample, outcome in zip(samples, outcomes, strict=True):
        written = outcome.values.pop("file", None)
        assert (outcome.stage, outcome.message, outcome.values) == (
            sample.outcome.stage,
            sample.outcome.message,
            sample.outcome.values,
        ), sample.seed
        if any(sample.graph.values[i].dtype == D.INT48 for i in sample.graph.inputs):
            continue  # the Python module accepts none
        before, after = in_process(sample.tosa, sample.arrays), in_process(written, sample.arrays)
        assert (before is None) == (after is None), sample.seed
        for a, b in zip(before or [], after or [], strict=True):
            assert a.tobytes() == b.tobytes(), sample.seed
            compared += 1
    assert compared > 300


@pytest.fixture(scope="session")
def large_graphs(rows, tmp_path_factory):
    """Files of graphs, most of them large, because small work is not divided among threads; and the results with one thread."""
    samples = [Sample(generate(rows, seed, 7 if seed % 4 == 0 else 40)) for seed in range(FIRST, FIRST + 60)]
    files = [(sample.tosa, sample.arrays) for sample in samples]
    return files, run_ours(tmp_path_factory.mktemp("one_thread"), files)


@pytest.mark.parametrize("options", ways(), ids=" ".join)
def test_same_bits_on_every_processor_and_number_of_threads(options, large_graphs, tmp_path):
    files, outcomes = large_graphs
    assert sum(not outcome.rejected for outcome in outcomes) > 50
    for index, (wanted, got) in enumerate(zip(outcomes, run_ours(tmp_path, files, *options), strict=True)):
        assert (wanted.stage, wanted.message, wanted.values) == (got.stage, got.message, got.values), (
            f"seed {FIRST + index}"
        )
