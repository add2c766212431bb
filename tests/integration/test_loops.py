"""while_loop with the number of rounds from --loop-rounds gives PyTorch's results for data that stop after 0 to N rounds."""

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


def test_a_loop_without_a_number_of_rounds_is_refused(loop, run_carina, tmp_path):
    refusal = run_carina(["tosa", loop[0], "-o", tmp_path / "m.tosa"], expect=1).stderr
    assert "while_loop" in refusal and "--loop-rounds" in refusal


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
    run_carina(["compile", model, "--loop-rounds", ROUNDS, "--target", target, "--calibrate", calibration, "--delegate-all", "-o", tmp_path / "m.pte"])
    for x, wanted in cases:
        np.save(tmp_path / "x.npy", x)
        run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
        ours, rounds = outputs(tmp_path / "out")
        assert abs(rounds - wanted[1]).max() < 0.2, (x, rounds, wanted)
        assert abs(ours - wanted[0]).max() < 0.7, (x, ours, wanted)
