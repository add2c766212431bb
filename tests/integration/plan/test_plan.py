"""Tests the planner: TOSA graphs are compiled for every NPU, memory mode and level of optimization, run on the simulator, and compared with
the official TOSA reference model.

First every network of the cases, then random small graphs (operator_graphs.py: every operator and type; vela_graphs.py: one or two
operators; plan_graphs.py: chains and larger shapes). The seeds are the same every time. N=3000 pytest tests/integration/plan/test_plan.py runs
more, SEED=1 others. The test program plan_tool compiles and simulates in one process, with the simulator's checks enabled and poisoned
memory.
"""

import itertools
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import operator_graphs
import plan_graphs
import pytest
import vela_graphs
from cases_fixtures import cases_folders, id_of
from conftest import ROOT
from layout_graphs import LayoutBuilder
from tier_plugin import sampled
from unsigned_graphs import UnsignedBuilder

MACS = {"ethos-u55": (32, 64, 128, 256), "ethos-u65": (256, 512), "ethos-u85": (128, 256, 512, 1024, 2048)}
CONFIGS = [f"{family}-{macs}" for family, sizes in MACS.items() for macs in sizes]
DEDICATED = ["Dedicated_Sram_384KB", "Shared_Sram", "Sram_Only", "Dedicated_Sram"]
MODES = {"ethos-u55": ["Shared_Sram", "Sram_Only"], "ethos-u65": DEDICATED, "ethos-u85": DEDICATED}
LEVELS = ["speed", "size", "search"]
GRAPHS = int(os.environ.get("N", sampled(120, 300)))
SEED = int(os.environ.get("SEED", "0"))
PARTS = 6  # of the random graphs; each part is a test of its own
# Variations that must not change results: blocks, formats, stripes, staging, overlap, threads, matrix products as
# convolutions, cascades, registers that change between operations.
VARIATIONS = ["", "registers=overwritten", "formats=linear", "overlap=none", "staging=never", "stripes=halves", "stripes=halves,seed={seed}", "seed={seed}", "seed={seed},formats=linear",
              "threads=2", "dynamic=1", "dynamic=1,seed={seed}", "cascades=2", "cascades=3,seed={seed}"]  # fmt: skip
FAMILIES = list(dict.fromkeys(config[:9] for config in CONFIGS))


def choices_of(config):
    """Every legal memory mode at every level, as options of plan_tool."""
    return [f"memory={mode},optimize={level}" for mode, level in itertools.product(MODES[config[:9]], LEVELS)]


