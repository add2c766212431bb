"""Tests quantization schemes end to end: 16-bit activations, 4-bit weights, raw integers at inputs and outputs, parts of a model in another
scheme. The integer graph runs on the official reference model and the program on the simulated NPU, with the same bits. The results are as
close to the float model as the scheme's step allows."""

import json
import re

import numpy as np
import pytest
import torch
from torch import nn

TARGETS = ("ethos-u55-128", "ethos-u85-256")


def sqnr_db(wanted, got):
    wanted, got = np.asarray(wanted, np.float64), np.asarray(got, np.float64).reshape(wanted.shape)
    return 10 * np.log10((wanted**2).sum() / ((got - wanted) ** 2).sum())


def run(run_carina, program, x, folder):
    run_carina(["run", program, "-i", x, "-o", folder])
    return np.load(folder / "output_0.npy")


@pytest.mark.cases("kws")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("scheme", "db"), [("int16x8", 44), ("int16x16", 58), ("int8x4", 15), ("int8+symmetric+per-tensor", 20)]
)
def test_a_scheme_on_the_npu_is_as_near_as_its_steps(run_carina, case, tmp_path, target, scheme, db):
    x = case.path / "input_0.npy"
    args = ["compile", case.model, "-t", target, "--quantize", scheme, "--calibrate", x, "--dump", tmp_path / "dump"]
    report = json.loads(run_carina([*args, "-o", tmp_path / "m.pte", "--json"]).stdout)
    assert all(node["runs_on"] != "cpu" for node in report["nodes"])
    assert sqnr_db(np.load(case.path / "out_torch_float_0.npy"), run(run_carina, tmp_path / "m.pte", x, tmp_path)) > db


@pytest.mark.cases("kws")
@pytest.mark.parametrize("target", TARGETS)
def test_raw_integers_at_the_edges_are_the_floats(run_carina, case, tmp_path, target):
    x = np.load(case.path / "input_0.npy")
    args = ["compile", case.model, "-t", target, "--quantize", "int8-only", "--calibrate", case.path / "input_0.npy"]
    run_carina([*args, "-o", tmp_path / "float.pte"])
    floats = run(run_carina, tmp_path / "float.pte", case.path / "input_0.npy", tmp_path / "float")
    for name, kind in (("int8", np.int8), ("uint8", np.uint8)):
        said = run_carina([*args, "--io", name, "-o", tmp_path / f"{name}.pte"]).stderr
        steps = re.findall(r"real = \(integer ([+-]) (\d+)\) \* (\S+)", said)
        (zero_in, scale_in), (zero_out, scale_out) = (
            (int(f"{'-' if sign == '+' else ''}{zero}"), float(scale)) for sign, zero, scale in steps
        )
        limits = np.iinfo(kind)
        integers = np.clip(np.rint(x / np.float32(scale_in)) + zero_in, limits.min, limits.max).astype(kind)
        np.save(tmp_path / "x.npy", integers)
        got = run(run_carina, tmp_path / f"{name}.pte", tmp_path / "x.npy", tmp_path / name)
        assert got.dtype == kind
        np.testing.assert_allclose((got.astype(np.float32) - zero_out) * np.float32(scale_out), floats, rtol=1e-6)


@pytest.mark.cases("kws")
@pytest.mark.parametrize("target", TARGETS)
def test_parts_of_a_model_have_schemes_of_their_own(run_carina, case, tmp_path, target):
    """Schemes from a file and from the command line. Weights are random, so the last layer causes most of the noise; one sample would show
    its rounding alone."""
    x, rng = np.load(case.path / "input_0.npy"), np.random.default_rng(0)
    samples = [x, *(x + rng.normal(0, x.std() / 2, x.shape).astype(np.float32) for _ in range(15))]
    np.savez(tmp_path / "samples.npz", x=np.concatenate(samples))
    floats = torch.export.load(case.model).module()
    wanted = [floats(torch.from_numpy(sample)).detach().numpy() for sample in samples]
    (tmp_path / "scheme.json").write_text(
        json.dumps({"scheme": "int8-only", "overrides": ["op:aten.conv2d.default=int16x8"]})
    )
    args = ["compile", case.model, "-t", target, "--calibrate", tmp_path / "samples.npz", "-o", tmp_path / "m.pte"]
    similarity = []
    for extra in (["-q", "int8-only"], ["--quantize-config", tmp_path / "scheme.json"],
                  ["--quantize-config", tmp_path / "scheme.json", "--quantize-at", "inputs=int16x8", "--quantize-at", "type:Linear=int16x8"]):  # fmt: skip
        run_carina([*args, *extra])
        outputs = []
        for sample in samples:
            np.save(tmp_path / "sample.npy", sample)
            outputs.append(run(run_carina, tmp_path / "m.pte", tmp_path / "sample.npy", tmp_path))
        similarity.append(sqnr_db(np.concatenate(wanted), np.concatenate(outputs)))
    assert similarity[1] > similarity[0] - 1 and similarity[2] > max(similarity[:2]) + 1, similarity


