"""Compares VGF files with Arm's ML SDK for Vulkan. Its container decoder reads Carina's files, whose graphs equal those of its
model-converter. Carina reads model-converter's files and computes the same bits. SPIRV-Tools checks the SPIR-V of both; its version 2025.5
knows SPV_ARM_graph and TOSA.001000.1.

Graphs: one for every type row, random ones, and every .tosa of the cases. CARINA_VGF_GRAPHS sets the number of random ones.
"""

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import model_converter
import numpy as np
import pytest
from random_tosa_graphs import generate
from random_tosa_ir import D
from random_tosa_reference import Sample, run_ours
from random_tosa_builders import BUILDERS
from test_random_tosa_graphs import FIRST, rows  # noqa: F401  a fixture
from vgf_graphs import RESHAPE, TRANSPOSE, canonical

GRAPHS = int(os.environ.get("CARINA_VGF_GRAPHS", "60"))
SITE = Path(model_converter.__file__).parents[1]
CONVERTER = SITE / "model_converter/binaries/bin/model-converter"
SPIRV_VAL = SITE / "cmeel.prefix/bin/spirv-val"


def convert(tosa, vgf):
    done = subprocess.run([CONVERTER, "-i", tosa, "-o", vgf], capture_output=True, text=True)
    assert done.returncode == 0 and vgf.exists(), done.stderr
    return vgf


