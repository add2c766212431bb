"""Compares the cycle model with other estimates of the same streams: Vela's estimate of each layer, and a published run of the FVP."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cases_fixtures import Case
from conftest import vela_flags

OPERATION = re.compile(
    r"(?P<name>CONV|DEPTHWISE)\b.* ifm \d+x\d+x(?P<depth>\d+) .* mac (?P<mac>\d+) .* wd (?P<decode>\d+) npu (?P<npu>\d+) macs (?P<macs>\d+)"
)


DECODER_UTILIZATION = 0.77  # kU85DecoderUtilization: above it, an operation waits for its weights


@pytest.fixture(scope="module")
def run_stream():
    carina = Path(os.environ["CARINA_BIN"])

    def run(stream, image, *arguments):
        command = [
            carina.parent / "run_stream",
            stream,
            "-i",
            image,
            "--timed",
            "--memory-mode",
            "Shared_Sram",
            *arguments,
        ]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def estimate(tosa, config, folder):
    """Vela's stream and its rows for the layers."""
    command = [
        sys.executable,
        "-m",
        "ethosu.vela",
        *vela_flags(config, None, None, ()),
        "--verbose-performance",
        f"--output-dir={folder}",
        tosa,
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    with open(folder / "out_per-layer.csv") as file:
        return folder / "out_vela.npz", list(csv.DictReader(file))


def beside_each_other(rows, operations):
    """Each of Vela's layers with its operations, matched by their MACs."""
    left = iter(operations)
    for row in rows:
        if row["NNG Operator"] not in ("Conv2D", "DepthwiseConv2D"):
            continue
        parts, macs = [], 0
        while macs < int(row["MAC Count"]):
            parts.append(next(left))
            macs += int(parts[-1]["macs"])
        assert macs == int(row["MAC Count"]), row["Name"]
        yield row, parts


def is_counted_alike(parts):
    """Whether Vela's estimate counts the same as Carina's. Vela omits channels and taps that the weight order pads, and adds up memory
    times that Carina overlaps. It does not know into which slices it later divides a layer, and it decodes weights within the time of the
    MACs."""
    if len(parts) != 1 or int(parts[0]["decode"]) > DECODER_UTILIZATION * int(parts[0]["mac"]):
        return False
    return parts[0]["name"] == "DEPTHWISE" or int(parts[0]["depth"]) % 64 == 0


@pytest.mark.cases("mobilenet_v2")
@pytest.mark.parametrize("config", [f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024)])
def test_layers_cost_what_vela_estimates(config, case, run_stream, tmp_path):
    stream, rows = estimate(case.path / "out.tosa", config, tmp_path)
    operations = [
        m.groupdict()
        for m in map(OPERATION.search, run_stream(stream, case.path / "tosa_in_0.npy", "--ops").splitlines())
        if m
    ]
    alike = [(row, parts[0]) for row, parts in beside_each_other(rows, operations) if is_counted_alike(parts)]
    assert len(alike) >= 15  # layers for which Vela chose the same blocks and traversal
    # On the two large NPUs, small layers of the repository's own network differ from Vela's estimate by up to 11 %: a
    # known gap of the model.
    is_small = "shared" not in case.path.parts and config in ("ethos-u85-512", "ethos-u85-1024")
    bound = 0.12 if is_small else 0.05
    far = [
        (row["Name"], ours["npu"], row["NPU"])
        for row, ours in alike
        if abs(int(ours["npu"]) / float(row["NPU"]) - 1) > bound
    ]
    assert not far


# ExecuTorch's tutorial for Ethos-U prints this for mobilenet_v2 on Corstone-320. Its runner sets memory timings only in
# Dedicated_Sram and Sram_Only. In Shared_Sram, memories have no latency.
FVP_CYCLES = 5_920_305
CORSTONE_320 = """
[System_Config.Corstone_320]
core_clock=1e9
axi0_port=Sram
axi1_port=Dram
Sram_clock_scale=1.0
Sram_ports_used=2
Sram_burst_length=64
Sram_read_latency=0
Sram_write_latency=0
Sram_max_reads=8
Sram_max_writes=8
Dram_clock_scale=0.75
Dram_ports_used=1
Dram_burst_length=128
Dram_read_latency=0
Dram_write_latency=0
Dram_max_reads=64
Dram_max_writes=32
"""


@pytest.mark.parametrize("system", ["Ethos_U85_SYS_DRAM_Mid", "Corstone_320"])
def test_mobilenet_takes_on_u85_what_the_fvp_published(system, shared, vela, run_carina, tmp_path):
    """The published figure is for 224x224 pixels, and no other size can be compared with it."""
    case = Case(shared / "cases" / "mobilenet_v2")
    (tmp_path / "vela.ini").write_text(CORSTONE_320)
    stream = vela(case.path / "out.tosa", "ethos-u85-128")
    options = [
        "--timed",
        "--json",
        f"--system-config={system}",
        "--memory-mode=Shared_Sram",
        f"--config={tmp_path}/vela.ini",
    ]
    done = run_carina(["npu", "run", stream, "-i", case.path / "tosa_in_0.npy", *options])
    assert abs(json.loads(done.stdout)["npu"]["cycles"] / FVP_CYCLES - 1) < 0.08
