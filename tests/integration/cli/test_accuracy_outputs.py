"""`carina accuracy` compares every output, and the bits of every delegate."""

import numpy as np
import pytest
import torch
from torch import nn


class TwoOutputs(nn.Module):
    def __init__(self, factor):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.factor = nn.Linear(8, 4), nn.Linear(8, 4), factor

    def forward(self, x):
        return self.a(x), self.b(x) * self.factor


def save(path, model, *inputs):
    torch.export.save(torch.export.export(model.eval(), inputs, strict=False), path)


@pytest.fixture(scope="module")
def two_outputs(run_carina, tmp_path_factory):
    """right.pt2, and wrong.pte, whose second output has the opposite sign."""
    folder = tmp_path_factory.mktemp("outputs")
    for name, factor in (("right", 1.0), ("wrong", -1.0)):
        save(folder / f"{name}.pt2", TwoOutputs(factor), torch.randn(1, 8))
    np.savez(folder / "c.npz", x=np.random.RandomState(0).randn(16, 1, 8).astype("f4"))
    args = ["--target", "ethos-u55-128", "--calibrate", folder / "c.npz", "--dump", folder / "d"]
    run_carina(["compile", folder / "wrong.pt2", *args, "-o", folder / "wrong.pte"])
    return folder


def test_a_wrong_second_output_is_seen(run_carina, two_outputs):
    args = ["accuracy", two_outputs / "right.pt2", two_outputs / "wrong.pte", "--data", two_outputs / "c.npz"]
    report = run_carina([*args, "--json"]).json
    first, second = report["outputs"]
    assert first["sqnr_db"] > 35 and second["sqnr_db"] == pytest.approx(-6, abs=0.5)
    assert report["sqnr_db"] == second["sqnr_db"], "the summary shows the worst"
    text = run_carina(args).stdout
    assert "the lowest of 2 outputs" in text and f"{second['name']}: -6.0 dB" in text and f"{first['name']}: " in text


def test_the_page_shows_each_output(run_carina, two_outputs, tmp_path):
    args = ["accuracy", two_outputs / "right.pt2", two_outputs / "wrong.pte", "--data", two_outputs / "c.npz"]
    run_carina([*args, "--report", tmp_path / "page.html"])
    assert '"outputs":[{"name":' in (tmp_path / "page.html").read_text()


def test_bits_of_all_outputs_are_compared(run_carina, two_outputs):
    args = [
        "accuracy",
        two_outputs / "wrong.pt2",
        two_outputs / "wrong.pte",
        "--data",
        two_outputs / "c.npz",
        "--dump",
        two_outputs / "d",
    ]
    report = run_carina([*args, "--json"]).json
    assert report["npu_equals_integer"] == report["samples"] == 16
    assert all(output["sqnr_db"] > 35 for output in report["outputs"])


def test_a_program_with_fewer_outputs_is_rejected(run_carina, two_outputs, tmp_path):
    save(tmp_path / "one.pt2", nn.Linear(8, 4), torch.randn(1, 8))
    run_carina(
        [
            "compile",
            tmp_path / "one.pt2",
            "--target",
            "ethos-u55-128",
            "--calibrate",
            two_outputs / "c.npz",
            "-o",
            tmp_path / "one.pte",
        ]
    )
    done = run_carina(
        ["accuracy", two_outputs / "right.pt2", tmp_path / "one.pte", "--data", two_outputs / "c.npz"], expect=1
    )
    assert "not as many outputs" in done.stderr


