"""`--config` with Vela's own vela.ini: every section gives the same values as the built-in tables."""

import configparser
from pathlib import Path

import ethosu
import pytest

ROOT = Path(__file__).resolve().parents[3]
MODEL = ROOT / "models" / "digits" / "digits.pt2"
CALIBRATION = ROOT / "models" / "digits" / "calibration.npz"
OFFICIAL = Path(next(iter(ethosu.__path__))) / "config_files" / "Arm" / "vela.ini"


def compile_report(run_carina, folder, *extra, expect=0):
    args = [
        "compile",
        MODEL,
        "--target",
        "ethos-u55-128",
        "--calibrate",
        CALIBRATION,
        "-o",
        folder / "model.pte",
        "--json",
        *extra,
    ]
    return run_carina(args, expect=expect)


def timed(run_carina, folder, *extra):
    report = compile_report(run_carina, folder, *extra).json
    program = (folder / "model.pte").read_bytes()
    return report, program


@pytest.mark.parametrize("system", ["Ethos_U55_High_End_Embedded", "Ethos_U55_Deep_Embedded"])
@pytest.mark.parametrize("mode", ["Shared_Sram", "Sram_Only"])
def test_the_official_file_gives_the_same_program_and_estimate(system, mode, run_carina, tmp_path):
    names = ["--system-config", system, "--memory-mode", mode]
    assert timed(run_carina, tmp_path, *names) == timed(run_carina, tmp_path, *names, "--config", OFFICIAL)


@pytest.mark.parametrize(
    ("target", "system", "mode"),
    [
        ("ethos-u65-512", "Ethos_U65_Client_Server", "Dedicated_Sram_512KB"),
        ("ethos-u65-256", "Ethos_U65_Embedded", "Sram_Only"),
        ("ethos-u85-256", "Ethos_U85_SYS_DRAM_High", "Dedicated_Sram_384KB"),
        ("ethos-u85-1024", "Ethos_U85_SYS_Flash_Low", "Shared_Sram"),
    ],
)
def test_the_official_file_for_other_lines(target, system, mode, run_carina, tmp_path):
    names = ["--target", target, "--system-config", system, "--memory-mode", mode]
    args = ["compile", MODEL, *names, "--calibrate", CALIBRATION, "-o", tmp_path / "model.pte", "--json"]
    built_in = run_carina(args).json
    program = (tmp_path / "model.pte").read_bytes()
    assert (
        run_carina([*args, "--config", OFFICIAL]).json == built_in and (tmp_path / "model.pte").read_bytes() == program
    )
    assert run_carina([*args, "--config", "Arm/vela.ini"]).json == built_in
    assert built_in["arena_memory"] == ("DRAM" if mode.startswith("Dedicated") else "SRAM")


def test_unknown_sections_list_those_of_the_file(run_carina, tmp_path):
    sections = configparser.ConfigParser()
    sections.read(OFFICIAL)
    systems = [s.split(".", 1)[1] for s in sections.sections() if s.startswith("System_Config.")]
    done = compile_report(run_carina, tmp_path, "--config", OFFICIAL, "--system-config", "Board", expect=2)
    assert all(name in done.stderr for name in systems)
    assert not (tmp_path / "model.pte").exists()


def test_a_damaged_file_is_rejected_with_its_line(run_carina, tmp_path):
    damaged = tmp_path / "vela.ini"
    text = OFFICIAL.read_text()
    damaged.write_text(text.replace("axi0_port=Sram", "axi0_port", 1))
    line = 1 + text[: text.index("axi0_port=Sram")].count("\n")
    done = compile_report(run_carina, tmp_path, "--config", damaged, expect=1)
    assert f"vela.ini:{line}:" in done.stderr


def cycles(run_carina, program, *extra):
    return run_carina(["run", program, "--timed", "--json", *extra])


def test_a_board_of_ones_own(run_carina, tmp_path):
    board = tmp_path / "board.ini"
    text = OFFICIAL.read_text().replace("System_Config.Ethos_U55_High_End_Embedded", "System_Config.My_Board")
    # The same board with a slower flash, under the name of the built-in board.
    slow = tmp_path / "slow.ini"
    slow.write_text(OFFICIAL.read_text().replace("OffChipFlash_clock_scale=0.125", "OffChipFlash_clock_scale=0.03125"))
    board.write_text(text)
    (tmp_path / "plain").mkdir()
    compile_report(run_carina, tmp_path / "plain")
    own = compile_report(run_carina, tmp_path, "--config", board, "--system-config", "My_Board").json
    assert own["system_config"] == "My_Board"
    with_file = cycles(run_carina, tmp_path / "model.pte", "--config", board).json["npu"]
    assert with_file["system_config"] == "My_Board"
    expected = cycles(run_carina, tmp_path / "plain" / "model.pte").json["npu"]
    assert with_file["cycles"] == expected["cycles"]
    slower = cycles(run_carina, tmp_path / "plain" / "model.pte", "--config", slow).json["npu"]
    assert slower["cycles"] > expected["cycles"]
    without = cycles(run_carina, tmp_path / "model.pte")
    assert "My_Board" in without.stderr
    assert without.json["npu"]["system_config"] == "Ethos_U55_High_End_Embedded"
