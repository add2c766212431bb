"""carina sweep: every combination is what `carina compile` gives for it, on one machine and on a cluster of Dask's, of which a worker dies."""

import csv
import hashlib
import os
import subprocess
import sys

import pytest
from browser import browse
from conftest import ROOT

DIGITS = ROOT / "models" / "digits"
MODEL = [DIGITS / "digits.pt2", "--calibrate", DIGITS / "calibration.npz"]


@pytest.fixture(scope="module")
def swept(run_carina, tmp_path_factory):
    """The folder of a sweep of all there is, with its programs, tables and page; and its JSON."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "programs").mkdir()
    outputs = ["--table", folder / "sweep.csv", "--report", folder / "sweep.html", "-o", folder / "programs"]
    done = run_carina(["sweep", *MODEL, "--targets", "all", "--memory-modes", "all", "--quantize", "int8,int16x8", *outputs, "--json"])
    (folder / "sweep.json").write_text(done.stdout)
    return folder, done.json


def test_every_combination_has_a_row(swept, run_carina):
    _, sweep = swept
    known = run_carina(["targets", "--json"]).json
    targets = [row["name"] for row in known["targets"]]
    modes = [row["name"] for row in known["memory_modes"]]
    combinations = [(row["quantization"], row["target"], row["memory_mode"]) for row in sweep["rows"]]
    assert combinations == [(scheme, target, mode) for scheme in ("int8", "int16x8") for target in targets for mode in modes]
    refused = {(row["target"], row["memory_mode"]) for row in sweep["rows"] if row["status"] == "refused"}
    assert refused == {(target, mode) for target in targets for mode in modes if target.startswith("ethos-u55") and mode.startswith("Dedicated")}
    assert all("AXI port 1" in row["reason"] for row in sweep["rows"] if row["status"] == "refused")
    assert all(row["status"] != "failed" for row in sweep["rows"])


@pytest.mark.parametrize("scheme, target, mode", [("int8", "ethos-u55-64", "Sram_Only"), ("int16x8", "ethos-u65-512", "Dedicated_Sram_256KB"), ("int8", "ethos-u85-2048", "Shared_Sram")])
def test_a_row_is_what_compile_gives(swept, run_carina, tmp_path, scheme, target, mode):
    folder, sweep = swept
    [row] = [row for row in sweep["rows"] if (row["quantization"], row["target"], row["memory_mode"]) == (scheme, target, mode)]
    report = run_carina(["compile", *MODEL, "-q", scheme, "-t", target, "--memory-mode", mode, "-o", tmp_path / "digits.pte", "--json"]).json
    program = (tmp_path / "digits.pte").read_bytes()
    assert row["program_sha256"] == hashlib.sha256(program).hexdigest()
    assert (folder / "programs" / f"{target}_{mode}_{scheme}.pte").read_bytes() == program
    assert (row["cycles"], row["program_bytes"], row["clock_hz"]) == (report["cycles"], report["program_bytes"], report["clock_hz"])
    npu = run_carina(["run", tmp_path / "digits.pte", "--timed", "--json"]).json["npu"]
    assert (row["macs"], row["traffic_bytes"], row["macs_per_cycle"]) == (npu["macs"], npu["traffic_bytes"], npu["macs_per_cycle"])
    assert sum(layer["cycles"] for layer in row["layers"]) == row["cycles"]


def test_tables_and_threads(swept, run_carina):
    folder, sweep = swept
    rows = list(csv.DictReader((folder / "sweep.csv").open()))
    assert [row["program SHA-256"] for row in rows] == [row.get("program_sha256", "") for row in sweep["rows"]]
    assert [int(row["cycles"]) for row in rows] == [row.get("cycles", 0) for row in sweep["rows"]]
    words = ["sweep", *MODEL, "--targets", "ethos-u65", "--json", "--threads"]
    assert run_carina([*words, "1"]).stdout == run_carina([*words, "3"]).stdout
    assert run_carina(["sweep", "--rows", folder / "sweep.json", "--json"]).stdout == (folder / "sweep.json").read_text()


def test_page(swept):
    folder, sweep = swept
    page = browse(folder / "sweep.html")
    compiled = [row for row in sweep["rows"] if row["status"] == "compiled"]
    assert int(page.cards["compiled"]) == len(compiled)
    assert int(page.cards["fewest"]) == min(row["cycles"] for row in compiled)
    assert int(page.cards["smallest"]) == min(row["sram_bytes"] for row in compiled)
    shown = [(row[0], row[1], row[2], int(row[3].replace(",", "")), int(row[6].replace(",", ""))) for row in page.tables["rows-table"]]
    assert shown == [(row["target"], row["memory_mode"], row["quantization"], row["cycles"], row["sram_bytes"]) for row in compiled]
    assert len(page.tables["others-table"]) == len(sweep["rows"]) - len(compiled)
    assert page.marks["scatter-plot"]["symbol"] == len(compiled)
    assert page.marks["roofline-plot"]["symbol"] == len(compiled)
    first_mode = [row for row in compiled if row["memory_mode"] == compiled[0]["memory_mode"]]
    assert page.marks["heat-plot"]["rect"] == sum(len(row["layers"]) for row in first_mode)


def test_what_fails_is_a_row(run_carina, tmp_path):
    sweep = run_carina(["sweep", DIGITS / "digits.pt2", "--targets", "ethos-u55-32", "--quantize", "int8,none", "--json"]).json
    assert [(row["quantization"], row["status"]) for row in sweep["rows"]] == [("int8", "failed"), ("none", "compiled")]
    assert "calibrat" in sweep["rows"][0]["reason"]


@pytest.mark.parametrize("words, message", [(["--targets", "ethos-u99"], "ethos-u55-32"), (["--memory-modes", "Fast"], "Shared_Sram"), (["--quantize", "int3"], "int3"),
    (["--quantize", "auto"], "auto"), (["--rows", "x.json"], "either a model or --rows")])
def test_usage(run_carina, words, message):
    failed = run_carina(["sweep", *MODEL, *words], expect=2)
    assert message in failed.stderr


# --- on a cluster ----------------------------------------------------------------------------------------------------

# A command that is `carina`, but ends the process of its worker at its second call, as the kernel does when memory is out.
MORTAL = """#!/bin/sh
echo "$@" >> "{log}"
[ $(wc -l < "{log}") -ge 2 ] && kill -9 $PPID && sleep 30
exec "{carina}" "$@"
"""
LASTING = """#!/bin/sh
echo "$@" >> "{log}"
exec "{carina}" "$@"
"""


@pytest.fixture
def cluster(carina, tmp_path):
    """start(names of scripts) -> address of a scheduler with one worker process per script, which finds `carina` by it."""
    import distributed

    processes = []

    def start(*scripts):
        here = tmp_path / "scheduler.json"
        processes.append(subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", here], cwd=tmp_path, stderr=subprocess.DEVNULL))
        for index, script in enumerate(scripts):
            program = tmp_path / f"carina{index}"
            program.write_text(script.format(log=tmp_path / f"log{index}", carina=carina))
            program.chmod(0o755)
            command = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", here, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", tmp_path / f"worker{index}"]
            processes.append(subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "CARINA_BIN": str(program)}, stderr=subprocess.DEVNULL))
        with distributed.Client(scheduler_file=str(here), timeout="60s") as client:
            client.wait_for_workers(len(scripts), timeout=60)
            return client.scheduler.address

    yield start
    for process in reversed(processes):
        process.kill()
        process.wait()


def on_cluster(address, carina, *words):
    environment = {**os.environ, "CARINA_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run([carina, "sweep", "--scheduler", address, *words], env=environment, capture_output=True, text=True, timeout=300, check=False)


def test_a_cluster_gives_the_same_bytes_though_a_worker_dies(swept, cluster, carina, tmp_path):
    folder, _ = swept
    address = cluster(MORTAL, LASTING)
    (tmp_path / "programs").mkdir()
    outputs = ["--table", tmp_path / "sweep.csv", "--report", tmp_path / "sweep.html", "-o", tmp_path / "programs"]
    done = on_cluster(address, carina, *MODEL, "--targets", "all", "--memory-modes", "all", "--quantize", "int8,int16x8", *outputs, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (folder / "sweep.json").read_text()
    for name in ("sweep.csv", "sweep.html"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name
    programs = {file.name: file.read_bytes() for file in (tmp_path / "programs").iterdir()}
    assert programs == {file.name: file.read_bytes() for file in (folder / "programs").iterdir()}

    def parts(index):
        calls = (tmp_path / f"log{index}").read_text().splitlines()
        return [call.split("--part ")[1].split()[0] for call in calls]

    died, lasted = parts(0), parts(1)
    assert len(died) == 2, "one part done, one lost"
    # What the dead worker had lost was done again, perhaps what it had just finished; nothing else was.
    assert len(lasted) == len(set(lasted))
    assert set(lasted) | set(died) == set(map(str, range(8)))
    assert died[1] in lasted


def test_an_error_on_a_worker_is_shown(cluster, carina):
    done = on_cluster(cluster(LASTING), carina, *MODEL, "--targets", "ethos-u99")
    assert done.returncode == 1
    assert "ethos-u99" in done.stderr