@pytest.mark.cases("kws")
def test_auto_comes_nearer_within_its_budget(run_carina, case, tmp_path):
    x = case.path / "input_0.npy"
    wanted = np.load(case.path / "out_torch_float_0.npy")
    args = ["compile", case.model, "-t", "ethos-u55-128", "--calibrate", x, "-o", tmp_path / "m.pte", "--json"]
    narrow = json.loads(run_carina([*args, "--quantize", "int8-only"]).stdout)
    before = sqnr_db(wanted, run(run_carina, tmp_path / "m.pte", x, tmp_path))
    done = run_carina([*args, "--quantize", "auto", "--max-cycles", "175%"])
    after = sqnr_db(wanted, run(run_carina, tmp_path / "m.pte", x, tmp_path))
    assert json.loads(done.stdout)["cycles"] <= 1.75 * narrow["cycles"]
    assert after >= before + 5
    assert re.search(r"--quantize auto: .*(parts in int16x8|int16x8, but int8 where).*: \d+ cycles", done.stderr)
    assert "at least" in run_carina([*args, "--quantize", "auto", "--max-cycles", "1000"], expect=2).stderr


@pytest.mark.cases("kws")
def test_auto_with_more_cycles_is_never_worse(run_carina, case, tmp_path):
    """The schemes that are considered do not depend on the budget."""
    args = [
        "compile",
        case.model,
        "-t",
        "ethos-u55-128",
        "--calibrate",
        case.path / "input_0.npy",
        "-o",
        tmp_path / "m.pte",
        "--json",
        "-q",
        "auto",
    ]
    promised = []
    for percent in 101, 105, 115, 150, 175:
        done = run_carina([*args, "--max-cycles", f"{percent}%"])
        promised.append(float(re.search(r"\), SQNR ([\d.]+) dB", done.stderr)[1]))
    assert promised == sorted(promised) and promised[-1] > promised[0] + 2


