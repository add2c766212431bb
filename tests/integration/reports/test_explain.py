"""`carina explain` always prints its table: every node of the user's model, cycles that add up, and all blockers."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

TARGET = ["--target", "ethos-u55-128"]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 8, 3, padding=1)
        self.gru = nn.GRU(8, 8, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        y, _ = self.gru(F.relu(self.conv(x)).transpose(1, 2))
        return self.head(y[:, -1])


class Unknown(nn.Module):
    """An operator that the reader does not know, and one that no engine can run."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.b(torch.cdist(torch.linalg.inv(F.relu(self.a(x))), x))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.d = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.u, self.o = nn.ConvTranspose2d(8, 8, 2, stride=2), nn.Conv2d(16, 1, 1)

    def forward(self, x):
        a = F.relu(self.a(x))
        return self.o(torch.cat([a, self.u(F.relu(self.d(a)))], 1))


class Upsample(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 1, 1)

    def forward(self, x):
        return self.b(F.interpolate(F.relu(self.a(x)), scale_factor=2, mode="bilinear"))


class Audio(nn.Module):
    """One-dimensional convolutions and pooling, batch norm, softmax: all are decomposed."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv1d(2, 8, 5, stride=2), nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, x):
        y = F.max_pool1d(F.relu(self.norm(self.conv(x))), 2)
        return F.softmax(self.head(F.dropout(y.mean(-1), training=self.training)), -1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.layer(x).mean(1))


MODELS = {
    "gru": (Recurrent, (1, 4, 12)),
    "unknown": (Unknown, (1, 8, 8)),
    "unet": (UNet, (1, 1, 16, 16)),
    "upsample": (Upsample, (1, 1, 8, 8)),
    "audio": (Audio, (1, 2, 64)),
    "attention": (Attention, (1, 6, 16)),
}


@pytest.fixture
def saved(tmp_path):
    def save(name):
        torch.manual_seed(0)
        make, shape = MODELS[name]
        program = torch.export.export(make().eval(), (torch.randn(shape),))
        torch.export.save(program, tmp_path / "m.pt2")
        np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((4, *shape[1:])).astype(np.float32))
        nodes = [n.name for n in program.graph.nodes if n.op == "call_function" and "getitem" not in n.name]
        return ["explain", tmp_path / "m.pt2", *TARGET], ["--calibrate", tmp_path / "x.npy"], nodes

    return save


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("calibrated", [False, True], ids=["float", "int8"])
def test_every_node_stands_in_the_table(run_carina, saved, name, calibrated):
    explain, calibrate, nodes = saved(name)
    command = explain + (calibrate if calibrated else [])
    result = run_carina([*command, "--json"], expect=None)
    report = result.json
    assert [node["name"] for node in report["nodes"] if node["name"] in nodes] == nodes
    assert bool(report["errors"]) == (result.code == 1)
    blocked = [node for node in report["nodes"] if node["runs_on"] == "nowhere"]
    assert bool(blocked) == bool(report["errors"])
    assert all(node["reason"] for node in report["nodes"])
    text = run_carina(command, expect=result.code)
    for node in nodes:
        assert node in text.stdout
    for error in report["errors"]:
        assert error["what"] in text.stderr


@pytest.mark.parametrize("name", ["audio", "attention"])
def test_cycles_add_up(run_carina, saved, name):
    explain, calibrate, _ = saved(name)
    report = run_carina([*explain, *calibrate, "--json"]).json
    assert report["cycles"] > 0
    assert sum(node["cycles"] for node in report["nodes"]) == report["cycles"]
    assert sum(delegate["cycles"] for delegate in report["delegates"]) == report["cycles"]


def test_all_blockers_of_all_stages_at_once(run_carina, saved):
    explain, _, _ = saved("unknown")
    result = run_carina([*explain, "--json"], expect=1)
    places = {node["op"]: node["runs_on"] for node in result.json["nodes"]}
    assert places["aten.linalg_inv.default"] == "nowhere" and places["aten.cdist.default"] == "nowhere"
    assert places["aten.linear.default"] == "undecided"
    assert len(result.json["errors"]) == 2


def test_a_float_model_is_told_how_to_reach_the_npu(run_carina, saved):
    explain, calibrate, _ = saved("audio")
    assert "give --calibrate FILE.npz" in run_carina(explain).stderr
    assert "--calibrate FILE.npz" not in run_carina([*explain, *calibrate]).stderr


class Islands(nn.Module):
    """NPU operators around an operator that stays on the CPU."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(2, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.last(torch.erfinv(torch.tanh(self.first(x)) * 0.5)))


