"""System configurations of boards, their calibration, and the error range of estimated cycles."""

import csv
import json
import shutil

import pytest
import torch
from cases_fixtures import NO_SHARED, SHARED, made_case
from conftest import ROOT

DIGITS = ROOT / "models" / "digits" / "digits.pt2"

SLOW_FLASH = """
[System_Config.Slow_Flash]
core_clock=500e6
axi0_port=Sram
axi1_port=OffChipFlash
Sram_clock_scale=1.0
Sram_burst_length=32
Sram_read_latency=32
Sram_write_latency=32
Sram_max_reads=4
Sram_max_writes=4
OffChipFlash_clock_scale=0.05
OffChipFlash_burst_length=128
OffChipFlash_read_latency=64
OffChipFlash_write_latency=0
OffChipFlash_max_reads=2
OffChipFlash_max_writes=0
"""
STREAMS = ("ds_cnn", "kws", "lstm")


def timed(run_carina, stream, *options, **expected):
    done = run_carina(["npu", "run", stream, "--timed", "--json", "--memory-mode=Shared_Sram", *options], **expected)
    return json.loads(done.stdout)["npu"]


def stream_of(case):
    return made_case(case).path / "ethos-u55-128" / "out_vela.npz"


def test_a_board_is_a_system_configuration(run_carina):
    npu = timed(run_carina, stream_of("kws"), "--system-config=alif_e7_he")
    assert npu["system_config"] == "Alif_E7_HE" and npu["clock_hz"] == 160_000_000


def test_a_board_sets_target_memories_and_budgets(run_carina, tmp_path):
    """Each row of the list compiles, with its own figures in the report."""
    boards = run_carina(["targets", "--boards", "--json"]).json["boards"]
    assert len(boards) >= 6 and all(
        row["source_of_sizes"] and row["source_of_timing"] and row["evidence"] for row in boards
    )
    text = run_carina(["targets", "--boards"]).stdout
    for row in boards:
        assert row["name"] in text and f"{row['sram_bytes'] // 1024:,} KB" in text
        made = run_carina(
            [
                "compile",
                DIGITS,
                "--board",
                row["name"].lower(),
                "--calibrate",
                "random",
                "-o",
                tmp_path / "x.pte",
                "--json",
            ]
        ).json
        assert (made["target"], made["system_config"], made["memory_mode"]) == (
            row["target"],
            row["name"],
            row["memory_mode"],
        )
        assert (made["clock_hz"], made["sram_budget_bytes"], made["flash_budget_bytes"]) == (
            row["clock_hz"],
            row["sram_bytes"],
            row["flash_bytes"] or 0,
        )


def test_options_take_precedence_over_the_board(run_carina):
    words = [
        "explain",
        DIGITS,
        "--board",
        "Nuvoton_M55M1",
        "-t",
        "ethos-u55-64",
        "--memory-mode",
        "Sram_Only",
        "--sram-budget",
        "0",
        "--flash-budget",
        "1M",
    ]
    made = run_carina([*words, "--json"]).json
    assert (made["target"], made["memory_mode"], made["system_config"]) == (
        "ethos-u55-64",
        "Sram_Only",
        "Nuvoton_M55M1",
    )
    assert (made["sram_budget_bytes"], made["flash_budget_bytes"]) == (0, 1 << 20)
    flags = run_carina(
        ["explain", DIGITS, "--board", "Nuvoton_M55M1", "--extra-flag", "--memory-mode Sram_Only", "--json"]
    ).json
    assert flags["memory_mode"] == "Sram_Only" and flags["sram_budget_bytes"] == 1344 << 10
    other = run_carina(["explain", DIGITS, "--board", "Nuvoton_M55M1", "-t", "ethos-u85-256"], expect=2)
    assert "Nuvoton_M55M1 has another NPU than ethos-u85-256" in other.stderr


def test_a_model_that_does_not_fit_the_board_is_an_error(run_carina, tmp_path):
    """A convolution whose output alone is larger than the SRAM of the board."""
    module = torch.nn.Conv2d(3, 64, 1, bias=False).eval()
    torch.export.save(torch.export.export(module, (torch.zeros(1, 3, 224, 224),)), tmp_path / "large.pt2")
    done = run_carina(
        [
            "compile",
            tmp_path / "large.pt2",
            "--board",
            "Nuvoton_M55M1",
            "--calibrate",
            "random",
            "-o",
            tmp_path / "x.pte",
        ],
        expect=1,
    )
    assert (
        "does not fit into --sram-budget: expected at most 1376256 B of SRAM" in done.stderr
        and not (tmp_path / "x.pte").exists()
    )