def check_spirv(file, folder):
    words = canonical(file).container.words()
    (folder / "code.spv").write_bytes(np.array(words, "<u4").tobytes())
    done = subprocess.run([SPIRV_VAL, folder / "code.spv"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def interface(graph, which):
    return [graph.container.resource(resource) for resource in graph.container.slots(which)]


def keeps_inputs(ours, theirs):
    """Whether the inputs agree. model-converter drops an input that has no reader after it removed operators without effect."""
    mine, peer = (interface(canonical(file), "Input") for file in (ours, theirs))
    assert len(peer) <= len(mine)
    return len(peer) == len(mine)


def compare(ours, theirs):
    """Whether the graphs are equal, and the operators that model-converter removed. It removes and merges operators (TRANSPOSE of size-1
    axes, for which it may write a RESHAPE; CLAMP of CLAMP; PAD before a convolution; constants). Apart from that, its graph has no operator
    that Carina's lacks."""
    table = {}
    mine, peer = canonical(ours, table), canonical(theirs, table)
    assert interface(mine, "Output") == interface(peer, "Output")
    if keeps_inputs(ours, theirs):
        assert interface(mine, "Input") == interface(peer, "Input")
    more, left_out = (Counter(a.operators) - Counter(b.operators) for a, b in ((peer, mine), (mine, peer)))
    assert more[RESHAPE] <= left_out[TRANSPOSE] and set(more) <= {RESHAPE}, f"model-converter has more: {more}"
    return mine.outputs == peer.outputs, left_out


def of_type_row(rows, op, row, index):  # noqa: F811
    for attempt in range(20):
        graph = generate({**rows, op: [row]}, 3 * (FIRST + 20 * index + attempt) + 2, 7, 2, {op})
        if not graph.careless and any((node.op, node.mode) == (op, row["mode"]) for node in graph.nodes):
            return Sample(graph, f"{op} {row['mode']}")
    pytest.fail(f"no graph of {op}, {row['mode']}")


def has_control_flow(sample):
    return any(node.graphs for node in sample.graph.nodes)


@pytest.fixture(scope="module")
def samples(rows):  # noqa: F811
    every = [(op, row) for op in sorted(BUILDERS) for row in rows[op]]
    out = [of_type_row(rows, op, row, index) for index, (op, row) in enumerate(every)]
    out += [Sample(generate(rows, seed), seed) for seed in range(FIRST, FIRST + GRAPHS)]
    return [sample for sample in out if not sample.graph.careless]


@pytest.fixture(scope="module")
def converted(samples, run_carina, tmp_path_factory):
    """(sample, Carina's file, model-converter's file) of all samples without control flow."""
    folder = tmp_path_factory.mktemp("vgf")
    out = []
    for index, sample in enumerate(s for s in samples if not has_control_flow(s)):
        tosa = folder / f"{index}.tosa"
        tosa.write_bytes(sample.tosa)
        run_carina(["tosa", tosa, "-o", folder / f"{index}_ours.vgf"])
        out.append((sample, folder / f"{index}_ours.vgf", convert(tosa, folder / f"{index}_theirs.vgf")))
    return out


def test_graphs_equal_those_of_model_converter(converted):
    equal = [compare(ours.read_bytes(), theirs.read_bytes())[0] for _, ours, theirs in converted]
    assert len(converted) > 300
    assert sum(equal) > 0.8 * len(equal), f"{sum(equal)} of {len(equal)}"


def test_graphs_cover_every_extension(converted):
    types = {value.dtype for sample, _, _ in converted for value in sample.graph.values}
    assert {D.BF16, D.FP8E4M3, D.FP8E5M2, D.INT4, D.INT16, D.INT48} <= types


def test_spirv_tools_accept_what_we_write(converted, tmp_path):
    for _, ours, _ in converted:
        check_spirv(ours.read_bytes(), tmp_path)


def test_both_files_compute_the_same_bits_as_the_tosa(converted, run_carina, tmp_path):
    converted = [each for each in converted if keeps_inputs(each[1].read_bytes(), each[2].read_bytes())]
    assert len(converted) > 300
    files = [(sample.tosa, sample.arrays) for sample, _, _ in converted]
    for which in (1, 2):
        for index, pair in enumerate(converted):
            run_carina(["tosa", pair[which], "-o", tmp_path / f"{which}_{index}.tosa"])
            files.append(((tmp_path / f"{which}_{index}.tosa").read_bytes(), pair[0].arrays))
    outcomes = run_ours(tmp_path, files)
    count = len(converted)
    for index, (sample, _, _) in enumerate(converted):
        wanted, ours, theirs = outcomes[index], outcomes[count + index], outcomes[2 * count + index]
        assert not wanted.rejected, f"{sample.seed}: {wanted.rejected}"
        for name, got in (("ours", ours), ("model-converter's", theirs)):
            assert not got.rejected, f"{sample.seed}: {name}: {got.rejected}"
            assert set(got.values.values()) == set(wanted.values.values()), (
                f"{sample.seed}: {name} computes something else"
            )


def test_control_flow_is_rejected_with_the_reason(samples, run_carina, tmp_path):
    flows = [sample for sample in samples if has_control_flow(sample)]
    assert flows
    for sample in flows[:5]:
        (tmp_path / "in.tosa").write_bytes(sample.tosa)
        said = run_carina(["tosa", tmp_path / "in.tosa", "-o", tmp_path / "out.vgf"], expect=1).stderr
        assert "VGF has no tosa." in said and "graphs of SPV_ARM_graph have no" in said
        assert not (tmp_path / "out.vgf").exists()


def test_files_keep_the_names_of_the_model(converted):
    """model-converter uses the names input_0 and output_0; Carina uses the model's names."""
    _, ours, theirs = converted[0]
    table = {}
    mine, peer = canonical(ours.read_bytes(), table).container, canonical(theirs.read_bytes(), table).container
    assert len(mine.names("Input")) == len(peer.names("Input")) and mine.names("Input") != peer.names("Input")
    assert (
        (mine.header.GetMajor(), mine.header.GetMinor()) == (peer.header.GetMajor(), peer.header.GetMinor()) == (0, 5)
    )


def test_cases(case, run_carina, tmp_path):
    files = sorted(case.path.glob("**/*.tosa"))
    assert files or case.name in ("resnet8", "resnet20")
    for index, tosa in enumerate(files):
        ours, again = tmp_path / f"{index}.vgf", tmp_path / f"{index}_again.vgf"
        run_carina(["tosa", tosa, "-o", ours])
        run_carina(["tosa", tosa, "-o", again])
        assert ours.read_bytes() == again.read_bytes()
        shutil.copyfile(tosa, tmp_path / "in.tosa")
        theirs = convert(tmp_path / "in.tosa", tmp_path / f"{index}_theirs.vgf")
        equal, left_out = compare(ours.read_bytes(), theirs.read_bytes())
        assert equal or set(left_out) == {TRANSPOSE}, tosa
        check_spirv(ours.read_bytes(), tmp_path)
        inputs = (
            [arg for npy in sorted(tosa.parent.glob("tosa_in_*.npy")) for arg in ("-i", npy)]
            if tosa.name == "out.tosa"
            else []
        )
        kept = {}
        for name, file in (("tosa", tosa), ("ours", ours), ("theirs", theirs)):
            folder = tmp_path / f"{index}_{name}"
            run_carina(["interpret", file, *inputs, "-o", folder])
            kept[name] = [np.load(npy).tobytes() for npy in sorted(folder.glob("output_*.npy"))]
        assert kept["tosa"] and kept["tosa"] == kept["ours"] == kept["theirs"], tosa


def test_inspect_and_disasm(converted, run_carina):
    _, ours, theirs = converted[0]
    for file in (ours, theirs):
        shown = run_carina(["inspect", file]).stdout
        assert (
            "vgf version=0.5.0" in shown and "segment name=graph_segment_0 type=graph" in shown and "graph @" in shown
        )
        kinds = {part["kind"] for part in run_carina(["inspect", file, "--json"]).json["parts"]}
        assert {"vgf", "input", "output", "segment", "module", "resource"} <= kinds
        words = run_carina(["disasm", file]).stdout
        assert 'OpExtInstImport "TOSA.001000.1"' in words and "OpGraphEndARM" in words