class Growing(nn.Module):
    """Two delegates. The second needs more scratch memory than the runner provides at first."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.small, self.large = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 64, 3, padding=1)

    def forward(self, x):
        return self.large(torch.sigmoid(self.small(x))).mean((2, 3))


@pytest.fixture(scope="module")
def growing(run_carina, tmp_path_factory):
    folder = tmp_path_factory.mktemp("growing")
    save(folder / "m.pt2", Growing(), torch.randn(1, 4, 40, 40))
    samples = np.random.RandomState(0).randn(2, 1, 4, 40, 40).astype("f4")
    np.savez(folder / "c.npz", x=samples)
    np.savez(folder / "in.npz", input_0=samples[:1])
    args = [
        "--target",
        "ethos-u55-128",
        "--calibrate",
        folder / "c.npz",
        "--cpu-node",
        "sigmoid",
        "--dump",
        folder / "d",
        "--json",
    ]
    delegates = run_carina(["compile", folder / "m.pt2", *args, "-o", folder / "o.pte"]).json["delegates"]
    small, large = (delegate["scratch_bytes"] for delegate in delegates)
    assert small < 2**16 < large
    return folder, sum(delegate["cycles"] for delegate in delegates)


def test_bits_are_those_of_one_run_although_memory_grows(run_carina, growing):
    folder, _ = growing
    report = run_carina(
        ["accuracy", folder / "m.pt2", folder / "o.pte", "--data", folder / "c.npz", "--dump", folder / "d", "--json"]
    ).json
    assert report["npu_equals_integer"] == report["samples"] == 2


def test_cycles_are_those_of_one_run_although_memory_grows(run_carina, growing):
    folder, cycles = growing
    args = ["run", folder / "o.pte", "-i", folder / "in.npz", "--timed", "--etdump", folder / "e.etdp"]
    assert run_carina([*args, "--json"]).json["npu"]["cycles"] == cycles


class Segments(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(1, 3, 3, padding=1)

    def forward(self, x):
        return self.conv(x)


@pytest.fixture(scope="module")
def segments(run_carina, tmp_path_factory):
    """A program with three classes per pixel; the labels are the float model's classes, but for one row."""
    folder = tmp_path_factory.mktemp("segments")
    model = Segments().eval()
    save(folder / "m.pt2", model, torch.randn(1, 1, 8, 8))
    x = np.random.RandomState(0).randn(16, 1, 8, 8).astype("f4")
    labels = model(torch.from_numpy(x)).argmax(1).numpy()
    labels[:, 0] = (labels[:, 0] + 1) % 3
    labels[:, 1] = 255
    np.savez(folder / "c.npz", x=x, y=labels)
    run_carina(
        [
            "compile",
            folder / "m.pt2",
            "--target",
            "ethos-u55-128",
            "--calibrate",
            folder / "c.npz",
            "--dump",
            folder / "d",
            "-o",
            folder / "m.pte",
        ]
    )
    return folder


def test_metrics_take_a_label_per_pixel(run_carina, segments, tmp_path):
    args = ["accuracy", segments / "m.pt2", segments / "m.pte", "--data", segments / "c.npz", "--dump", segments / "d"]
    task = run_carina([*args, "--metric", "pixel", "--json"]).json["task"]
    assert task["float"] == pytest.approx(100 * 6 / 7) and task["npu"] == task["integer"] == pytest.approx(
        task["float"], abs=3
    )
    assert task["npu_interval"][0] <= task["npu"] <= task["npu_interval"][1]
    assert task["difference_interval"][0] <= task["npu"] - task["float"] <= task["difference_interval"][1]
    done = run_carina([*args, "--metric", "iou", "--report", tmp_path / "page.html"])
    assert "iou of the NPU:" in done.stdout and "(95 %: " in done.stdout
    assert '"metric":"iou"' in (tmp_path / "page.html").read_text()
    assert "--metric pixel" in run_carina(args, expect=1).stderr
    assert "labels do not fit" in run_carina([*args, "--metric", "rmse"], expect=1).stderr
    assert "unknown metric" in run_carina([*args, "--metric", "f1"], expect=2).stderr


class Cumulates(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, 1)


def test_samples_without_a_defined_integer_result_are_counted(run_carina, tmp_path):
    """TOSA does not define a sum beyond int32. The other samples are compared as ever."""
    x = torch.arange(12, dtype=torch.int32).reshape(3, 4)
    save(tmp_path / "m.pt2", Cumulates(), x[:1])
    x[1] = 2**30
    np.savez(tmp_path / "x.npz", x=x.numpy())
    run_carina(
        [
            "compile",
            tmp_path / "m.pt2",
            "--target",
            "ethos-u85-256",
            "--delegate-all",
            "--dump",
            tmp_path / "d",
            "-o",
            tmp_path / "m.pte",
        ]
    )
    args = ["accuracy", tmp_path / "m.pt2", tmp_path / "m.pte", "--data", tmp_path / "x.npz", "--dump", tmp_path / "d"]
    report = run_carina([*args, "--json"]).json
    assert (report["samples"], report["npu_equals_integer"], report["integer_undefined"]) == (3, 2, 1)
    assert "does not fit i32" in report["integer_problem"]
    text = run_carina(args).stdout
    assert "NPU bits = integer graph's bits: 2 of 2" in text
    assert "integer graph not defined by the specification: 1 of 3" in text and "does not fit i32" in text