@pytest.mark.parametrize("command", ["compile", "explain", "sweep"])
def test_an_unknown_board_is_answered_with_the_nearest(run_carina, command):
    done = run_carina([command, DIGITS, "--board", "Alif_E7_HX"], expect=2)
    assert (
        "unknown board" in done.stderr and "did you mean Alif_E7_HE?" in done.stderr and "Corstone_300" in done.stderr
    )


def test_a_target_or_a_board_is_required(run_carina):
    assert "--target (or --board) is required" in run_carina(["compile", DIGITS], expect=2).stderr


def test_a_sweep_takes_the_target_of_its_board(run_carina):
    rows = run_carina(
        ["sweep", DIGITS, "--board", "Alif_E7_HP", "--quantize", "int8,int16x8", "--calibrate", "random", "--json"]
    ).json["rows"]
    assert [(row["target"], row["memory_mode"], row["system_config"]) for row in rows] == [
        ("ethos-u55-256", "Shared_Sram", "Alif_E7_HP")
    ] * 2
    assert all(row["fits"] for row in rows)
    rows = run_carina(
        ["sweep", DIGITS, "--board", "Alif_E7_HP", "-t", "ethos-u55-32,ethos-u55-64", "--calibrate", "random", "--json"]
    ).json["rows"]
    assert [row["target"] for row in rows] == ["ethos-u55-32", "ethos-u55-64"]


def test_the_page_has_a_row_for_each_board(run_carina):
    page = (ROOT / "docs" / "guide" / "boards.md").read_text()
    for row in run_carina(["targets", "--boards", "--json"]).json["boards"]:
        assert f"| `{row['name']}` |" in page


def test_a_board_has_one_npu(run_carina):
    done = run_carina(["npu", "run", stream_of("kws"), "--timed", "--system-config=Corstone_320_FVP"], expect=2)
    assert "Corstone_320_FVP has another NPU than ethos-u55-128" in done.stderr


def test_an_unknown_system_configuration_is_answered_with_boards(run_carina):
    done = run_carina(["npu", "run", stream_of("kws"), "--timed", "--system-config=Alif_E9"], expect=2)
    assert "Alif_E7_HE" in done.stderr and "Ethos_U55_High_End_Embedded" in done.stderr


def test_figures_have_an_interval(run_carina):
    npu = timed(run_carina, stream_of("ds_cnn"))
    interval = npu["cycles_interval"]
    assert interval["lowest"] < npu["cycles"] < interval["highest"]
    assert not interval["waits_for_memory"] and "ethos-u55" in interval["basis"]
    text = run_carina(["npu", "run", stream_of("ds_cnn"), "--timed", "--memory-mode=Shared_Sram"]).stdout
    assert f"hardware: {interval['lowest']:,} to {interval['highest']:,} cycles expected" in text


def test_networks_that_wait_for_flash_say_so(run_carina, tmp_path):
    (tmp_path / "slow.ini").write_text(SLOW_FLASH)
    npu = timed(run_carina, stream_of("lstm"), "--system-config=Slow_Flash", f"--config={tmp_path}/slow.ini")
    assert npu["cycles_interval"]["waits_for_memory"]


@pytest.fixture
def measured(run_carina, tmp_path):
    """A CSV of two networks on a board with slow flash, and the cycles of a third network."""
    (tmp_path / "slow.ini").write_text(SLOW_FLASH)
    cycles = {
        case: timed(run_carina, stream_of(case), "--system-config=Slow_Flash", f"--config={tmp_path}/slow.ini")[
            "cycles"
        ]
        for case in STREAMS
    }
    with open(tmp_path / "measured.csv", "w") as file:
        rows = csv.writer(file)
        rows.writerow(["stream", "milliseconds"])
        rows.writerows([stream_of(case), cycles[case] / 500e3] for case in STREAMS[:2])
    return tmp_path / "measured.csv", cycles


