"""Budgets of SRAM and flash, figures without calibration data, and what sweeps and pages say of both."""

import json
import re

import numpy as np
import pytest
import torch
from browser import browse
from conftest import ROOT

DIGITS = ROOT / "models" / "digits"
TARGET = "ethos-u55-128"
COMPILE_DIGITS = ["compile", DIGITS / "digits.pt2", "-t", TARGET, "--calibrate", DIGITS / "calibration.npz"]


class Photo(torch.nn.Module):
    """Most of its memory is the float input: 3 x 96 x 96 floats are 110,592 bytes."""

    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3, stride=4),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
            torch.nn.Linear(4, 3),
        )

    def forward(self, image):
        return self.body(image)


@pytest.fixture(scope="module")
def photo(tmp_path_factory):
    """A folder with photo.pt2, photo.npz with labels, and photos/, images in folders by class."""
    folder = tmp_path_factory.mktemp("photo")
    torch.manual_seed(0)
    torch.export.save(torch.export.export(Photo().eval(), (torch.randn(1, 3, 96, 96),)), folder / "photo.pt2")
    random = np.random.default_rng(0)
    np.savez(folder / "photo.npz", image=random.random((8, 3, 96, 96), np.float32), y=random.integers(0, 3, 8))
    return folder


def compile_args(photo, *options, output="x.pte"):
    return ["compile", photo / "photo.pt2", "-t", TARGET, "--calibrate", photo / "photo.npz", "-o", output, *options]


def test_the_sram_budget_covers_all_that_is_in_sram(run_carina, photo, tmp_path):
    report = run_carina([*compile_args(photo, output=tmp_path / "x.pte"), "--json"]).json
    parts = report["scratch_bytes"] + report["planned_bytes"] + report["tables_bytes"]
    assert report["sram_bytes"] == parts and report["tables_bytes"] > 0
    listed = next(
        part for part in run_carina(["inspect", tmp_path / "x.pte", "--json"]).json["parts"] if part["kind"] == "memory"
    )
    assert report["tables_bytes"] == listed["method_arena_bytes"], "the tables are those of the runtime"
    # More than the arena, less than the whole: with the arena alone in mind, it would fit.
    budget = report["sram_bytes"] - 20_000
    assert budget > report["scratch_bytes"]
    failed = run_carina(compile_args(photo, "--sram-budget", budget, output=tmp_path / "y.pte"), expect=1)
    assert (
        f"expected at most {budget} B of SRAM" in failed.stderr
        and "inputs, outputs and other planned values" in failed.stderr
    )
    assert not (tmp_path / "y.pte").exists()
    run_carina(compile_args(photo, "--sram-budget", report["sram_bytes"], output=tmp_path / "y.pte"))


def test_a_budget_names_choices_that_keep_to_it(run_carina, photo, tmp_path):
    """Each choice of the message is followed, and must take what the message says."""
    failed = run_carina(compile_args(photo, "--sram-budget", "96K", output=tmp_path / "x.pte"), expect=1)
    said = re.search(r"these fit, measured: (.*)", failed.stderr).group(1)
    assert "--io int8" in said
    for choice in said.split("; "):
        options, sram = re.fullmatch(r"(.*): (\d+) B of SRAM.*", choice).groups()
        report = run_carina(
            [*compile_args(photo, *options.split(), "--sram-budget", "96K", output=tmp_path / "x.pte"), "--json"]
        ).json
        assert report["sram_bytes"] == int(sram) <= 96 << 10


def test_float_inputs_that_fill_the_memory_are_named(run_carina, photo, tmp_path):
    text = run_carina(compile_args(photo, output=tmp_path / "x.pte")).stdout
    assert "planned: 110,604 B are the floats of image, linear; --io int8 saves them" in text
    raw = run_carina([*compile_args(photo, "--io", "int8", output=tmp_path / "x.pte"), "--json"]).json
    floats = run_carina([*compile_args(photo, output=tmp_path / "x.pte"), "--json"]).json
    saved = sum(edge["bytes"] for edge in floats["float_edges"])
    assert floats["planned_bytes"] - raw["planned_bytes"] == pytest.approx(saved, abs=64) and "float_edges" not in raw


