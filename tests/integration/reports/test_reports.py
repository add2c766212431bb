"""Opens report pages (--report) in a browser. They load nothing from the network, agree with --json, and make correct predictions for other
options."""

import html
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from browser import browse, layout_faults, printed
from conftest import ROOT

DIGITS = ROOT / "models" / "digits"
MODEL = ["compile", DIGITS / "digits.pt2", "--calibrate", DIGITS / "calibration.npz"]


def number(text):
    """ "1,234 −5.0 %" -> 1234"""
    return int(re.match(r"[\d,]+", text)[0].replace(",", ""))


@pytest.fixture(scope="module")
def compiled(run_carina, tmp_path_factory):
    """The page of a compilation, its file, and the JSON of the same command."""
    folder = tmp_path_factory.mktemp("report")
    report = run_carina(
        [*MODEL, "--target", "ethos-u55-128", "-o", folder / "digits.pte", "--report", folder / "page.html", "--json"]
    ).json
    return browse(folder / "page.html"), folder / "page.html", report


def test_compile_page_says_what_json_says(compiled):
    page, _, report = compiled
    assert page.title == "digits.pt2"
    assert {key: int(page.cards[key]) for key in ("cycles", "program_bytes", "npu_nodes")} == {
        "cycles": report["cycles"],
        "program_bytes": report["program_bytes"],
        "npu_nodes": sum(node["runs_on"] == "npu" for node in report["nodes"]),
    }
    assert int(page.cards["sram_bytes"]) == report["sram_bytes"]
    assert page.cards["cycles_interval"] == "{lowest} {highest}".format(**report["cycles_interval"])
    assert page.shown["cycles"] == f"{report['cycles'] / 1000:.2f}\u00a0k"
    rows = page.tables["nodes-table"]
    assert [row[0].split(" ")[0] for row in rows] == [node["name"] for node in report["nodes"]]
    assert [row[1] for row in rows] == [node["op"] for node in report["nodes"]]
    assert [number(row[3]) if row[3] != "–" else 0 for row in rows] == [node["cycles"] for node in report["nodes"]]


def test_the_data_of_a_page_are_the_json(compiled):
    _, file, report = compiled
    embedded = re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read_text(), re.DOTALL)
    assert json.loads(embedded[1]) == report


def test_plots_have_a_mark_for_each_thing(compiled):
    page, _, report = compiled
    [part] = report["delegates"]
    held = [one for one in part["memory_map"] if one["memory"] == "arena"]
    assert page.marks["memory-0-arena"]["rect"] == len(held) > 5
    layers = {}
    for operation in part["npu"]["layers"]:
        causes = layers.setdefault(operation["name"], set())
        causes |= {cause for cause, cycles in operation["causes"].items() if cycles}
    assert page.marks["time-0-layers"]["rect"] == sum(map(len, layers.values()))
    assert page.marks["time-0-layers"]["rule"] == len(layers), "what taking each layer out saves"
    assert page.marks["roofline-0-plot"]["symbol"] >= 5


def test_bars_stand_in_the_order_in_which_layers_compute(run_carina, tmp_path):
    """The last layer has many weights, and their transfer begins while the first layers compute."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        *(torch.nn.Conv2d(8, 8, 3, padding=1) for _ in range(4)), torch.nn.Flatten(), torch.nn.Linear(8 * 144, 64)
    ).eval()
    torch.export.save(torch.export.export(model, (torch.randn(1, 8, 12, 12),)), tmp_path / "m.pt2")
    np.savez(tmp_path / "c.npz", x=np.random.RandomState(0).randn(4, 1, 8, 12, 12).astype("f4"))
    arguments = [
        "compile",
        tmp_path / "m.pt2",
        "--target",
        "ethos-u55-128",
        "--calibrate",
        tmp_path / "c.npz",
        "-o",
        tmp_path / "m.pte",
    ]
    report = run_carina([*arguments, "--report", tmp_path / "page.html", "--json"]).json
    page = browse(tmp_path / "page.html")
    [part] = report["delegates"]
    computes = {}
    for operation in part["npu"]["layers"]:
        if operation["operation"] != "dma":
            computes.setdefault(operation["name"], operation["start_cycle"])
    text = page.text[page.text.index("Where the time goes") :]
    places = [text.index(name) for name in sorted(computes, key=computes.get)]
    assert len(places) >= 5 and places == sorted(places)


def test_the_share_of_a_layer_is_what_taking_it_out_saves(run_carina, tmp_path):
    """Other layers wait while the last layer's weights are read over the same port."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        *(torch.nn.Conv2d(64, 64, 1) for _ in range(6)), torch.nn.Flatten(), torch.nn.Linear(64 * 16, 512)
    ).eval()
    torch.export.save(torch.export.export(model, (torch.randn(1, 64, 4, 4),)), tmp_path / "m.pt2")
    np.savez(tmp_path / "c.npz", x=np.random.RandomState(0).randn(4, 1, 64, 4, 4).astype("f4"))
    arguments = [
        "explain",
        tmp_path / "m.pt2",
        "--target",
        "ethos-u55-128",
        "--calibrate",
        tmp_path / "c.npz",
        "--report",
        tmp_path / "page.html",
        "--json",
    ]
    report = run_carina(arguments).json
    npu = report["delegates"][0]["npu"]
    assert set(npu["saved_cycles"]) == {layer["name"] for layer in npu["layers"]}
    assert all(0 <= saved <= npu["cycles"] for saved in npu["saved_cycles"].values())
    without = run_carina([*arguments, "--cpu-node", "linear"]).json["cycles"]
    linear = npu["saved_cycles"]["linear"]
    own = sum(layer["cycles"] for layer in npu["layers"] if layer["name"] == "linear")
    assert linear == pytest.approx(report["cycles"] - without, rel=0.15), (linear, report["cycles"] - without, own)


