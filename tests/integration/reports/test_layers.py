"""Tests the table of layers: Vela's columns, rows that add up, and the same SRAM per layer as in Vela's table."""

import csv
import json
import subprocess
import sys

import pytest
from conftest import ROOT

MODEL = ROOT / "models" / "digits" / "digits.pt2"
CALIBRATION = ROOT / "models" / "digits" / "calibration.npz"
VELA_COLUMNS = ["Original Operator", "NNG Operator", "Target", "Staging Usage", "Peak% (Staging)", "Op Cycles", "Network% (cycles)", "NPU",
                "SRAM AC", "DRAM AC", "OnFlash AC", "OffFlash AC", "MAC Count", "Network% (MAC)", "Util% (MAC)", "Name"]  # fmt: skip


@pytest.fixture(scope="module")
def tosa(run_carina, tmp_path_factory):
    path = tmp_path_factory.mktemp("layers") / "digits.tosa"
    run_carina(["tosa", MODEL, "--calibrate", CALIBRATION, "-o", path])
    return path


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("target", "system", "mode"),
    [
        ("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
        ("ethos-u65-256", "Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    ],
)
def test_sram_held_is_what_vela_says_of_its_stream(run_carina, tosa, tmp_path, target, system, mode):
    names = ["--system-config", system, "--memory-mode", mode]
    flags = [
        "--accelerator-config",
        target,
        "--config",
        "Arm/vela.ini",
        *names,
        "--output-format",
        "raw",
        "--verbose-performance",
    ]
    subprocess.run(
        [sys.executable, "-m", "ethosu.vela", tosa, *flags, "--output-dir", tmp_path], check=True, capture_output=True
    )
    theirs = rows(tmp_path / "digits_per-layer.csv")
    assert list(theirs[0]) == VELA_COLUMNS
    run_carina(["npu", "run", tmp_path / "digits_vela.npz", *names, "--all", "--csv", tmp_path / "ours.csv"])
    ours = [row for row in rows(tmp_path / "ours.csv") if row["NNG Operator"] != "dma"]
    assert [row["Staging Usage"] for row in ours] == [row["Staging Usage"] for row in theirs]
    assert [row["MAC Count"] for row in ours if "conv" in row["NNG Operator"]] == [
        row["MAC Count"] for row in theirs if row["NNG Operator"] == "Conv2D"
    ]


def test_the_summary_has_the_columns_of_velas(run_carina, tosa, tmp_path):
    names = ["--system-config", "Ethos_U65_High_End", "--memory-mode", "Dedicated_Sram_384KB"]
    flags = ["--accelerator-config", "ethos-u65-256", "--config", "Arm/vela.ini", *names, "--output-format", "raw"]
    subprocess.run(
        [sys.executable, "-m", "ethosu.vela", tosa, *flags, "--output-dir", tmp_path], check=True, capture_output=True
    )
    (theirs,) = rows(next(tmp_path.glob("*_summary_*.csv")))
    compile_ = ["compile", tosa, "-t", "ethos-u65-256", *names, "-o", tmp_path / "x.pte"]
    report = run_carina([*compile_, "--json", "--summary", tmp_path / "ours.csv"]).json
    (ours,) = rows(tmp_path / "ours.csv")
    assert list(ours) == list(theirs)
    of_the_target = [
        c
        for c in theirs
        if c.startswith(
            (
                "accelerator",
                "system",
                "memory_mode",
                "core_clock",
                "arena_cache",
                "weights_storage",
                "feature_map_storage",
            )
        )
    ]
    assert {c: ours[c] for c in of_the_target} == {c: theirs[c] for c in of_the_target} and len(of_the_target) == 7
    for port in ("sram", "dram"):
        assert float(ours[f"{port}_bandwidth"]) == pytest.approx(float(theirs[f"{port}_bandwidth"]))
        parts = [
            int(ours[f"{port}_{what}_bytes"])
            for what in ("feature_map_read", "feature_map_write", "weight_read", "weight_write")
        ]
        assert sum(parts) == int(ours[f"{port}_total_bytes"]) > 0
    assert int(ours["cycles_total"]) == report["cycles"] and int(ours["nn_macs"]) == sum(
        d["macs"] for d in report["delegates"]
    )
    assert float(ours["inference_time"]) == pytest.approx(report["cycles"] / report["clock_hz"])
    assert float(ours["sram_memory_used"]) * 1024 == report["fast_scratch_bytes"]
    assert float(ours["dram_memory_used"]) * 1024 == report["scratch_bytes"] + sum(
        d["weight_bytes"] for d in report["delegates"]
    )


def test_rows_of_all_forms_and_commands_are_one_source(run_carina, tosa, tmp_path):
    compile_ = ["compile", tosa, "-t", "ethos-u55-128", "-o", tmp_path / "x.pte"]
    report = run_carina(
        [*compile_, "--json", "--dump", tmp_path / "dump", "--per-layer", tmp_path / "each.csv", "--all"]
    ).json
    each = rows(tmp_path / "each.csv")
    assert list(each[0])[: len(VELA_COLUMNS)] == VELA_COLUMNS
    assert sum(int(row["Op Cycles"]) for row in each) == report["cycles"]
    assert {row["Original Operator"] for row in each} >= {"CONV2D", "DEPTHWISE_CONV2D", "MAX_POOL2D"}
    assert max(float(row["Peak% (Staging)"]) for row in each) == 100
    assert max(int(row["Staging Usage"]) for row in each) <= report["scratch_bytes"]
    run_carina([*compile_, "--per-layer", tmp_path / "folded.json"])
    folded = json.loads((tmp_path / "folded.json").read_text())["layers"]
    assert sum(row["Op Cycles"] for row in folded) == report["cycles"] and len(folded) < len(each)
    run_carina(["run", tmp_path / "x.pte", "--per-layer", tmp_path / "run.csv", "--all"])
    run_carina(["npu", "run", tmp_path / "dump" / "output_tag0_vela.npz", "--csv", tmp_path / "stream.csv", "--all"])
    figures = [c for c in each[0] if c not in ("Original Operator", "Name", "Source")]
    for other in ("run.csv", "stream.csv"):
        assert [[row[c] for c in figures] for row in rows(tmp_path / other)] == [
            [row[c] for c in figures] for row in each
        ]
    run_carina([*compile_, "--per-layer", tmp_path / "table.txt"])
    lines = (tmp_path / "table.txt").read_text().splitlines()
    assert lines[0].startswith("Original Operator  NNG Operator") and len(lines) == len(folded) + 1


def test_the_table_is_no_input_and_has_a_folder(run_carina, tosa, tmp_path):
    compile_ = ["compile", tosa, "-t", "ethos-u55-128", "-o", tmp_path / "x.pte"]
    assert "--per-layer" in run_carina([*compile_, "--per-layer", tosa], expect=2).stderr
    assert "is missing" in run_carina([*compile_, "--per-layer", tmp_path / "none" / "x.csv"], expect=1).stderr
    assert not (tmp_path / "x.pte").exists()