def test_the_planner_keeps_to_what_a_budget_leaves(run_carina, tmp_path):
    """With a budget below what -O2 takes, the arena shrinks by what is missing."""
    model = [*COMPILE_DIGITS, "-o", tmp_path / "x.pte", "--json"]
    free, small = run_carina(model).json, run_carina([*model, "-Os"]).json
    assert small["sram_bytes"] < free["sram_bytes"]
    budget = (small["sram_bytes"] + free["sram_bytes"]) // 2
    kept = run_carina([*model, "--sram-budget", budget]).json
    assert kept["sram_bytes"] <= budget and kept["sram_budget_bytes"] == budget and kept["over_budget"] == []


class GrowingDelegates(torch.nn.Module):
    """The first delegate needs less fast memory than the second."""

    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Conv2d(1, 2, 3, padding=1), torch.nn.Conv2d(2, 32, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.last(torch.tanh(self.first(x))))


def test_the_fast_memory_is_large_enough_for_every_delegate(run_carina, tmp_path):
    torch.manual_seed(0)
    x = torch.randn(1, 1, 8, 8)
    torch.export.save(torch.export.export(GrowingDelegates().eval(), (x,)), tmp_path / "m.pt2")
    np.save(tmp_path / "x.npy", x.numpy())
    args = [
        "compile",
        tmp_path / "m.pt2",
        "-t",
        "ethos-u65-256",
        "--memory-mode",
        "Dedicated_Sram",
        "--sram-budget",
        65536,
        "--cpu-op",
        "tanh",
    ]
    run_carina(
        [*args, "-q", "int8", "--calibrate", tmp_path / "x.npy", "--dump", tmp_path / "dump", "-o", tmp_path / "m.pte"]
    )
    sizes = [int(np.load(path)["scratch_fast_size"]) for path in sorted((tmp_path / "dump").glob("*vela.npz"))]
    assert len(sizes) == 2 and sizes[0] < sizes[1]
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])


def test_the_flash_budget_is_of_the_file(run_carina, tmp_path):
    args = [*COMPILE_DIGITS, "-o", tmp_path / "x.pte"]
    size = run_carina([*args, "--json"]).json["program_bytes"]
    run_carina([*args, "--flash-budget", size])
    failed = run_carina([*args, "--flash-budget", size - 1], expect=1)
    assert "does not fit into --flash-budget" in failed.stderr and f"at most {size - 1} B" in failed.stderr


def test_explain_shows_the_figures_of_what_does_not_fit(run_carina, photo, tmp_path):
    args = ["explain", photo / "photo.pt2", "-t", TARGET, "--calibrate", photo / "photo.npz", "--sram-budget", "96K"]
    done = run_carina([*args, "--report", tmp_path / "page.html"], expect=1)
    assert (
        "memory: SRAM" in done.stdout
        and "does not fit into --sram-budget" in done.stderr
        and "--io int8" in done.stderr
    )
    assert "over-budget" in browse(tmp_path / "page.html").sections
    report = json.loads(run_carina([*args, "--json"], expect=1).stdout)
    assert report["errors"] == [] and "--sram-budget" in report["over_budget"][0]["what"] and report["cycles"] > 0


def test_sweep_reports_which_rows_fit(run_carina):
    args = [
        "sweep",
        DIGITS / "digits.pt2",
        "--calibrate",
        DIGITS / "calibration.npz",
        "--targets",
        "ethos-u55-32",
        "--memory-modes",
        "Sram_Only,Shared_Sram",
        "--sram-budget",
        "6K",
    ]
    rows = run_carina([*args, "--json"]).json["rows"]
    assert {row["memory_mode"]: row["fits"] for row in rows} == {"Sram_Only": False, "Shared_Sram": True}
    assert all(row["fits"] == (row["sram_bytes"] <= 6 << 10) for row in rows)
    text = run_carina(args).stdout
    assert re.search(r"Sram_Only .* no$", text, re.MULTILINE) and re.search(r"Shared_Sram .* yes$", text, re.MULTILINE)
    assert "Sram_Only" not in run_carina([*args, "--fitting"]).stdout
    run_carina([*args[:-1], "100", "--fitting"], expect=1)