@pytest.mark.parametrize("mode, in_sram", [("Sram_Only", True), ("Shared_Sram", False)])
def test_constants_that_lie_in_sram_are_counted_there(run_carina, tmp_path, mode, in_sram):
    arguments = [*MODEL, "--target", "ethos-u55-128", "--memory-mode", mode, "-o", tmp_path / "m.pte"]
    report = run_carina([*arguments, "--summary", tmp_path / "s.csv", "--json"]).json
    constants = sum(one["weight_bytes"] for one in report["delegates"])
    arena = report["scratch_bytes"] + report["planned_bytes"] + report["tables_bytes"]
    assert constants > 1000 and report["sram_bytes"] == arena + constants * in_sram
    names, values = (tmp_path / "s.csv").read_text().strip().split("\n")
    summary = dict(zip(names.split(","), values.split(","), strict=True))
    assert (
        float(summary["sram_memory_used"]) * 1024
        == report["sram_bytes"] - report["planned_bytes"] - report["tables_bytes"]
    ), "the table counts the NPU's memory"
    text = run_carina(arguments).stdout
    assert f"memory: SRAM {report['sram_bytes']:,} B" in text and (f"+ constants {constants:,})" in text) == in_sram
    rows = run_carina(["sweep", *MODEL[1:], "--targets", "ethos-u55-128", "--memory-modes", mode, "--json"]).json[
        "rows"
    ]
    assert rows[0]["sram_bytes"] == report["sram_bytes"]


def test_a_page_is_one_file_that_may_load_nothing(compiled):
    _, file, _ = compiled
    text = file.read_text()
    assert "default-src 'none'" in text and "unsafe-eval" not in text
    assert "University of Washington" in text  # Vega's license must be on a page that contains Vega
    assert len(text) < 1_000_000


def test_dark_and_light(compiled):
    light, file, _ = compiled
    dark = browse(file, dark=True)
    assert dark.cards == light.cards
    assert "#5b6776" in light.colors and "#5b6776" not in dark.colors  # --soft of page.css


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_causes_add_up(run_carina, tmp_path, target):
    run_carina([*MODEL, "--target", target, "-o", tmp_path / "digits.pte"])
    npu = run_carina(["run", tmp_path / "digits.pte", "--timed", "--json"]).json["npu"]
    for operation in npu["layers"]:
        assert sum(operation["causes"].values()) == operation["cycles"], operation["name"]
    assert sum(operation["cycles"] for operation in npu["layers"]) == npu["cycles"]


def test_alternatives_have_the_figures_of_compiling_with_them(compiled, run_carina, tmp_path):
    page, _, report = compiled
    alternatives = [one for one in report["alternatives"] if not one["failure"]]
    assert {"-Os", "--memory-mode Sram_Only", "--target ethos-u55-256"} <= {one["options"] for one in alternatives}
    assert [row[1] for row in page.tables["alternatives-table"]] == [one["options"] for one in alternatives]
    assert [number(row[2]) for row in page.tables["alternatives-table"]] == [one["cycles"] for one in alternatives]
    for alternative in alternatives:
        options = alternative["options"].split()
        target = [] if "--target" in options else ["--target", "ethos-u55-128"]
        with_it = run_carina([*MODEL, *target, *options, "-o", tmp_path / "other.pte", "--json"]).json
        assert (with_it["cycles"], with_it["program_bytes"]) == (alternative["cycles"], alternative["program_bytes"]), (
            alternative["what"]
        )
        assert with_it["sram_bytes"] == alternative["sram_bytes"], alternative["what"]
    seconds = [one["cycles"] / one["clock_hz"] for one in alternatives]
    assert seconds == sorted(seconds)