class Coordinates(torch.nn.Module):
    """A regression whose cycles are in the convolutions, and whose error is made after them."""

    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(1, 32, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(32, 32, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
        )
        self.head = torch.nn.Linear(32, 4)
        self.register_buffer("scale", torch.tensor([1.0, 8.0, 64.0, 300.0]))

    def forward(self, x):
        return self.head(self.features(x)) * self.scale


def test_auto_gives_16_bits_where_they_cost_next_to_nothing(run_carina, tmp_path):
    torch.manual_seed(0)
    model, x = Coordinates().eval(), torch.rand(48, 1, 24, 24)
    torch.export.save(torch.export.export(model, (x[:1],)), tmp_path / "m.pt2")
    np.savez(tmp_path / "c.npz", x=x.numpy())
    args = [
        "compile",
        tmp_path / "m.pt2",
        "-t",
        "ethos-u55-128",
        "--calibrate",
        tmp_path / "c.npz",
        "-o",
        tmp_path / "m.pte",
        "--json",
    ]
    narrow = run_carina([*args, "-q", "int8"]).json["cycles"]
    done = run_carina([*args, "-q", "auto", "--max-cycles", "102%"])
    assert done.json["cycles"] <= 1.02 * narrow
    chosen, int8 = (float(x) for x in re.findall(r"SQNR ([\d.]+) dB", done.stderr)[:2])
    assert chosen > int8 + 3, done.stderr


def test_auto_counts_the_cpu_and_keeps_what_it_promises(run_carina, tmp_path):
    """ethos-u55 has no products of two int16 values: with int16x8, the CPU computes them. The promised SQNR is that of new samples."""
    torch.manual_seed(0)
    model, x = Attends().eval(), torch.randn(192, 6, 16)
    torch.export.save(torch.export.export(model, (x[:1],)), tmp_path / "m.pt2")
    np.savez(tmp_path / "c.npz", x=x[:96].numpy())
    np.savez(tmp_path / "t.npz", x=x[96:].numpy())
    args = [
        "compile",
        tmp_path / "m.pt2",
        "-t",
        "ethos-u55-128",
        "--calibrate",
        tmp_path / "c.npz",
        "-o",
        tmp_path / "m.pte",
        "--json",
    ]

    def cycles(done):
        return done.json["cycles"] + sum(node["cpu_cycles"] for node in done.json["nodes"])

    narrow = cycles(run_carina([*args, "-q", "int8"]))
    assert cycles(run_carina([*args, "-q", "int16x8"])) > 1.5 * narrow
    done = run_carina([*args, "-q", "auto"])
    assert cycles(done) <= 1.5 * narrow
    promised = float(re.search(r"SQNR ([\d.]+) dB", done.stderr)[1])
    assert "samples that were not calibrated with" in done.stderr
    measured = run_carina(
        ["accuracy", tmp_path / "m.pt2", tmp_path / "m.pte", "--data", tmp_path / "t.npz", "--json"]
    ).json
    assert measured["sqnr_db"] == pytest.approx(promised, abs=2)


@pytest.mark.cases("kws")
def test_auto_picks_from_a_front(run_carina, case, tmp_path):
    args = [
        "compile",
        case.model,
        "-t",
        "ethos-u55-128",
        "--calibrate",
        case.path / "input_0.npy",
        "-o",
        tmp_path / "m.pte",
        "--json",
        "-q",
        "auto",
    ]
    done = run_carina([*args, "--min-sqnr", "40", "--auto-front", tmp_path / "front.json"])
    front = json.loads((tmp_path / "front.json").read_text())["front"]
    assert len(front) > 2 and front[0]["scheme"].startswith("int8") and front[-1]["scheme"].startswith("int16x16")
    for key in ("cycles", "sqnr_db"):
        assert [one[key] for one in front] == sorted(one[key] for one in front)
    picked = next(one for one in front if one["sqnr_db"] >= 40)
    assert done.json["cycles"] <= picked["cycles"] * 1.01
    assert [{**one, "sqnr_db": round(one["sqnr_db"], 1)} for one in done.json["schemes"]] == front
    rejected = run_carina([*args, "--min-sqnr", "150"], expect=2).stderr
    assert "no scheme that was tried has this SQNR" in rejected and "at most" in rejected
    assert "no effect without --quantize auto" in run_carina([*args[:-1], "int8", "--min-sqnr", "40"], expect=2).stderr


@pytest.mark.cases("kws")
def test_layers_say_where_the_error_enters_and_what_helps(run_carina, case):
    """No labels are needed. The predicted gain of a remedy equals the gain of quantizing with it."""
    args = ["accuracy", case.model, "--layers", "--data", case.path / "input_0.npy"]
    report = json.loads(run_carina([*args, "--json"]).stdout)
    assert len(report["layers"]) == 12 and all(layer["sqnr_db"] > 15 for layer in report["layers"])
    assert report["layers"][0]["op"] == "quantization of the input" and report["layers"][0]["entered_db"] == 0
    assert max(layer["entered_db"] for layer in report["layers"]) > 1
    assert report["outputs"][0]["mean_absolute_error"] > 0
    best = report["remedies"][0]
    assert best["options"].startswith("--quantize int16x16") and best["gain_db"] > 2
    wide = json.loads(run_carina([*args, *best["options"].split(), "--json"]).stdout)
    assert wide["sqnr_db"] == pytest.approx(best["sqnr_db"])
    assert "enters dB" in run_carina(args).stdout
    worst = sorted(report["layers"], key=lambda layer: -layer["entered_db"])[0]["node"]
    of_worst = [
        one
        for one in report["remedies"]
        if one["options"].startswith(f"--quantize-at node:{worst}=") and one["what"].endswith(f" in {worst}")
    ]
    assert {one["what"] for one in of_worst} == {f"16 bits in {worst}", f"another range in {worst}"}
    for one in of_worst:
        tried = json.loads(run_carina([*args, *one["options"].split(), "--json"]).stdout)
        assert tried["sqnr_db"] == pytest.approx(one["sqnr_db"]), one


@pytest.mark.cases("kws")
def test_layers_say_what_auto_brings_for_a_few_more_cycles(run_carina, case, tmp_path):
    """The scheme of --quantize auto is measured on samples that calibration has not seen. The program has its cycles."""
    x = np.load(case.path / "input_0.npy").reshape(-1, 1, 49, 10)[:1]
    x = (x + np.random.default_rng(0).normal(0, x.std(), (32, *x.shape[1:]))).astype(np.float32)
    np.save(tmp_path / "seen.npy", x[:24])
    np.save(tmp_path / "new.npy", x[24:])
    args = ["accuracy", case.model, "--layers", "-t", "ethos-u55-128", "-q", "int8", "--json"]
    done = run_carina([*args, "--data", tmp_path / "new.npy", "--calibrate", tmp_path / "seen.npy"])
    assert "calibrated with the samples that it is measured on" not in done.stderr
    report = json.loads(done.stdout)
    (found,) = (one for one in report["remedies"] if one["options"] == "--quantize auto --max-cycles 105%")
    assert found["what"].startswith("105% of the cycles of int8, auto: ")
    compiled = ["compile", case.model, "-t", "ethos-u55-128", "--calibrate", tmp_path / "seen.npy", "--json"]
    done = run_carina([*compiled, *found["options"].split(), "-o", tmp_path / "m.pte"])
    assert found["what"].removeprefix("105% of the cycles of int8, ") in done.stderr
    program = json.loads(done.stdout)
    assert found["cycles"] == program["cycles"] + program["cpu_cycles"]
    same = run_carina([*args, "--data", tmp_path / "new.npy"])
    assert "calibrated with the samples that it is measured on" in same.stderr


@pytest.mark.cases("resnet8")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("wide", ["op:aten.conv2d.default", "op:aten.add.Tensor"])
def test_sums_of_both_widths_stay_within_32_bits(run_carina, case, tmp_path, target, wide):
    """Additions of an int16 and an int8 value, with an int8 or an int16 result."""
    x = case.path / "input_0.npy"
    wanted, similarity = np.load(case.path / "out_torch_float_0.npy"), []
    for extra in ([], ["--quantize-at", f"{wide}=int16x8"]):
        run_carina(
            ["compile", case.model, "-t", target, "-q", "int8", *extra, "--calibrate", x, "-o", tmp_path / "m.pte"]
        )
        similarity.append(sqnr_db(wanted, run(run_carina, tmp_path / "m.pte", x, tmp_path)))
    assert similarity[1] > similarity[0] - 3, similarity


class PaddedAndMultiplied(torch.nn.Module):
    """A value that is stored inside of its padded copy, and that a product reads in another order."""

    def __init__(self):
        super().__init__()
        self.left, self.right = torch.nn.Linear(3, 16), torch.nn.Linear(3, 16)

    def forward(self, x):
        a, b = torch.tanh(self.left(x)), self.right(x) * 0.5
        return torch.matmul(a.transpose(-2, -1), b), torch.nn.functional.pad(b, [2, 3, 2, 2], mode="circular")


@pytest.mark.parametrize("scheme", ["int8", "int16x8"])
@pytest.mark.parametrize("target", TARGETS)
def test_copies_read_no_memory_that_is_written_later(run_carina, tmp_path, target, scheme):
    torch.manual_seed(0)
    x = torch.randn(1, 2, 2, 3)
    torch.export.save(torch.export.export(PaddedAndMultiplied().eval(), (x,)), tmp_path / "m.pt2")
    np.save(tmp_path / "x.npy", x.numpy())
    args = ["compile", tmp_path / "m.pt2", "-t", target, "-q", scheme, "--calibrate", tmp_path / "x.npy"]
    run_carina([*args, "--dump", tmp_path / "dump", "-o", tmp_path / "m.pte"])
    for stream in (tmp_path / "dump").glob("*vela.npz"):
        checked = run_carina(["npu", "run", stream, "--check"])
        assert "never written" not in checked.stdout + checked.stderr


class Attends(torch.nn.Module):
    """Attention: both operands of both matrix products are computed values."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(16, 48), torch.nn.Linear(16, 16)

    def forward(self, x):
        q, k, v = self.qkv(x).split(16, 2)
        return self.out(torch.softmax(q @ k.transpose(1, 2) / 4, -1) @ v)


@pytest.fixture(scope="module")
def attends(tmp_path_factory):
    """The folder of a network, its calibration data and an input, and PyTorch's result."""
    folder = tmp_path_factory.mktemp("attends")
    torch.manual_seed(0)
    model, x = Attends().eval(), torch.randn(8, 6, 16)
    torch.export.save(torch.export.export(model, (x[:1],)), folder / "m.pt2")
    np.savez(folder / "c.npz", x=x.numpy())
    np.save(folder / "x.npy", x[:1].numpy())
    return folder, model(x[:1]).detach().numpy()


@pytest.mark.parametrize("wide", ["split", "softmax", "matmul", "matmul_1"])
def test_products_take_factors_of_both_widths(run_carina, reference_model, attends, tmp_path, wide):
    """TOSA's MATMUL needs operands of the same width, so the narrow one is widened. The bits equal those of the official reference model."""
    folder, wanted = attends
    args = ["compile", folder / "m.pt2", "-t", "ethos-u85-256", "-q", "int8", "--quantize-at", f"node:{wide}=int16x8"]
    run_carina([*args, "--calibrate", folder / "c.npz", "--dump", tmp_path / "dump", "-o", tmp_path / "m.pte"])
    assert sqnr_db(wanted, run(run_carina, tmp_path / "m.pte", folder / "x.npy", tmp_path)) > 28
    compared = [
        "accuracy",
        folder / "m.pt2",
        tmp_path / "m.pte",
        "--data",
        folder / "c.npz",
        "--dump",
        tmp_path / "dump",
    ]
    assert "NPU bits = integer graph's bits: 8 of 8" in run_carina(compared).stdout
    (tosa,) = (tmp_path / "dump").glob("*.tosa")
    integers = np.random.default_rng(0).integers(-128, 128, (1, 6, 16)).astype(np.int8)
    np.save(tmp_path / "in.npy", integers)
    run_carina(["interpret", tosa, "-i", tmp_path / "in.npy", "-o", tmp_path / "interpreted"])
    (got,) = (tmp_path / "interpreted").glob("*.npy")
    np.testing.assert_array_equal(np.load(got), reference_model(tosa, [integers])[0])


def test_auto_finds_widths_for_attention(run_carina, attends, tmp_path):
    folder, wanted = attends
    args = ["compile", folder / "m.pt2", "-t", "ethos-u85-256", "-q", "auto", "--calibrate", folder / "c.npz"]
    run_carina([*args, "-o", tmp_path / "m.pte"])
    assert sqnr_db(wanted, run(run_carina, tmp_path / "m.pte", folder / "x.npy", tmp_path)) > 35


class SeldomFires(nn.Module):
    """A layer with a channel that is 0 for most inputs, and other channels of unequal ranges."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 4, 1)
        with torch.no_grad():
            self.first.weight *= torch.tensor([1.0, 1, 1, 1, 0.1, 0.1, 0.1, 1])[:, None, None, None]
            self.first.weight[7] = 1 / 9
            self.first.bias[7] = -2.0  # the mean of nine pixels is above 2 in few samples

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


def test_a_channel_that_seldom_fires_is_not_enlarged(run_carina, tmp_path):
    """Factors between layers come from a quarter of these samples, in which the channel is 0. Enlarged, it would take the steps of all others."""
    torch.manual_seed(0)
    model, x = SeldomFires().eval(), torch.randn(64, 1, 8, 8)
    x[1::8] += 3
    torch.export.save(torch.export.export(model, (x[:1],)), tmp_path / "m.pt2")
    np.savez(tmp_path / "c.npz", x=x.numpy())
    found = {}
    for scheme in ("int8", "int8+unequalized"):
        program = tmp_path / f"{scheme}.pte"
        run_carina(["compile", tmp_path / "m.pt2", "-t", "ethos-u55-128", "-q", scheme, "--calibrate", tmp_path / "c.npz", "-o", program])  # fmt: skip
        words = ["accuracy", tmp_path / "m.pt2", program, "--data", tmp_path / "c.npz", "--json"]
        found[scheme] = json.loads(run_carina(words).stdout)["sqnr_db"]
    assert found["int8"] > found["int8+unequalized"] - 1