def test_explain_needs_no_data(run_carina, tmp_path):
    done = run_carina(["explain", DIGITS / "digits.pt2", "-t", TARGET, "--json", "--report", tmp_path / "page.html"])
    report = json.loads(done.stdout)
    assert report["random_ranges"] is True and report["cycles"] > 0
    assert done.stderr.count("accuracy has no meaning") == 1 and "is not quantized" not in done.stdout
    assert "random" in browse(tmp_path / "page.html").sections
    with_data = run_carina(
        ["explain", DIGITS / "digits.pt2", "-t", TARGET, "--calibrate", DIGITS / "calibration.npz", "--json"]
    ).json
    assert with_data["random_ranges"] is False and report["cycles"] == pytest.approx(with_data["cycles"], rel=0.05)
    assert report["sram_bytes"] == with_data["sram_bytes"]


def test_a_program_of_random_ranges_is_not_made_unknowingly(run_carina, tmp_path):
    args = ["compile", DIGITS / "digits.pt2", "-t", TARGET, "-o", tmp_path / "x.pte"]
    plain = run_carina(args)
    assert (
        "nothing runs on the NPU" in plain.stderr
        and "--calibrate random" in plain.stderr
        and '"int8' not in plain.stdout
    )
    done = run_carina([*args, "--calibrate", "random"])
    assert "warning" in done.stderr and "accuracy has no meaning" in done.stderr and "random inputs" in done.stdout
    first = (tmp_path / "x.pte").read_bytes()
    run_carina([*args, "--calibrate", "random", "--threads", "2"])
    assert (tmp_path / "x.pte").read_bytes() == first, "the random inputs are the same in every run"
    failed = run_carina([*args, "--calibrate", "random", "--quantize", "auto"], expect=2)
    assert "measures accuracy" in failed.stderr


def test_sweeps_need_no_data_for_figures(run_carina):
    rows = run_carina(
        ["sweep", DIGITS / "digits.pt2", "--targets", "ethos-u55-32", "--quantize", "int8,int16x8", "--json"]
    ).json["rows"]
    assert [row["quantization"] for row in rows] == ["int8 (random)", "int16x8 (random)"]
    assert all(row["cycles"] > 0 for row in rows)


def test_the_time_of_an_inference_is_that_of_both_devices(run_carina, tmp_path):
    args = [
        "explain",
        DIGITS / "digits.pt2",
        "-t",
        TARGET,
        "--calibrate",
        DIGITS / "calibration.npz",
        "--cpu-node",
        "linear",
    ]
    report = run_carina([*args, "--json", "--report", tmp_path / "page.html"]).json
    assert report["cpu_cycles"] == report["conversion_cycles"] + sum(node["cpu_cycles"] for node in report["nodes"])
    assert 0 < report["conversion_cycles"] < report["cpu_cycles"]
    assert report["inference_cycles"] == report["cycles"] + report["cpu_cycles"]
    assert f"inference: {report['inference_cycles']:,} cycles on NPU and CPU" in run_carina(args).stdout
    assert int(browse(tmp_path / "page.html").cards["inference_cycles"]) == report["inference_cycles"]


def test_nan_in_calibration_data_is_one_error(run_carina, tmp_path):
    x = np.load(DIGITS / "calibration.npz")["x"].copy()
    x[3].flat[0] = np.nan
    np.savez(tmp_path / "nan.npz", x=x)
    failed = run_carina(
        ["compile", DIGITS / "digits.pt2", "-t", TARGET, "--calibrate", tmp_path / "nan.npz", "-o", tmp_path / "x.pte"],
        expect=1,
    )
    assert (
        failed.stderr.count("carina:") == 1
        and "calibration sample 3" in failed.stderr
        and "the input x" in failed.stderr
    )