@pytest.fixture(scope="session")
def plan_tool():
    """The test program of tests/unit/plan, which is built beside `carina`."""
    carina = Path(os.environ["CARINA_BIN"])
    path = carina.parent / "plan_tool"
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make build`")

    def run(*arguments):
        return subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, timeout=3600)

    return run


def check(plan_tool, lines, folder):
    (folder / "list").write_text("".join(f"{line}\n" for line in lines))
    done = plan_tool("--batch", folder / "list", "verify=1")
    bad = [line for line in done.stdout.splitlines() if not line.startswith("ok ")]
    assert not bad and done.returncode == 0, (
        f"{len(bad)} of {len(lines)}:\n" + "\n".join(bad[:20]) + done.stderr[-2000:]
    )
    assert len(done.stdout.splitlines()) == len(lines)


def line_of(folder, name, tosa, inputs, config, variation=""):
    """A line for plan_tool --batch, with the reference model's results for `inputs`; None if the reference model rejects the graph."""
    fields = case_of(folder, name, tosa, inputs)
    return fields and "|".join([fields[0], config, *fields[1:], variation])


def case_of(folder, name, tosa, inputs):
    """The files of a graph, its inputs and the reference model's results; None if the reference model rejects it."""
    import tosa_reference_model as model

    outputs, status = model.run(tosa, [np.ascontiguousarray(x) for x in inputs], verbosity="NONE")
    if status != model.GraphStatus.TOSA_VALID:
        return None
    graph = folder / f"{name}.tosa"
    if not graph.exists():
        graph.write_bytes(tosa)
    fields = [str(graph)]
    for prefix, arrays in (("in", inputs), ("out", outputs)):
        names = [folder / f"{name}_{prefix}_{i}.npy" for i in range(len(arrays))]
        for path, array in zip(names, arrays, strict=True):
            np.save(path, np.asarray(array))
        fields.append(",".join(map(str, names)))
    return fields


def case_graphs():
    return [graph for folder in cases_folders() for graph in sorted(folder.glob("*/out*.tosa"))]


@pytest.mark.parametrize("graph", case_graphs(), ids=lambda g: id_of(g).removesuffix(".tosa"))
def test_networks_of_the_peer(graph, plan_tool, tmp_path):
    """Each network runs on each NPU with a different memory mode and level. With N above 1000, with all of them."""
    prefix = "tosa_" + "".join(f"{p}_" for p in graph.stem.split("_")[1:])
    given = [np.load(path) for path in sorted(graph.parent.glob(f"{prefix}in_*.npy"))]
    random = np.random.default_rng(1)
    tosa = graph.read_bytes()
    cases = [case_of(tmp_path, "given", tosa, given)]
    cases += [
        case_of(tmp_path, f"random{i}", tosa, [random.integers(-128, 128, x.shape).astype(x.dtype) for x in given])
        for i in range(2)
    ]
    # If the peer's own result is stored, the current reference model must agree with it.
    for i, path in enumerate(sorted(graph.parent.glob(f"{prefix}out_*.npy"))):
        np.testing.assert_array_equal(np.load(path), np.load(tmp_path / f"given_out_{i}.npy"))
    turn = case_graphs().index(graph)
    lines = []
    for number, config in enumerate(CONFIGS):
        choices = choices_of(config)
        if GRAPHS < 1000:
            choices = [choices[(turn + number) % len(choices)]]
        for k, choice in enumerate(choices):
            name, *files = cases[(number + k) % len(cases)]
            lines.append("|".join([name, config, *files, choice]))
    check(plan_tool, lines, tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_operator_and_type(family, plan_tool, tmp_path):
    """Runs each row of operator_graphs on each family that supports it, alternating its NPUs and options. Other families reject it with the
    operator's name."""
    configs = [config for config in CONFIGS if config[:9] == family]
    lines, rejected = [], []
    for number, row in enumerate(operator_graphs.ROWS):
        config = configs[number % len(configs)]
        choices = choices_of(config)
        samples = (operator_graphs.generate(row, seed, config) for seed in itertools.count(100 * SEED))
        cases = (
            line_of(tmp_path, f"{s.kind}_{i}", s.tosa, s.inputs, config, choices[(number + i) % len(choices)])
            for i, s in enumerate(samples)
        )
        found = list(itertools.islice(filter(None, itertools.islice(cases, 40)), 2))
        assert found, f"{row.name}: the reference model rejects all"
        (lines if family in row.families else rejected).extend(found)
    check(plan_tool, lines, tmp_path)
    if not rejected:
        return
    (tmp_path / "list").write_text("".join(f"{line}\n" for line in rejected))
    for line in plan_tool("--batch", tmp_path / "list").stdout.splitlines():
        hint = line.startswith("  ")
        assert hint or re.match(r"ok |(bad \S+: does not compile: )?tosa\.[A-Z0-9_]+ \S+: \w", line), line


@pytest.mark.parametrize("builder", [LayoutBuilder, UnsignedBuilder])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_operator_in_every_layout(family, builder, plan_tool, tmp_path):
    """As the test before, with inputs and outputs in other layouts (layout_graphs.py) or of unsigned bytes (unsigned_graphs.py), and
    registers that change between operations."""
    configs = [config for config in CONFIGS if config[:9] == family]
    lines = []
    for number, row in enumerate(row for row in operator_graphs.ROWS if family in row.families):
        config = configs[number % len(configs)]
        samples = (operator_graphs.generate(row, seed, config, builder) for seed in itertools.count(100 * SEED))
        cases = (
            line_of(tmp_path, f"{s.kind}_{i}", s.tosa, s.inputs, config, "registers=overwritten")
            for i, s in enumerate(samples)
        )
        lines += itertools.islice(filter(None, itertools.islice(cases, 40)), max(3, GRAPHS // 100))
    check(plan_tool, lines, tmp_path)


def test_every_operator_has_a_row():
    """The INT profile's operators are those of facts/tosa_ops.def without the floating-point ones, and without the operators for data and
    those unknown to TOSA."""
    listed = re.findall(r"CARINA_TOSA_OP\((\w+)", (ROOT / "facts" / "tosa_ops.def").read_text())
    floating = {
        "FFT2D",
        "RFFT2D",
        "ERF",
        "SIGMOID",
        "TANH",
        "POW",
        "CEIL",
        "COS",
        "EXP",
        "FLOOR",
        "LOG",
        "RECIPROCAL",
        "RSQRT",
        "SIN",
        "REDUCE_PRODUCT",
    }
    data = {"CONST", "CONST_SHAPE", "CUSTOM"}
    state = {"VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE"}  # rejected for every NPU: tests/unit/plan/family_test.cpp
    scaled = {name for name in listed if name.endswith("_BLOCK_SCALED")}
    assert set(listed) - floating - data - state - scaled == {
        operator_graphs.NAME_OF[row.op] for row in operator_graphs.ROWS
    }


def sample_of(number):
    """Random graph `number`: the NPU, the graph and the compile options."""
    random = np.random.default_rng([SEED, number])
    config = CONFIGS[number % len(CONFIGS)]
    rows = [row for row in operator_graphs.ROWS if config[:9] in row.families]
    seed = int(random.integers(2**31))
    which = random.random()  # two of five graphs are networks
    builder = random.choice([LayoutBuilder, vela_graphs.Builder, UnsignedBuilder], p=[0.45, 0.4, 0.15])
    if which < 0.6:
        sample = operator_graphs.generate(rows[int(random.integers(len(rows)))], seed, config, builder)
    elif which < 0.75:
        sample = vela_graphs.generate(seed, config)
    else:
        sample = plan_graphs.generate(seed, config, builder)
    choices = choices_of(config)
    variation = VARIATIONS[int(random.integers(len(VARIATIONS)))].format(seed=seed)
    return sample, ",".join(filter(None, [choices[int(random.integers(len(choices)))], variation]))


@pytest.mark.parametrize("part", range(PARTS))
def test_random_graphs(part, plan_tool, tmp_path):
    lines = []
    for number in itertools.count(part, PARTS):
        if len(lines) == GRAPHS // PARTS:
            break
        sample, choice = sample_of(number)
        line = line_of(tmp_path, f"{sample.kind}_{number}", sample.tosa, sample.inputs, sample.config, choice)
        if line is not None:
            lines.append(line)
        assert number < 4 * GRAPHS, "the reference model rejects most graphs"
    check(plan_tool, lines, tmp_path)


def test_results_beside_a_transposed_tensor(plan_tool, tmp_path):
    """The channels of such a result may not be adjacent, which no window operation can write."""
    lines = []
    for seed in range(24):
        g = vela_graphs.Builder(np.random.default_rng(seed), CONFIGS[seed % len(CONFIGS)])
        tosa, inputs = plan_graphs.transposed_parts(g)
        lines.append(line_of(tmp_path, f"parts_{seed}", tosa, inputs, g.config))
    check(plan_tool, [line for line in lines if line], tmp_path)


def test_lookups_without_tables(plan_tool, tmp_path):
    """Also of unsigned inputs and outputs, whose change to signed bytes is left out."""
    lines = []
    for seed in range(sampled(24, 240)):
        builder = UnsignedBuilder if seed % 2 else vela_graphs.Builder
        g = builder(np.random.default_rng(seed), CONFIGS[seed % len(CONFIGS)])
        tosa, inputs = plan_graphs.lines(g)
        lines.append(line_of(tmp_path, f"lines_{seed}", tosa, inputs, g.config))
    check(plan_tool, [line for line in lines if line], tmp_path)
