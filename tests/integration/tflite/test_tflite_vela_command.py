"""`carina vela`: Vela's arguments, and the names and columns of Vela's files."""

import subprocess
import sys
from pathlib import Path

import pytest
from test_tflite_files import chain

VELA = Path(sys.executable).parent / "vela"
FLAGS = {
    "plain": ["--accelerator-config", "ethos-u55-128"],
    "all": [
        "--accelerator-config=ethos-u65-256", "--config", "Arm/vela.ini", "--system-config", "Ethos_U65_High_End",
        "--memory-mode", "Dedicated_Sram_384KB", "--optimise", "Size", "--recursion-limit", "1000",
        "--tensor-allocator", "HillClimb", "--verbose-performance",
    ],
}  # fmt: skip


# A file as vendors publish it beside their models.
INI = """
[System_Config.My_Sys_Cfg]
core_clock=400e6
axi0_port=Sram
axi1_port=OffChipFlash
Sram_clock_scale=1.0
Sram_burst_length=32
Sram_read_latency=16
Sram_write_latency=16
OffChipFlash_clock_scale=0.0625
OffChipFlash_burst_length=32
OffChipFlash_read_latency=64
OffChipFlash_write_latency=64

[Memory_Mode.My_Mem_Mode_Parent]
const_mem_area=Axi1
arena_mem_area=Axi0
cache_mem_area=Axi0
"""
# What follows `vela` in the scripts of public projects.
PROJECTS = {
    "himax_wise_eye": (
        "--accelerator-config ethos-u55-64 --config vendor.ini --system-config My_Sys_Cfg "
        "--memory-mode My_Mem_Mode_Parent --output-dir ./ ./net.tflite"
    ),
    "arm_ml_embedded_evaluation_kit": (
        "net.tflite --accelerator-config=ethos-u55-128 --optimise Performance --config Arm/vela.ini "
        "--memory-mode=Shared_Sram --system-config=Ethos_U55_High_End_Embedded --output-dir=made"
    ),
    "nuvoton_m55": (
        "net.tflite --accelerator-config=ethos-u55-256 --optimise=Performance --config=Arm/vela.ini "
        "--memory-mode=Shared_Sram --system-config=Ethos_U55_High_End_Embedded --output-dir=. --arena-cache-size 100000"
    ),
    "nxp_imx93": "--accelerator-config ethos-u65-256 --output-dir . net.tflite",
    "grove_vision_models": (
        "--accelerator-config ethos-u55-64 --recursion-limit 2000 --optimise Size ./net.tflite --output-dir ./vela_size"
    ),
}


@pytest.mark.parametrize("project", PROJECTS)
def test_command_lines_of_public_projects_make_the_files_of_vela(project, carina, tmp_path):
    made = {}
    for name, program in (("theirs", [VELA]), ("ours", [carina, "vela"])):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "vendor.ini").write_text(INI)
        (folder / "net.tflite").write_bytes(chain())
        words = [*map(str, program), *PROJECTS[project].split()]
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        made[name] = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert made["ours"] == made["theirs"]


@pytest.mark.parametrize("flags", FLAGS)
def test_files_have_the_names_and_columns_of_vela(flags, run_carina, tmp_path):
    (tmp_path / "net.v1.tflite").write_bytes(chain())
    words = [tmp_path / "net.v1.tflite", *FLAGS[flags], "--output-dir"]
    subprocess.run([VELA, *words, tmp_path / "theirs"], check=True, capture_output=True)
    done = run_carina(["vela", *words, tmp_path / "ours"])
    names = sorted(path.name for path in (tmp_path / "theirs").iterdir())
    assert sorted(path.name for path in (tmp_path / "ours").iterdir()) == names
    for name in names:
        if "_summary_" in name:
            ours, theirs = ((tmp_path / folder / name).read_text().splitlines()[0] for folder in ("ours", "theirs"))
            assert ours == theirs
    assert (tmp_path / "ours" / "net.v1_vela.tflite").read_bytes()[4:8] == b"TFL3"
    if flags == "all":
        assert "--tensor-allocator: makes no difference" in done.stderr


def test_default_npu_and_folder_are_those_of_vela(run_carina, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net.tflite").write_bytes(chain())
    run_carina(["vela", "net.tflite"])
    assert "ethos-u55-256" in run_carina(["inspect", Path("output") / "net_vela.tflite"]).stdout


def test_unknown_flag_is_a_usage_error(run_carina, tmp_path):
    (tmp_path / "net.tflite").write_bytes(chain())
    assert "--optimize" in run_carina(["vela", tmp_path / "net.tflite", "--optimize", "Size"], expect=2).stderr


def test_report_of_operators_lists_those_of_vela(run_carina, tmp_path, monkeypatch):
    """Every operator that the pinned Vela puts on ethos-u85 is listed, as one for the NPU or for the CPU."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs").mkdir()
    subprocess.run([VELA, "--supported-ops-report"], check=True, capture_output=True, cwd=tmp_path / "theirs")
    run_carina(["vela", "--supported-ops-report"])

    def listed(folder, begin):
        text = (folder / "SUPPORTED_OPS.md").read_text().split(begin, 1)[1].split("\n\n")
        table = next(part for part in text if part.startswith("|"))
        return {line.split("|")[1].strip() for line in table.splitlines()[2:]}

    theirs = listed(tmp_path / "theirs", "## Ethos-U85 TFLite Summary Table")
    assert len(theirs) > 60
    assert not theirs - listed(tmp_path, "# Supported operators")
    assert "no network is given" in run_carina(["vela"], expect=2).stderr
