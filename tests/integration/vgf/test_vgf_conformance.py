"""Official tests through VGF, in the interpreter and on the device of vulkan_device.py. The graphs of the official conformance generator
are checked by its own runner (integers bit for bit, floats within its tolerance). The Arm backend's VGF cases run too.

CARINA_VULKAN_GRAPHS and CARINA_VULKAN_CASES set the numbers that run on the device; `make conformance` runs 200 and 100.
"""

import json
import os
import re

import corpus
import pytest
import reference
import sample
from conftest import TEST_ENV
from program import Program
from tier_plugin import sampled
from vulkan_device import vulkan  # noqa: F401  a fixture

from report import GOOD

FOLDER = TEST_ENV / "conformance"
GRAPHS = int(os.environ.get("CARINA_VULKAN_GRAPHS", sampled(6, 10)))
CASES = int(os.environ.get("CARINA_VULKAN_CASES", sampled(4, 8)))
EXTENSIONS = {"bf16": "BF16", "fp8e4m3": "FP8E4M3", "fp8e5m2": "FP8E5M2", "int16": "INT16", "int4": "INT4"}
PER_EXTENSION = sampled(3, 12)
LAVAPIPE_TYPES = {"INT8", "INT16", "INT32", "FP16", "FP32", "BOOL", "SHAPE"}
LAVAPIPE_LACKS = ("bfloat16", "float8")


@pytest.fixture(scope="module")
def tests():
    """[(folder of a test, types of its tensors)] of the graphs that VGF supports: no control flow, no zero points at run time, no results
    of rank 0. A SPIR-V tensor has at least one axis, and the reference compares shapes."""
    with corpus.alone(FOLDER):
        folders = corpus.tests_in(corpus.sample(FOLDER) / "positive")
    return [(test, types_of(test)) for test in folders if is_in_vgf(test)]


def is_in_vgf(test):
    if "_dyn" in test.name or test.parent.name.startswith(tuple(corpus.CONTROL_FLOW)):
        return False
    tensors = json.loads((test / "desc.json").read_text())["meta"]["data_gen"]["tensors"]
    return all(tensor["shape"] for tensor in tensors.values())


def types_of(test):
    described = json.loads((test / "desc.json").read_text())
    return set(re.findall(r'"data_type": "(\w+)"', json.dumps(described["meta"])))


def spread(pairs, count):
    """A fixed selection of `count` values from [(group, value)]: one of each group, then a second of each, and so on."""
    outcomes = [{"id": f"{group}::{value}", "kind": "", "value": value} for group, value in pairs]
    return [o["value"] for o in sample.round_robin(outcomes, count)]


def chosen(tests, takes, count):
    return spread([(test.parent.name, test) for test, types in tests if takes(types)], count)


def check_graphs(carina, graphs, sut):
    import official

    with corpus.alone(FOLDER):
        outcomes = official.check(FOLDER, graphs, carina, os.environ.get("JOBS", "2"), FOLDER / f"{sut}.log", sut)
    assert len(outcomes) == len(graphs)
    assert not [f"{o.test}: {o.message[:300]}" for o in outcomes if not o.passed]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_graphs_of_each_extension(extension, tests, carina):
    graphs = chosen(tests, lambda types: EXTENSIONS[extension] in types, PER_EXTENSION)
    assert len(graphs) == PER_EXTENSION
    check_graphs(carina, graphs, "carina_vgf_sut")


def test_graphs_on_vulkan(tests, carina, vulkan, monkeypatch):  # noqa: F811
    for name, value in vulkan.items():
        monkeypatch.setenv(name, value)
    graphs = chosen(tests, lambda types: types <= LAVAPIPE_TYPES, GRAPHS)
    assert len(graphs) == GRAPHS
    check_graphs(carina, graphs, "carina_vulkan_sut")


def lavapipe_takes(case):
    facts = json.loads((sample.cache.graph(case["float"]) / "graph.json").read_text())
    return not any(type_.startswith(LAVAPIPE_LACKS) for type_ in facts["input_types"] + facts["output_types"])


@pytest.mark.long
def test_cases_of_the_arm_backend_on_vulkan(carina, vulkan):  # noqa: F811
    share = sampled("part", "whole")
    sample.capture_apart(share)
    entries = sample.share_of(share)
    good = [
        pair for e, pair in zip(entries, sample.captured(entries)) if e["kind"].startswith("VGF") and e["class"] in GOOD
    ]
    pairs = {(case["id"], kind): (case, kind) for case, kind in good if lavapipe_takes(case)}
    wanted = spread([(key[0].split("::")[0], key) for key in pairs], CASES)
    assert len(wanted) == CASES
    program = Program(carina, device=["--on", "vulkan"], environment=vulkan)
    outcomes = [reference.outcome(program, *pairs[key]) for key in wanted]
    assert not [f"{o['kind']} {o['id']}: {o['class']}: {o.get('reason')}" for o in outcomes if o["class"] not in GOOD]