@pytest.fixture(scope="module")
def islands(tmp_path_factory):
    folder = tmp_path_factory.mktemp("islands")
    x = torch.randn(1, 2, 8, 8, generator=torch.Generator().manual_seed(1))
    torch.export.save(torch.export.export(Islands().eval(), (x,)), folder / "model.pt2")
    np.save(folder / "x.npy", x.numpy())
    return folder


@pytest.mark.parametrize(
    "options, op, rule, delegates",
    [
        (["--cpu-op", "tanh"], "aten.tanh.default", "user.op", 2),
        (["--cpu-op", "aten::tanh"], "aten.tanh.default", "user.op", 2),
        (["--cpu-module", "last"], "aten.conv2d.default", "user.module", 2),
        (["--cpu-module", "Conv2d"], "aten.conv2d.default", "user.module", 2),
    ],
)
def test_each_cpu_node_has_rule_cost_and_reason(options, op, rule, delegates, islands, run_carina):
    said = run_carina(
        ["explain", islands / "model.pt2", *TARGET, "--calibrate", islands / "x.npy", *options, "--json"]
    ).json
    on_cpu = [node for node in said["nodes"] if node["runs_on"] == "cpu"]
    assert rule in {node["rule"] for node in on_cpu if node["op"] == op}
    assert all(node["rule"] and node["reason"] and node["cpu_cycles"] > 0 for node in on_cpu)
    assert len(said["delegates"]) <= delegates


class Composites(torch.nn.Module):
    """Operators that are decomposed before the model is partitioned."""

    def __init__(self):
        super().__init__()
        self.linear, self.layer, self.group = torch.nn.Linear(16, 16), torch.nn.LayerNorm(16), torch.nn.GroupNorm(2, 8)
        self.gru = torch.nn.GRU(16, 16, batch_first=True)

    def forward(self, x):
        x = self.group(self.layer(torch.softmax(self.linear(x), -1)))
        x = F.scaled_dot_product_attention(x, x, x) / (1 + x.var(-1, keepdim=True))
        return self.linear(self.gru(F.max_pool1d(x.cumsum(-1), 3, 1, 1))[0].roll(1, -1) @ x.transpose(1, 2) @ x)


COMPOSITES = [
    "softmax",
    "layer_norm",
    "group_norm",
    "scaled_dot_product_attention",
    "var",
    "div",
    "cumsum",
    "max_pool1d",
    "gru",
    "roll",
    "matmul",
]


@pytest.fixture(scope="module")
def composites(tmp_path_factory):
    folder = tmp_path_factory.mktemp("composites")
    x = torch.randn(8, 1, 8, 16, generator=torch.Generator().manual_seed(1))
    program = torch.export.export(Composites().eval(), (x[0],), strict=False)
    torch.export.save(program, folder / "model.pt2")
    np.savez(folder / "x.npz", x=x.numpy())
    return folder


@pytest.mark.parametrize("name", COMPOSITES)
def test_cpu_op_names_an_operator_of_the_model(name, composites, run_carina):
    said = run_carina(
        ["explain", composites / "model.pt2", *TARGET, "--calibrate", composites / "x.npz", "--cpu-op", name, "--json"]
    ).json
    kept = [node for node in said["nodes"] if node["op"].split(".")[1] == name]
    assert kept and all(node["runs_on"] in ("cpu", "folded") for node in kept), kept
    assert any(node["runs_on"] == "npu" for node in said["nodes"])


def test_cpu_op_lists_the_operators_of_the_model(composites, run_carina):
    rejected = run_carina(
        ["explain", composites / "model.pt2", *TARGET, "--calibrate", composites / "x.npz", "--cpu-op", "conv9d"],
        expect=2,
    )
    assert "aten.softmax.int" in rejected.stderr and "conv9d" in rejected.stderr


