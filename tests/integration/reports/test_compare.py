"""`carina compare`: programs and streams side by side, and Carina's stream beside Vela's of the same model."""

import sys

import numpy as np
import pytest
from conftest import ROOT

MODEL = ROOT / "models" / "digits" / "digits.pt2"
CALIBRATION = ROOT / "models" / "digits" / "calibration.npz"
VELA = ["--with", "vela", "--vela", f"{sys.prefix}/bin/vela"]


@pytest.fixture(scope="module")
def work(run_carina, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    run_carina(["tosa", MODEL, "--calibrate", CALIBRATION, "-o", folder / "digits.tosa"])
    for name, flag in (("fast", "-O2"), ("small", "-Os")):
        run_carina(["compile", folder / "digits.tosa", "-t", "ethos-u55-128", flag, "-o", folder / f"{name}.pte"])
    run_carina(["compile", folder / "digits.tosa", "-t", "ethos-u55-128", "-o", folder / "fast.npz"])
    return folder


def cycles(run_carina, file, *extra):
    return run_carina(["npu", "run", file, "--timed", "--json", *extra]).json["npu"]


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_ours_beside_velas(run_carina, vela, work, target):
    report = run_carina(["compare", work / "digits.tosa", "-t", target, *VELA, "--json"]).json
    names = ["--system-config", report["a"]["system_config"], "--memory-mode", report["a"]["memory_mode"]]
    theirs = cycles(
        run_carina, vela(work / "digits.tosa", target, system_config=names[1], memory_mode=names[3]), *names
    )
    assert report["b"]["label"] == "vela" and report["b"]["target"] == report["a"]["target"] == target
    assert report["b"]["cycles"] == theirs["cycles"] and report["b"]["macs"] == theirs["macs"]
    assert report["matched_by"] == "name"
    both = [layer for layer in report["layers"] if layer["a"] and layer["b"]]
    assert sum(layer["a"]["macs"] for layer in both) == report["a"]["macs"]
    convolutions = [layer for layer in both if layer["a"]["operation"].startswith("conv")]
    assert convolutions and all(layer["a"]["macs"] == layer["b"]["macs"] for layer in convolutions)
    for side in "ab":
        assert sum(layer[side]["cycles"] for layer in report["layers"] if layer[side]) <= report[side]["cycles"]
        assert report[side]["sram_bytes"] == max(
            layer[side]["held_sram_bytes"] for layer in report["layers"] if layer[side]
        )
    text = run_carina(["compare", work / "digits.tosa", "-t", target, *VELA]).stdout
    assert f"{report['a']['cycles']:,}" in text and f"{report['b']['cycles']:,}" in text and "layers by name" in text


def test_programs_and_streams(run_carina, work):
    same = run_carina(["compare", work / "fast.pte", work / "fast.npz", "--json"]).json
    assert same["a"]["cycles"] == same["b"]["cycles"] and same["matched_by"] == "order"
    assert all(layer["a"]["cycles"] == layer["b"]["cycles"] for layer in same["layers"])
    assert same["a"]["constants_bytes"] == same["b"]["constants_bytes"] > 0
    sizes = run_carina(["compare", work / "fast.pte", work / "small.pte", "--json"]).json
    for side in (sizes["a"], sizes["b"]):
        assert side["cycles_interval"]["lowest"] < side["cycles"] < side["cycles_interval"]["highest"]
    lines = run_carina(["compare", work / "fast.pte", work / "small.pte"]).stdout.splitlines()
    for which, line in zip("ab", lines[-2:], strict=True):
        interval = sizes[which]["cycles_interval"]
        assert line.startswith(
            f"{which.upper()}, hardware: {interval['lowest']:,} to {interval['highest']:,} cycles expected ("
        )
    assert sizes["matched_by"] == "name" and all(layer["a"] and layer["b"] for layer in sizes["layers"])
    assert sizes["b"]["sram_bytes"] <= sizes["a"]["sram_bytes"]
    models = run_carina(["compare", work / "digits.tosa", work / "fast.npz", "-t", "ethos-u55-128", "--json"]).json
    assert (
        models["a"]["cycles"] == models["b"]["cycles"]
        and models["a"]["commands_bytes"] == models["b"]["commands_bytes"]
    )


def test_incomparable_files_are_rejected(run_carina, work, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3))
    for args, code, words in [
        ([work / "fast.pte"], 2, ["a second file, or --with vela"]),
        ([work / "fast.pte", work / "small.pte", *VELA], 2, ["a second file, or --with vela"]),
        ([work / "fast.pte", *VELA], 2, ["Vela takes a TOSA file"]),
        ([work / "digits.tosa", work / "fast.pte"], 2, ["a model needs a target", "--target"]),
        ([work / "digits.tosa", "-t", "ethos-u55-128", "--with", "vela", "--vela", tmp_path / "none"], 1, ["is not installed"]),
        ([work / "digits.tosa", "-t", "ethos-u55-128", "--with", "vela", "--vela", "false"], 1, ["failed with", "exit code 1"]),
        ([work / "fast.pte", tmp_path / "x.npy"], 1, ["this is a NumPy array"]),
        ([work / "fast.pte", tmp_path / "none.pte"], 1, ["No such file"]),
    ]:  # fmt: skip
        done = run_carina(["compare", *args], expect=code)
        for word in words:
            assert word in done.stderr, done.stderr
        assert run_carina(["compare", *args, "--json"], expect=code).json["status"] in ("failed", "refused")
