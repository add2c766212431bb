"""`carina sweep`: every combination has the result of `carina compile`. test_cluster.py tests sweeps on a cluster."""

import csv
import hashlib

import pytest
from browser import browse
from conftest import ROOT

DIGITS = ROOT / "models" / "digits"
MODEL = [DIGITS / "digits.pt2", "--calibrate", DIGITS / "calibration.npz"]


@pytest.fixture(scope="module")
def swept(run_carina, tmp_path_factory):
    """The folder of a sweep with all outputs (programs, tables and page), and its JSON."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "programs").mkdir()
    outputs = ["--table", folder / "sweep.csv", "--report", folder / "sweep.html", "-o", folder / "programs"]
    done = run_carina(
        ["sweep", *MODEL, "--targets", "all", "--memory-modes", "all", "--quantize", "int8,int16x8", *outputs, "--json"]
    )
    (folder / "sweep.json").write_text(done.stdout)
    return folder, done.json


def test_every_combination_has_a_row(swept, run_carina):
    _, sweep = swept
    known = run_carina(["targets", "--json"]).json
    targets = [row["name"] for row in known["targets"]]
    modes = [row["name"] for row in known["memory_modes"]]
    combinations = [(row["quantization"], row["target"], row["memory_mode"]) for row in sweep["rows"]]
    assert combinations == [
        (scheme, target, mode) for scheme in ("int8", "int16x8") for target in targets for mode in modes
    ]
    rejected = {(row["target"], row["memory_mode"]) for row in sweep["rows"] if row["status"] == "refused"}
    assert rejected == {
        (target, mode)
        for target in targets
        for mode in modes
        if target.startswith("ethos-u55") and mode.startswith("Dedicated")
    }
    assert all("AXI port 1" in row["reason"] for row in sweep["rows"] if row["status"] == "refused")
    assert all(row["status"] != "failed" for row in sweep["rows"])


@pytest.mark.parametrize(
    "scheme, target, mode",
    [
        ("int8", "ethos-u55-64", "Sram_Only"),
        ("int16x8", "ethos-u65-512", "Dedicated_Sram_256KB"),
        ("int8", "ethos-u85-2048", "Shared_Sram"),
    ],
)
def test_row_has_the_figures_and_the_program_of_compile(swept, run_carina, tmp_path, scheme, target, mode):
    folder, sweep = swept
    [row] = [
        row
        for row in sweep["rows"]
        if (row["quantization"], row["target"], row["memory_mode"]) == (scheme, target, mode)
    ]
    report = run_carina(
        ["compile", *MODEL, "-q", scheme, "-t", target, "--memory-mode", mode, "-o", tmp_path / "digits.pte", "--json"]
    ).json
    program = (tmp_path / "digits.pte").read_bytes()
    assert row["program_sha256"] == hashlib.sha256(program).hexdigest()
    assert (folder / "programs" / f"{target}_{mode}_{scheme}.pte").read_bytes() == program
    assert all(row[key] == report[key] for key in ("cycles", "cycles_interval", "program_bytes", "clock_hz"))
    npu = run_carina(["run", tmp_path / "digits.pte", "--timed", "--json"]).json["npu"]
    assert (row["macs"], row["traffic_bytes"], row["macs_per_cycle"]) == (
        npu["macs"],
        npu["traffic_bytes"],
        npu["macs_per_cycle"],
    )
    assert sum(layer["cycles"] for layer in row["layers"]) == row["cycles"]


def test_tables_and_threads(swept, run_carina):
    folder, sweep = swept
    rows = list(csv.DictReader((folder / "sweep.csv").open()))
    assert [row["program SHA-256"] for row in rows] == [row.get("program_sha256", "") for row in sweep["rows"]]
    assert [int(row["cycles"]) for row in rows] == [row.get("cycles", 0) for row in sweep["rows"]]
    for row, cells in zip(sweep["rows"], rows, strict=True):
        if row["status"] == "compiled":
            interval = row["cycles_interval"]
            assert interval["lowest"] < row["cycles"] < interval["highest"] and row["target"][:9] in interval["basis"]
            assert (int(cells["lowest cycles"]), int(cells["highest cycles"])) == (
                interval["lowest"],
                interval["highest"],
            )
    words = ["sweep", *MODEL, "--targets", "ethos-u65", "--json", "--threads"]
    assert run_carina([*words, "1"]).stdout == run_carina([*words, "3"]).stdout
    assert (
        run_carina(["sweep", "--rows", folder / "sweep.json", "--json"]).stdout == (folder / "sweep.json").read_text()
    )


def test_page_agrees_with_json(swept):
    folder, sweep = swept
    page = browse(folder / "sweep.html")
    compiled = [row for row in sweep["rows"] if row["status"] == "compiled"]
    assert int(page.cards["compiled"]) == len(compiled)
    assert int(page.cards["fewest"]) == min(row["cycles"] for row in compiled)
    assert int(page.cards["smallest"]) == min(row["sram_bytes"] for row in compiled)
    shown = [
        (row[0], row[1], row[2], int(row[3].replace(",", "")), int(row[7].replace(",", "")))
        for row in page.tables["rows-table"]
    ]
    assert shown == [
        (row["target"], row["memory_mode"], row["quantization"], row["cycles"], row["sram_bytes"]) for row in compiled
    ]
    others = [row for row in sweep["rows"] if row["status"] != "compiled"]
    reasons = {
        (row["status"], row["reason"].replace(row["memory_mode"], "").replace(row["target"], "")) for row in others
    }
    assert len(page.tables["others-table"]) == len(reasons) < len(others), "combinations with one reason are one row"
    assert page.marks["scatter-plot"]["symbol"] == len(compiled)
    assert page.marks["roofline-plot"]["symbol"] == len(compiled)
    shown = [
        row
        for row in compiled
        if (row["memory_mode"], row["quantization"]) == (compiled[0]["memory_mode"], compiled[0]["quantization"])
    ]
    assert page.marks["heat-plot"]["rect"] == sum(len(row["layers"]) for row in shown)


def test_failed_combination_is_a_row(run_carina, tmp_path):
    words = [
        "sweep",
        DIGITS / "digits.pt2",
        "--targets",
        "ethos-u55-32",
        "--quantize",
        "int8,none",
        "-o",
        tmp_path,
        "--json",
    ]
    sweep = run_carina(words).json  # programs are not made of random ranges
    assert [(row["quantization"], row["status"]) for row in sweep["rows"]] == [("int8", "failed"), ("none", "compiled")]
    assert "calibrat" in sweep["rows"][0]["reason"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["--targets", "ethos-u99"], "ethos-u55-32"),
        (["--memory-modes", "Fast"], "Shared_Sram"),
        (["--quantize", "int3"], "int3"),
        (["--rows", "x.json"], "either a model or --rows"),
    ],
)
def test_wrong_command_line_is_rejected(run_carina, words, message):
    failed = run_carina(["sweep", *MODEL, *words], expect=2)
    assert message in failed.stderr


# --- --state, and several models ----------------------------------------------------------------------------------


def test_state_keeps_finished_combinations(run_carina, tmp_path):
    (tmp_path / "programs").mkdir()
    words = ["sweep", *MODEL, "--targets", "ethos-u55", "--json"]
    state = ["--state", tmp_path / "state"]
    alone = run_carina(words).stdout
    assert run_carina([*words[:4], "--targets", "ethos-u55-32", *state]).code == 0
    assert run_carina([*words, *state]).stdout == alone
    [kept] = (tmp_path / "state").glob("*.jsonl")
    lines = [line for line in kept.read_text().splitlines() if line]
    assert len(lines) == 4, "ethos-u55-32 was not compiled again"
    # The state has no programs, so the combinations are compiled again. Then it has the programs too.
    assert run_carina([*words, *state, "-o", tmp_path / "programs"]).stdout == alone
    count = len(kept.read_text().splitlines())
    program = (tmp_path / "programs" / "ethos-u55-32_Shared_Sram_int8.pte").read_bytes()
    (tmp_path / "programs" / "ethos-u55-32_Shared_Sram_int8.pte").unlink()
    assert run_carina([*words, *state, "-o", tmp_path / "programs"]).stdout == alone
    assert (tmp_path / "programs" / "ethos-u55-32_Shared_Sram_int8.pte").read_bytes() == program
    assert len([line for line in kept.read_text().splitlines() if line]) == len(
        [line for line in kept.read_text().splitlines()[:count] if line]
    )
    # Other options give another key.
    run_carina([*words, *state, "-Os"])
    assert len(list((tmp_path / "state").glob("*.jsonl"))) == 2


def test_rows_of_several_models_equal_those_of_each_alone(run_carina, tmp_path):
    other = tmp_path / "other.pt2"
    other.write_bytes((DIGITS / "digits.pt2").read_bytes())
    (tmp_path / "programs").mkdir()
    words = ["--calibrate", DIGITS / "calibration.npz", "--targets", "ethos-u65-256", "--json"]
    both = run_carina(["sweep", DIGITS / "digits.pt2", other, *words, "-o", tmp_path / "programs"]).json
    alone = run_carina(["sweep", other, *words]).json
    assert [row.pop("model") for row in both["rows"]] == [str(DIGITS / "digits.pt2"), str(other)]
    assert both["rows"][1:] == alone["rows"]
    assert sorted(file.name for file in (tmp_path / "programs").iterdir()) == [
        f"{name}_ethos-u65-256_Dedicated_Sram_384KB_int8.pte" for name in ("digits", "other")
    ]


def test_models_of_a_list(run_carina, tmp_path):
    (tmp_path / "digits.pt2").write_bytes((DIGITS / "digits.pt2").read_bytes())
    calibration = DIGITS / "calibration.npz"
    (tmp_path / "models.toml").write_text(
        f'''[fast]  # a comment
model = "digits.pt2"
calibrate = "{calibration}"
quantize = ["int8", "int16x8"]

[small]
model = "digits.pt2"
calibrate = "{calibration}"
optimize = "size"
'''
    )
    words = ["--targets", "ethos-u55-32,ethos-u65-256", "--json"]
    outputs = ["--table", tmp_path / "all.json", "--report", tmp_path / "all.html"]
    both = run_carina(["sweep", "--models", tmp_path / "models.toml", *words, *outputs])
    assert (tmp_path / "all.json").read_text() == both.stdout
    rows = both.json["rows"]
    assert [(row["model"], row["quantization"], row["target"]) for row in rows] == [
        *(("fast", scheme, target) for scheme in ("int8", "int16x8") for target in ("ethos-u55-32", "ethos-u65-256")),
        *(("small", "int8", target) for target in ("ethos-u55-32", "ethos-u65-256")),
    ]
    alone = run_carina(["sweep", tmp_path / "digits.pt2", "--calibrate", calibration, "-Os", *words]).json["rows"]
    assert [{name: value for name, value in row.items() if name != "model"} for row in rows[4:]] == alone
    pages = {file.name: file.read_text() for file in tmp_path.glob("all*.html")}
    assert set(pages) == {"all.html", "all_fast.html", "all_small.html"}
    assert '"bottleneck"' in pages["all_fast.html"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("[a]\nquantize = 'int8'\n", "the model is missing"),
        ("[a]\nmodel = 'm.pt2'\nspeed = 3\n", "unknown option: speed"),
        ("[a]\nmodel = 'm.pt2'\nreport = 'x.html'\n", "applies to all models"),
        ("model = 'm.pt2'\n", "is outside of a section"),
        ("", "the file has no model"),
    ],
)
def test_errors_in_a_list(run_carina, tmp_path, text, message):
    (tmp_path / "models.toml").write_text(text)
    failed = run_carina(["sweep", "--models", tmp_path / "models.toml"], expect=2)
    assert message in failed.stderr


def test_exit_codes(run_carina, tmp_path):
    words = ["sweep", DIGITS / "digits.pt2", "--targets", "ethos-u55-32", "--quantize", "int8,none"]
    assert run_carina(words).code == 0
    run_carina([*words, "-o", tmp_path, "--strict"], expect=1)  # int8 has no data
    # Nothing is compiled: the arena exceeds the budget.
    run_carina(["sweep", *MODEL, "--targets", "ethos-u55-32", "--arena-budget", "20"], expect=1)
    run_carina(["sweep", *MODEL, "--targets", "ethos-u55-32", "-o", tmp_path / "new" / "folder"])
    assert list((tmp_path / "new" / "folder").glob("*.pte"))