def test_a_model_that_cannot_be_compiled_has_a_page(run_carina, tmp_path):
    class Lost(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.svd(x)[1] + torch.special.bessel_j0(x).sum()

    torch.export.save(torch.export.export(Lost(), (torch.randn(4, 4),)), tmp_path / "lost.pt2")
    run_carina(["explain", tmp_path / "lost.pt2", "-t", TARGET, "--report", tmp_path / "lost.html"], expect=1)
    page = browse(tmp_path / "lost.html")
    assert "errors" in page.sections and "bessel" in page.text
    run_carina(
        ["explain", DIGITS / "digits.pt2", "-t", TARGET, "--arena-budget", "64", "--report", tmp_path / "small.html"],
        expect=1,
    )
    assert "arena" in browse(tmp_path / "small.html").text
    run_carina(["explain", tmp_path / "none.pt2", "-t", TARGET, "--report", tmp_path / "none.html"], expect=1)
    assert not (tmp_path / "none.html").exists()


def test_sweeps_measure_accuracy(run_carina, tmp_path):
    args = [
        "sweep",
        DIGITS / "digits.pt2",
        "--targets",
        TARGET,
        "--quantize",
        "int8,int16x8,auto",
        "--calibrate",
        DIGITS / "calibration.npz",
        "--data",
        DIGITS / "test.npz",
    ]
    rows = run_carina([*args, "-o", tmp_path / "programs", "--json"]).json["rows"]
    assert all(row["status"] == "compiled" for row in rows), rows
    for row in rows[:2]:
        program = tmp_path / "programs" / f"{TARGET}_{row['memory_mode']}_{row['quantization']}.pte"
        score = run_carina(["accuracy", DIGITS / "digits.pt2", program, "--data", DIGITS / "test.npz", "--json"]).json
        assert row["accuracy"]["of_npu"] == pytest.approx(100 * score["npu_right"] / score["samples"])
        assert row["accuracy"]["sqnr_db"] == pytest.approx(score["sqnr_db"]) and row["accuracy"]["metric"] == "top1"
    assert rows[2]["quantization"].startswith("auto")
    text = run_carina(args).stdout
    assert "float model: " in text and "top1 %" in text and "SQNR dB" in text


def test_memory_modes_that_an_npu_lacks_are_one_line(run_carina):
    text = run_carina(
        [
            "sweep",
            DIGITS / "digits.pt2",
            "--targets",
            "ethos-u55-32,ethos-u55-64",
            "--memory-modes",
            "all",
            "--calibrate",
            DIGITS / "calibration.npz",
        ]
    ).stdout
    assert text.count("puts the arena behind AXI port 1") == 1 and "rejected by the target: 8" in text


def test_accuracy_by_class(run_carina, tmp_path):
    run_carina([*COMPILE_DIGITS, "-o", tmp_path / "x.pte"])
    args = ["accuracy", DIGITS / "digits.pt2", tmp_path / "x.pte", "--data", DIGITS / "test.npz"]
    report = run_carina([*args, "--json", "--report", tmp_path / "page.html"]).json
    labels = np.load(DIGITS / "test.npz")["y"]
    assert [one["samples"] for one in report["classes"]] == [
        int((labels == one["label"]).sum()) for one in report["classes"]
    ]
    assert sum(one["npu_right"] for one in report["classes"]) == report["npu_right"]
    assert sum(one["samples"] for one in report["confusions"]) == report["samples"] - report["npu_right"] > 0
    low, high = report["npu_right_interval"]
    assert 0 < low < 100 * report["npu_right"] / report["samples"] < high < 100
    page = browse(tmp_path / "page.html")
    assert "classes" in page.sections and page.marks["confusion-plot"]["rect"] == len(report["confusions"]) + sum(
        one["npu_right"] > 0 for one in report["classes"]
    )
    assert "by class" in run_carina(args).stdout


def test_layers_name_the_input_and_the_cost_of_advice(run_carina):
    args = [
        "accuracy",
        DIGITS / "digits.pt2",
        "--layers",
        "--data",
        DIGITS / "test.npz",
        "--samples",
        "20",
        "--quantize",
        "int8",
        "-t",
        TARGET,
    ]
    report = run_carina([*args, "--json"]).json
    first = report["layers"][0]
    assert (first["node"], first["op"]) == ("x", "quantization of the input") and 20 < first["sqnr_db"] < 90
    assert report["target"] == TARGET and report["cycles"] > 0
    wide = next(one for one in report["remedies"] if one["options"] == "--quantize int16x8")
    assert wide["cycles"] > report["cycles"]


def test_images_are_samples(run_carina, tmp_path):
    """The digits as PNG files in folders by class give the program and the figures of the arrays."""
    from PIL import Image

    data = np.load(DIGITS / "test.npz")
    pixels = np.clip(np.round(data["x"][:40].reshape(40, 8, 8) / data["x"].max() * 255), 0, 255).astype(np.uint8)
    scale = 1 / float(data["x"].max())
    order = sorted(range(40), key=lambda n: (data["y"][n], n))
    for n in order:
        (tmp_path / "digits" / str(data["y"][n])).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels[n]).save(tmp_path / "digits" / str(data["y"][n]) / f"{n:03}.png")
    std = str(scale)
    x = ((pixels[order].astype(np.float64) / 255 - 0) / float(std)).astype(np.float32).reshape(40, 1, 8, 8)
    np.savez(tmp_path / "arrays.npz", x=x, y=data["y"][:40][order])
    for name, options in (("digits", ["--std", std]), ("arrays.npz", [])):
        run_carina(
            [
                "compile",
                DIGITS / "digits.pt2",
                "-t",
                TARGET,
                "--calibrate",
                tmp_path / name,
                *options,
                "-o",
                tmp_path / f"{name}.pte",
            ]
        )
    assert (tmp_path / "digits.pte").read_bytes() == (tmp_path / "arrays.npz.pte").read_bytes()
    scores = [
        run_carina(
            ["accuracy", DIGITS / "digits.pt2", tmp_path / "digits.pte", "--data", tmp_path / name, *options, "--json"]
        ).json
        for name, options in (("digits", ["--std", std]), ("arrays.npz", []))
    ]
    assert scores[0] == scores[1] and scores[0]["classes"]