def test_the_page_shows_the_schemes_that_auto_measured(run_carina, tmp_path):
    auto = ["--quantize", "auto", "--auto-front", tmp_path / "front.json", "--report", tmp_path / "page.html", "--json"]
    report = run_carina([*MODEL, "--target", "ethos-u55-128", *auto, "-o", tmp_path / "digits.pte"]).json
    page = browse(tmp_path / "page.html")
    assert len(report["schemes"]) > 1
    assert [(row[0], number(row[1])) for row in page.tables["schemes-table"]] == [
        (one["scheme"], one["cycles"]) for one in report["schemes"]
    ]
    assert page.marks["schemes-plot"]["symbol"] == len(report["schemes"])


def test_explain_page_of_nodes_on_the_cpu(run_carina, tmp_path):
    arguments = [
        "explain",
        *MODEL[1:],
        "--target",
        "ethos-u85-256",
        "--cpu-node",
        "relu_2",
        "--report",
        tmp_path / "page.html",
        "--json",
    ]
    report = run_carina(arguments).json
    page = browse(tmp_path / "page.html")
    [on_cpu] = [row for row in page.tables["nodes-table"] if row[2] == "CPU"]
    [node] = [node for node in report["nodes"] if node["runs_on"] == "cpu"]
    assert (on_cpu[0].split(" ")[0], number(on_cpu[4])) == (node["name"], node["cpu_cycles"])
    assert node["reason"] in on_cpu[5]
    assert int(page.cards["cpu_cycles"]) == report["cpu_cycles"] == node["cpu_cycles"] + report["conversion_cycles"]
    assert "graph" in page.sections and "relu_2" in page.text


def test_run_compare_and_accuracy_pages(run_carina, tmp_path):
    for name, options in {"a": [], "b": ["-Os"]}.items():
        run_carina(
            [
                *MODEL,
                "--target",
                "ethos-u55-128",
                *options,
                "-o",
                tmp_path / f"{name}.pte",
                "--dump",
                tmp_path / f"dump_{name}",
            ]
        )
    report = run_carina(["run", tmp_path / "a.pte", "--report", tmp_path / "run.html", "--json"]).json
    page = browse(tmp_path / "run.html")
    assert int(page.cards["cycles"]) == report["npu"]["cycles"]
    assert {row[0]: number(row[1]) for row in page.tables["pmu-table"]} == report["npu"]["pmu"]
    assert {row[0]: number(row[1]) for row in page.tables["memory-table"]} == report["memory"]

    report = run_carina(
        ["compare", tmp_path / "a.pte", tmp_path / "b.pte", "--report", tmp_path / "compare.html", "--json"]
    ).json
    page = browse(tmp_path / "compare.html")
    assert int(page.cards["cycles"]) == report["b"]["cycles"]
    assert [row[0] for row in page.tables["layers-table"]] == [row["name"] for row in report["layers"]]
    assert page.marks["layers-plot"]["rect"] == sum(
        (row["a"] is not None) + (row["b"] is not None) for row in report["layers"]
    )

    data = ["--data", DIGITS / "test.npz", "--dump", tmp_path / "dump_a"]
    report = run_carina(
        ["accuracy", DIGITS / "digits.pt2", tmp_path / "a.pte", *data, "--report", tmp_path / "accuracy.html", "--json"]
    ).json
    page = browse(tmp_path / "accuracy.html")
    assert {key: int(page.cards[key]) for key in ("float_right", "npu_right", "integer_right")} == {
        key: report[key] for key in ("float_right", "npu_right", "integer_right")
    }


def test_page_of_accuracy_by_layer(run_carina, tmp_path):
    arguments = [
        "accuracy",
        DIGITS / "digits.pt2",
        "--layers",
        "--data",
        DIGITS / "calibration.npz",
        "--report",
        tmp_path / "page.html",
        "--json",
    ]
    report = run_carina(arguments).json
    page = browse(tmp_path / "page.html")
    assert float(page.cards["sqnr_db"]) == report["sqnr_db"]
    assert [row[0].split(" ")[0] for row in page.tables["layers-table"]] == [
        layer["node"] for layer in report["layers"]
    ]
    assert [row[1] for row in page.tables["remedies-table"]] == [one["options"] for one in report["remedies"]]
    assert "calibrated with 32 of the 64 samples" in [one["what"] for one in report["remedies"]]