def test_calibration_predicts_a_network_that_it_did_not_see(run_carina, measured, tmp_path):
    file, cycles = measured
    ini = tmp_path / "board.ini"
    done = run_carina(["calibrate-board", file, "--memory-mode=Shared_Sram", "--name=Mine", "-o", ini, "--json"])
    fitted = json.loads(done.stdout)
    assert fitted["worst_residual"] < 0.02 and len(fitted["measurements"]) == 2
    assert "[System_Config.Mine]" in ini.read_text() and "measured" in ini.read_text()
    third = timed(run_carina, stream_of(STREAMS[2]), "--system-config=Mine", f"--config={ini}")["cycles"]
    before = timed(run_carina, stream_of(STREAMS[2]))["cycles"]
    assert abs(third / cycles[STREAMS[2]] - 1) < 0.12 < abs(before / cycles[STREAMS[2]] - 1)


def test_names_of_streams_may_have_blanks_commas_and_quotes(run_carina, tmp_path):
    name = 'of "our" board, 2.npz'
    shutil.copyfile(stream_of("kws"), tmp_path / name)
    with open(tmp_path / "measured.csv", "w", newline="") as file:
        csv.writer(file).writerows([["stream", "cycles"], [name, 300_000]])
    done = run_carina(
        [
            "calibrate-board",
            tmp_path / "measured.csv",
            "--memory-mode=Shared_Sram",
            "-o",
            tmp_path / "board.ini",
            "--json",
        ]
    )
    assert [row["stream"] for row in json.loads(done.stdout)["measurements"]] == [name]


@pytest.mark.parametrize("output", ["net.npz", "./net.npz", "link.npz"])
def test_calibration_never_replaces_a_stream_of_the_csv(run_carina, tmp_path, output):
    shutil.copyfile(stream_of("kws"), tmp_path / "net.npz")
    (tmp_path / "link.npz").symlink_to("net.npz")
    (tmp_path / "measured.csv").write_text("stream,cycles\nnet.npz,300000\n")
    before = (tmp_path / "net.npz").read_bytes()
    done = run_carina(
        ["calibrate-board", "measured.csv", "--memory-mode=Shared_Sram", "-o", output], expect=2, cwd=tmp_path
    )
    assert "is an input of this command" in done.stderr and (tmp_path / "net.npz").read_bytes() == before


@pytest.mark.parametrize(
    "text",
    ["", "stream,cycles\n", "name,cycles\na,1\n", "stream,cycles\nmissing.npz,1\n", "stream,cycles\nmissing.npz,-1\n"],
)
def test_calibration_rejects_files_without_measurements(run_carina, tmp_path, text):
    (tmp_path / "bad.csv").write_text(text)
    done = run_carina(["calibrate-board", tmp_path / "bad.csv", "-o", tmp_path / "board.ini"], expect=1)
    assert "bad.csv" in done.stderr or "missing.npz" in done.stderr
    assert not (tmp_path / "board.ini").exists()


# Published cycles and beats (docs/cycle-model.md): cycles, then beats of AXI0 reads, AXI0 writes and AXI1 reads.
ANCHORS = {
    "himax_person_u55_64": (478_989, 112_263, 62_789, 30_638),
    "himax_yolofastest256_u55_64": (7_328_931, 1_839_100, 808_112, 73_728),
    "ad_medium_vela310": (967_731, 485_194, 138_111, 56_245),
    "ad_medium_vela201": (1_081_007, 628_122, 135_087, 62_870),
    "mobilenet_v2_int8_vela300": (7_345_741, 2_468_259, 1_151_319, 432_351),
}


PRESENT = [name for name in ANCHORS if (SHARED / "cycle_anchors" / f"{name}.npz").exists()]


@pytest.mark.parametrize("name", PRESENT or [pytest.param("", marks=pytest.mark.skip(NO_SHARED))])
def test_cycles_and_beats_are_those_of_the_fvp(name, run_carina):
    npu = timed(run_carina, SHARED / "cycle_anchors" / f"{name}.npz", "--system-config=Ethos_U55_High_End_Embedded")
    cycles, reads, writes, flash = ANCHORS[name]
    assert abs(npu["cycles"] / cycles - 1) < 0.09
    assert npu["pmu"]["AXI0_WR_DATA_BEAT_WRITTEN"] == writes
    assert abs(npu["pmu"]["AXI0_RD_DATA_BEAT_RECEIVED"] / reads - 1) < 0.03
    assert abs(npu["pmu"]["AXI1_RD_DATA_BEAT_RECEIVED"] / flash - 1) < 0.002
