"""scripts/demo.sh: its output is complete, and its numbers are consistent."""

import os
import re
import subprocess

import numpy as np
import pytest
from conftest import ROOT

DATA = ROOT / "models" / "digits" / "test.npz"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of the demo's output, one per worker."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(carina, made):
    names = {"CARINA_BIN": str(carina), "DEMO_DIR": str(made)}
    done = subprocess.run(["scripts/demo.sh"], cwd=ROOT, capture_output=True, text=True, env={**os.environ, **names})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def number(text):
    return int(text.replace(",", ""))


def accuracy(demo, who):
    right, total = re.search(rf"{who} right:\s+([\d,]+) of ([\d,]+)", demo).groups()
    assert number(total) == len(np.load(DATA)["y"])
    return number(right)


def test_accuracy_of_the_three(demo):
    data = np.load(DATA)
    assert accuracy(demo, "float model") == np.sum(data["float_logits"].argmax(axis=1) == data["y"])
    assert accuracy(demo, "NPU") == accuracy(demo, "integer graph")
    assert accuracy(demo, "NPU") >= accuracy(demo, "float model") - len(data["y"]) // 100


def test_integer_graph_and_npu_agree_image_by_image(demo):
    same, total = re.search(r"NPU bits = integer graph's bits: ([\d,]+) of ([\d,]+)", demo).groups()
    assert same == total


def test_each_node_says_where_it_runs(demo):
    on_npu, nodes = re.search(r"nodes: (\d+) of (\d+) on the NPU", demo).groups()
    rows = re.findall(r"^  \S+ \(train\.py:\d+\) +aten\.\S+ +(NPU|CPU) ", demo, re.MULTILINE)
    assert len(rows) == int(nodes)
    assert rows.count("NPU") == int(on_npu)


def test_memory_and_flash_agree_with_the_files(demo, made):
    sram, flash = re.search(r"memory: SRAM ([\d,]+) B .* flash ([\d,]+) B", demo).groups()
    size = (made / "digits.pte").stat().st_size
    assert number(flash) == size == int(re.search(r"model_pte_program_size: (\d+) bytes", demo).group(1))
    assert number(sram) > 0


def test_cycles_per_layer_and_in_total(demo):
    table = demo[demo.index("per inference:\n  layer") :]
    layers = [number(c) for c in re.findall(r"^  \S.*?  ([\d,]+)  +\d+\.\d %  +\d+\.\d %  ", table, re.MULTILINE)]
    total, milliseconds, clock = re.search(r"total: ([\d,]+) cycles = ([\d.]+) ms at (\d+) MHz", table).groups()
    assert len(layers) >= 8
    assert all(cycles > 0 for cycles in layers)
    assert number(total) >= max(layers)
    assert float(milliseconds) == pytest.approx(number(total) / int(clock) / 1000, abs=0.0006)
    assert re.search(r"MAC utilization \d+\.\d %", table)


def test_names_the_next_command(demo):
    assert re.search(r"compile model\.pt2 --target ethos-u55-128", demo[demo.index("Next,") :])