def test_firmware_takes_no_other_delegates(run_carina, tmp_path):
    """A program whose delegate is renamed is one of a backend that no image has."""
    run_carina([*COMPILE_DIGITS, "-o", tmp_path / "x.pte"])
    other = (tmp_path / "x.pte").read_bytes().replace(b"EthosUBackend", b"XnnpackBacken")
    (tmp_path / "other.pte").write_bytes(other)
    failed = run_carina(["firmware", tmp_path / "other.pte", "-o", tmp_path / "x.elf"], expect=1)
    assert "no backend XnnpackBackend"[:20] in failed.stderr and not (tmp_path / "x.elf").exists()
    failed = run_carina(["qemu", tmp_path / "x.pte"], expect=1)
    assert "carina firmware" in failed.stderr


def test_inspect_begins_with_what_a_program_takes(run_carina, tmp_path):
    run_carina([*COMPILE_DIGITS, "-o", tmp_path / "x.pte"])
    parts = run_carina(["inspect", tmp_path / "x.pte", "--json"]).json["parts"]
    kinds = [part["kind"] for part in parts]
    assert kinds[:3] == ["program", "input", "output"] and kinds.index("memory") < kinds.index("method")
    assert parts[0]["target"] == TARGET and kinds.index("memory") < kinds.index("calls") < kinds.index(
        "delegate"
    ) < kinds.index("method")
    assert parts[1]["type"] == "fp32 [1,1,8,8]" and parts[1]["quantized_as"] == "i8" and parts[1]["scale"] > 0
    method = next(part for part in parts if part["kind"] == "method")
    assert method["inputs"] == [0] and method["planned_bytes"] == [320]
    values = {part["index"]: part["is"] for part in parts if part["kind"] == "value"}
    assert parts[1]["scale"] in values.values() and parts[1]["zero_point"] in values.values()
    for part in parts:  # a number in a text would be quoted
        for key, value in part.items():
            assert not isinstance(value, str) or not value.lstrip("-").replace(".", "").isdigit(), (part["kind"], key)