def test_nothing_is_cut_on_paper(compiled, run_carina, tmp_path):
    """Tables and plots fit an A4 page, and no row is hidden in a box that scrolls."""
    run_carina(["sweep", DIGITS / "digits.pt2", "-t", "ethos-u65,ethos-u85-128", "-q", "int8,int16x8", "--memory-modes", "all", "--calibrate", DIGITS / "calibration.npz",
                "--data", DIGITS / "test.npz", "--sram-budget", "8K", "--report", tmp_path / "sweep.html"])  # fmt: skip
    run_carina(
        [
            "accuracy",
            DIGITS / "digits.pt2",
            "--layers",
            "--data",
            DIGITS / "test.npz",
            "--report",
            tmp_path / "layers.html",
        ]
    )
    for page in (compiled[1], tmp_path / "sweep.html", tmp_path / "layers.html"):
        assert printed(page, tmp_path) == ("", 0), page.name


@pytest.fixture(scope="module")
def pages(compiled, run_carina, tmp_path_factory):
    """A page of each command, with long names and many combinations."""
    folder = tmp_path_factory.mktemp("pages")
    program, data = compiled[1].parent / "digits.pte", ["--data", DIGITS / "test.npz"]
    run_carina(["run", program, "--timed", "--report", folder / "run.html"])
    run_carina(["accuracy", DIGITS / "digits.pt2", program, *data, "--report", folder / "accuracy.html"])
    run_carina(["accuracy", DIGITS / "digits.pt2", "--layers", *data, "--report", folder / "layers.html"])
    run_carina(
        ["explain", DIGITS / "digits.pt2", "-t", "ethos-u55-128", "-q", "none", "--report", folder / "explain.html"]
    )
    run_carina(["compare", program, program, "--report", folder / "compare.html"])
    run_carina(["sweep", DIGITS / "digits.pt2", "--targets", "all", "--memory-modes", "Sram_Only,Shared_Sram", "--quantize", "int8,int16x8,int8x4,auto",
                "--calibrate", DIGITS / "calibration.npz", "--report", folder / "sweep.html"])  # fmt: skip
    return {"compile": compiled[1], **{page.stem: page for page in folder.glob("*.html")}}


@pytest.mark.parametrize("width", [420, 1280])
@pytest.mark.parametrize("name", ["compile", "run", "accuracy", "layers", "explain", "compare", "sweep"])
def test_pages_fit_their_width(pages, tmp_path, name, width):
    assert not layout_faults(pages[name], tmp_path, width)


def test_the_legend_names_auto_once(pages):
    """What auto found differs from target to target; the table and the tooltips say it."""
    page = browse(pages["sweep"])
    assert page.text.count("▼") + page.text.count("◆") <= 1, "four schemes: ● ■ ▲ ◆"
    assert any(row[2].startswith("auto: ") for row in page.tables["rows-table"])


def test_a_name_is_no_script(run_carina, tmp_path):
    folder = tmp_path / "<script>document.title=1<"
    folder.mkdir()
    model = folder / "{{data}}<img src=x>.pt2"
    model.write_bytes((DIGITS / "digits.pt2").read_bytes())
    run_carina(["explain", model, "--target", "ethos-u55-128", "--report", tmp_path / "page.html"])
    page = browse(tmp_path / "page.html")
    assert page.title == "{{data}}<img src=x>.pt2"


def test_pages_from_python(carina, compiled, tmp_path):
    program = f"""
import carina
made = carina.compile({str(DIGITS / "digits.pt2")!r}, target="ethos-u55-128", calibration={str(DIGITS / "calibration.npz")!r}, report={str(tmp_path / "page.html")!r})
open({str(tmp_path / "notebook.html")!r}, "w").write(made.report()._repr_html_())
"""
    subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(carina.parents[1] / "python")}, check=True
    )
    page, _, _ = compiled
    from_python = browse(tmp_path / "page.html")
    assert (from_python.cards, from_python.tables, from_python.marks) == (page.cards, page.tables, page.marks)
    frame = re.search(r'<iframe srcdoc="(.*?)"', (tmp_path / "notebook.html").read_text(), re.DOTALL)
    (tmp_path / "frame.html").write_text(html.unescape(frame[1]))
    in_notebook = browse(tmp_path / "frame.html")
    assert (in_notebook.cards, in_notebook.tables) == (page.cards, page.tables)


def test_a_page_does_not_replace_an_input(run_carina):
    failed = run_carina(
        ["explain", DIGITS / "digits.pt2", "--target", "ethos-u55-128", "--report", DIGITS / "digits.pt2"], expect=2
    )
    assert "--report" in failed.stderr
