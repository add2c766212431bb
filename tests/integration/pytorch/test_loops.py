"""while_loop with the number of rounds from --loop-rounds gives PyTorch's results for data that stop after 0 to N rounds. map and scan give
PyTorch's results for sequences of a known length."""

import numpy as np
import pytest

ROUNDS = 4
STARTS = [0.6, 1.6, 4.0, 9.0]  # they stop after 4, 2, 1 and 0 rounds of the loop below


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    import torch

    class Doubles(torch.nn.Module):
        """Doubles x while its sum is small, and counts the rounds. `limit` is read only."""

        def __init__(self):
            super().__init__()
            self.register_buffer("limit", torch.tensor([24.0]))

        def forward(self, x):
            def more(x, rounds, limit):
                return (x.sum() < limit).squeeze() & (rounds.sum() < ROUNDS)

            def once(x, rounds, limit):
                return x + x, rounds + 1.0

            return torch.ops.higher_order.while_loop(more, once, (x, torch.zeros(1)), (self.limit,))

    folder = tmp_path_factory.mktemp("loops")
    inputs = [torch.full((1, 4), start) for start in STARTS]
    torch.export.save(torch.export.export(Doubles().eval(), (inputs[0],)), folder / "loop.pt2")
    np.save(folder / "calibration.npy", torch.cat(inputs).numpy())
    return folder / "loop.pt2", [(x.numpy(), [y.numpy() for y in Doubles()(x)]) for x in inputs]


def outputs(folder):
    return [np.load(folder / f"output_{i}.npy") for i in range(2)]


def test_a_loop_without_a_number_of_rounds_is_rejected(loop, run_carina, tmp_path):
    rejection = run_carina(["tosa", loop[0], "-o", tmp_path / "m.tosa"], expect=1).stderr
    assert "while_loop" in rejection and "--loop-rounds" in rejection


def test_rounds_in_floats(loop, run_carina, tmp_path):
    model, cases = loop
    done = run_carina(["tosa", model, "--loop-rounds", ROUNDS, "-o", tmp_path / "m.tosa"])
    assert f"{ROUNDS} rounds at most" in done.stderr
    for x, wanted in cases:
        np.save(tmp_path / "x.npy", x)
        run_carina(["interpret", tmp_path / "m.tosa", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
        for ours, theirs in zip(outputs(tmp_path / "out"), wanted, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-128"])
def test_rounds_in_integers(loop, run_carina, tmp_path, target):
    model, cases = loop
    calibration = model.parent / "calibration.npy"
    run_carina(
        [
            "compile",
            model,
            "--loop-rounds",
            ROUNDS,
            "--target",
            target,
            "--calibrate",
            calibration,
            "--delegate-all",
            "-o",
            tmp_path / "m.pte",
        ]
    )
    for x, wanted in cases:
        np.save(tmp_path / "x.npy", x)
        run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
        ours, rounds = outputs(tmp_path / "out")
        assert abs(rounds - wanted[1]).max() < 0.2, (x, rounds, wanted)
        assert abs(ours - wanted[0]).max() < 0.7, (x, ours, wanted)


def sequence_models():
    """Models with map and scan: with and without tensors that every step reads, several results, and one loop in another."""
    import torch
    from torch._higher_order_ops import map as map_over
    from torch._higher_order_ops import scan

    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.linear = torch.nn.Linear(4, 4)

    class Map(Linear):
        def forward(self, x, y):
            return map_over(lambda row, other: torch.relu(self.linear(row)) + other, x, y)

    class PlainMap(torch.nn.Module):
        def forward(self, x, y):
            return map_over(lambda row: (torch.sigmoid(row), row * 2), x), y + 1

    class Scan(Linear):
        def forward(self, x, y):
            def step(state, row):
                state = torch.tanh(self.linear(state) + row)
                return state, state * 2

            return scan(step, y, x)

    class PlainScan(torch.nn.Module):
        def forward(self, x, y):
            return scan(lambda state, row: (state + row, state * row), y, x, reverse=True)

    class Nested(torch.nn.Module):
        def forward(self, x, y):
            return map_over(
                lambda rows: scan(lambda state, row: (state + row, state.clone()), rows[0], rows)[1], x
            ), y * 1

    return {"map": Map(), "plain_map": PlainMap(), "scan": Scan(), "plain_scan": PlainScan(), "nested": Nested()}


@pytest.mark.parametrize("name", ["map", "plain_map", "scan", "plain_scan", "nested"])
def test_map_and_scan(name, run_carina, tmp_path):
    import torch

    model = sequence_models()[name].eval()
    x, y = (
        torch.randn(3, 2, 4, generator=torch.Generator().manual_seed(1)),
        torch.randn(2, 4, generator=torch.Generator().manual_seed(2)),
    )
    torch.export.save(torch.export.export(model, (x, y)), tmp_path / "m.pt2")
    expected = [value.detach().numpy() for value in torch.utils._pytree.tree_leaves(model(x, y))]
    np.savez(tmp_path / "inputs.npz", x=x.numpy(), y=y.numpy(), input_0=x.numpy(), input_1=y.numpy())
    run_carina(["tosa", tmp_path / "m.pt2", "-o", tmp_path / "m.tosa"])
    run_carina(["interpret", tmp_path / "m.tosa", "-i", tmp_path / "inputs.npz", "-o", tmp_path / "floats"])
    options = ["--calibrate", tmp_path / "inputs.npz", "-q", "int16x8", "--delegate-all"]
    run_carina(["compile", tmp_path / "m.pt2", "--target", "ethos-u85-256", *options, "-o", tmp_path / "m.pte"])
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "inputs.npz", "-o", tmp_path / "integers"])
    for i, value in enumerate(expected):
        np.testing.assert_allclose(np.load(tmp_path / "floats" / f"output_{i}.npy"), value, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(np.load(tmp_path / "integers" / f"output_{i}.npy"), value, atol=0.02)