@pytest.mark.parametrize(
    ("options", "near"),
    [
        (["--cpu-op", "sofmax"], "did you mean softmax?"),
        (["--cpu-node", "softmx"], "did you mean softmax?"),
        (["--quantize-at", "op:layernorm=int16x8"], "did you mean layer_norm?"),
        (["--quantize-at", "node:softmx=int16x8"], "did you mean softmax?"),
    ],
)
def test_the_nearest_name_of_the_model_is_offered(options, near, composites, run_carina):
    rejected = run_carina(
        ["explain", composites / "model.pt2", *TARGET, "--calibrate", composites / "x.npz", *options], expect=2
    )
    assert near in rejected.stderr, rejected.stderr


def test_quantize_at_without_quantization_is_warned_of(composites, run_carina, tmp_path):
    done = run_carina(
        [
            "compile",
            composites / "model.pt2",
            *TARGET,
            "-q",
            "none",
            "--quantize-at",
            "node:softmax=int16x8",
            "-o",
            tmp_path / "o.pte",
        ]
    )
    assert "--quantize-at: has no effect" in done.stderr


def test_quantize_at_names_an_operator_of_the_model(composites, run_carina):
    said = run_carina(
        [
            "explain",
            composites / "model.pt2",
            *TARGET,
            "--calibrate",
            composites / "x.npz",
            "--quantize",
            "int8",
            "--quantize-at",
            "op:softmax=float",
            "--json",
        ]
    ).json
    (softmax,) = [node for node in said["nodes"] if node["op"] == "aten.softmax.int"]
    assert softmax["runs_on"] == "cpu", softmax


def test_no_such_module(islands, run_carina):
    done = run_carina(
        ["explain", islands / "model.pt2", *TARGET, "--calibrate", islands / "x.npy", "--cpu-module", "lost"], expect=2
    )
    assert "unknown module" in done.stderr and "the modules are: " in done.stderr and "last" in done.stderr


class Odd(nn.Module):
    """Three things that the NPU does not have: a large stride, a cumulative product, indices that are known only at run time."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(2, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x, places):
        y = torch.relu(self.first(x))
        y = F.max_pool2d(y, 5, stride=4, padding=2)
        y = torch.tanh(self.last(y)).flatten(1)
        return torch.erfinv(y * 0.5)[:, places] + y.prod(1, keepdim=True)


def advice(nodes):
    return [node for node in nodes if node["runs_on"] not in ("npu", "folded") and node["op"] != "-"]


@pytest.mark.cases("lstm")
def test_each_node_of_the_lstm_that_is_not_delegated_has_rule_cost_and_advice(case, run_carina):
    said = run_carina(
        ["explain", case.model, *TARGET, "--calibrate", case.path / "input_0.npy", "--cpu-op", "sigmoid", "--json"]
    ).json
    assert all(node["rule"] and node["hint"] and node["cpu_cycles"] > 0 for node in advice(said["nodes"]))


def test_each_node_that_is_not_delegated_has_rule_cost_and_advice(run_carina, saved, tmp_path):
    explain, calibrate, _ = saved("attention")
    said = run_carina([*explain, *calibrate, "--cpu-op", "exp", "--json"]).json
    assert advice(said["nodes"])
    assert all(node["rule"] and node["hint"] and node["cpu_cycles"] > 0 for node in advice(said["nodes"]))
    x, places = torch.randn(1, 2, 200, 200), torch.tensor([1, 5, 0])
    torch.export.save(torch.export.export(Odd().eval(), (x, places)), tmp_path / "odd.pt2")
    np.savez(tmp_path / "odd.npz", x=x.numpy(), places=places.numpy())
    said = run_carina(["explain", tmp_path / "odd.pt2", *TARGET, "--calibrate", tmp_path / "odd.npz", "--json"]).json
    on_cpu = advice(said["nodes"])
    assert len(on_cpu) >= 3, said["nodes"]
    assert all(node["rule"] and node["hint"] and node["cpu_cycles"] > 0 for node in on_cpu), on_cpu
