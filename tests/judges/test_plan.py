"""Our planner: TOSA graphs compiled for every NPU, run on our simulator, against the official TOSA reference model.

Every network of ../shared/cases, then random small graphs (tosa_graphs.py: one or two operators; plan_graphs.py: chains and larger shapes). The same seeds
every time; N=3000 pytest tests/judges/test_plan.py runs more. The test program plan_tool compiles and simulates in one process, with the simulator's checks
on and memory poisoned.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import plan_graphs
import pytest
import tosa_graphs
from conftest import NO_SHARED, ROOT, SHARED

CONFIGS = [*(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)), "ethos-u65-256", "ethos-u65-512"]
GRAPHS = int(os.environ.get("N", "400"))
# What must never change a result: blocks, formats, stripes, staging, overlap, threads.
VARIATIONS = ["", "formats=linear", "overlap=none", "staging=never", "stripes=halves", "stripes=halves,seed={seed}", "seed={seed}", "seed={seed},formats=linear", "threads=2", "memory=Sram_Only", "memory=Shared_Sram"]


@pytest.fixture(scope="session")
def plan_tool():
    """The test program of tests/unit/plan, beside our binary."""
    carina = Path(os.environ.get("CARINA_BIN", ROOT / "build" / "release" / "bin" / "carina"))
    path = carina.parent / "plan_tool"
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make build`")

    def run(*arguments):
        return subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, timeout=3600)

    return run


def judge(plan_tool, lines, folder):
    (folder / "list").write_text("".join(f"{line}\n" for line in lines))
    done = plan_tool("--batch", folder / "list", "verify=1")
    bad = [line for line in done.stdout.splitlines() if not line.startswith("ok ")]
    assert not bad and done.returncode == 0, f"{len(bad)} of {len(lines)}:\n" + "\n".join(bad[:20]) + done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == len(lines)


def line_of(folder, name, tosa, inputs, config, variation=""):
    """A line for plan_tool --batch, with what the reference model makes of `inputs`; None when it refuses."""
    import tosa_reference_model as model

    outputs, status = model.run(tosa, [np.ascontiguousarray(x) for x in inputs], verbosity="NONE")
    if status != model.GraphStatus.TOSA_VALID:
        return None
    graph = folder / f"{name}.tosa"
    if not graph.exists():
        graph.write_bytes(tosa)
    fields = [str(graph), config]
    for prefix, arrays in (("in", inputs), ("out", outputs)):
        names = [folder / f"{name}_{prefix}_{i}.npy" for i in range(len(arrays))]
        for path, array in zip(names, arrays, strict=True):
            np.save(path, np.asarray(array))
        fields.append(",".join(map(str, names)))
    return "|".join([*fields, variation])


def case_graphs():
    return sorted((SHARED / "cases").glob("*/out*.tosa")) if SHARED.exists() else []


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("graph", case_graphs() or [None], ids=lambda g: g and f"{g.parent.name}-{g.stem}")
def test_networks_of_the_peer(graph, config, plan_tool, tmp_path):
    if graph is None:
        pytest.skip(NO_SHARED)
    prefix = "tosa_" + "".join(f"{p}_" for p in graph.stem.split("_")[1:])
    given = [np.load(path) for path in sorted(graph.parent.glob(f"{prefix}in_*.npy"))]
    random = np.random.default_rng(1)
    tosa = graph.read_bytes()
    lines = [line_of(tmp_path, "given", tosa, given, config)]
    fresh = 1 if "mobilenet" in str(graph) else 3
    for i in range(fresh):
        inputs = [random.integers(-128, 128, x.shape).astype(x.dtype) for x in given]
        lines.append(line_of(tmp_path, f"random{i}", tosa, inputs, config))
    # Where the peer's own result is kept, the reference model of today must agree with it.
    expected = sorted(graph.parent.glob(f"{prefix}out_*.npy"))
    for i, path in enumerate(expected):
        np.testing.assert_array_equal(np.load(path), np.load(tmp_path / f"given_out_{i}.npy"))
    judge(plan_tool, lines, tmp_path)


def random_lines(generate, config, count, folder):
    lines, seed = [], 0
    while len(lines) < count:
        sample = generate(seed, config)
        variation = VARIATIONS[seed % len(VARIATIONS)].format(seed=seed)
        line = line_of(folder, f"{sample.kind}_{seed}", sample.tosa, sample.inputs, config, variation)
        if line is not None:
            lines.append(line)
        seed += 1
        assert seed < 3 * count + 20, "the reference model refuses most graphs"
    return lines


@pytest.mark.parametrize("config", CONFIGS)
def test_random_operators(config, plan_tool, tmp_path):
    judge(plan_tool, random_lines(tosa_graphs.generate, config, GRAPHS // 8, tmp_path), tmp_path)


@pytest.mark.parametrize("config", CONFIGS)
def test_random_networks(config, plan_tool, tmp_path):
    judge(plan_tool, random_lines(plan_graphs.generate, config, GRAPHS // 8, tmp_path), tmp_path)
