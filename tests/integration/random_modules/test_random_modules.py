"""Random nn.Modules through every part of Carina. random_modules/ has the generator and the comparisons.

`make test` takes the first seed from the clock and prints it (scripts/test.py); CARINA_MODULES_SEED repeats a run. .ci/run
and pytest alone take FIRST, so that their result does not depend on the day. The time is limited to
CARINA_MODULES_SECONDS of processor time (60), the number of networks to CARINA_MODULES. A failure prints the smallest
module that has it, and the commands. `make conformance` runs 5,000 networks. The other tests are of the generator: that
it draws every kind of statement, and would notice.
"""

import collections
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from tier_plugin import sampled

from random_modules import noise
from random_modules.apart import Died, each_apart
from random_modules.drawing import ENDINGS, NAMES, draw
from random_modules.network import Input, Member, Network, Statement
from random_modules.shrink import shrink
from random_modules.ways import NPUS, ways_of

RUN = Path(__file__).with_name("run.py")
FIRST = 50093
SEED = int(os.environ.get("CARINA_MODULES_SEED", FIRST))
SECONDS = float(os.environ.get("CARINA_MODULES_SECONDS", sampled(40, 600)))
NETWORKS = int(os.environ.get("CARINA_MODULES", 60 if SEED == FIRST else 5000))


def test_random_modules(carina, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(carina.parents[1] / "python"), "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable,
        "-W",
        "ignore",
        RUN,
        "--seed",
        SEED,
        "--count",
        NETWORKS,
        "--seconds",
        SECONDS,
        "--failures",
        tmp_path / "failures",
    ]
    done = subprocess.run(
        [*map(str, command)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=7200
    )
    print(f"CARINA_MODULES_SEED={SEED}\n{done.stdout}")
    assert done.returncode == 0, (
        f"CARINA_MODULES_SEED={SEED} repeats this run\n{done.stdout[-12000:]}{done.stderr[-4000:]}"
    )
    networks, results = (
        int(done.stdout.splitlines()[-1].split(word)[0].split()[-1]) for word in (" networks,", " results")
    )
    assert results > 10 * networks > 0


@pytest.fixture(scope="module")
def networks():
    return [draw(seed) for seed in range(3 * len(NAMES))]


def test_every_kind_is_drawn_and_is_the_last_one(networks):
    """The last statement is of each kind in turn, but for a few seeds for which PyTorch takes no such statement."""
    drawn = collections.Counter(kind for network in networks if network for kind in set(network.kinds()))
    assert set(NAMES) <= set(drawn) and len(NAMES) > 70
    wanted = [NAMES[seed % len(NAMES)] for seed in range(len(networks))]
    last = [[kind for kind in network.kinds() if kind != "ending"][-1] if network else None for network in networks]
    assert sum(a == b for a, b in zip(wanted, last, strict=True)) > 0.9 * len(networks)


def test_networks_have_many_ranks_types_inputs_and_outputs(networks):
    drawn = [network for network in networks if network]
    assert len(drawn) > 0.97 * len(networks)
    inputs = [given for network in drawn for given in network.inputs]
    assert {len(given.shape) for given in inputs} >= {1, 2, 3, 4, 5}
    assert {given.dtype for given in inputs} >= {"float32", "float16", "float64", "int64", "int32", "bool"}
    assert {len(network.inputs) for network in drawn} >= {1, 2, 3} and {len(network.outputs) for network in drawn} >= {
        1,
        2,
        3,
    }
    assert sum("ending" in network.kinds() for network in drawn) > 0.1 * len(drawn), ENDINGS
    assert max(len(network.statements) for network in drawn) >= 10


def test_a_seed_gives_the_same_network_and_the_same_ways(networks):
    for seed in (3, 50, 120):
        assert draw(seed).source() == networks[seed].source()
        for a, b in zip(draw(seed).sample(1), networks[seed].sample(1), strict=True):
            assert torch.equal(a, b)
        assert ways_of(seed, 4) == ways_of(seed, 4)


def test_ways_have_every_npu_scheme_and_option():
    ways = [way for seed in range(200) for way in ways_of(seed, 4)]
    assert {way.target for way in ways} == set(NPUS) == {way.target for way in ways_of(0, 22)}
    assert {way.scheme for way in ways} == {"int8", "int16x8", "int8x4", "int16x16"}
    assert {name for way in ways for name in way.options} == {
        "optimize",
        "memory_mode",
        "arena_cache_size",
        "sram_budget",
        "dynamic_weights",
        "legalize",
        "delegate_all",
    }
    assert 0.2 * len(ways) < sum(not way.options for way in ways) < 0.7 * len(ways)


def two_convolutions():
    return Network(
        5,
        inputs=[Input("x0", (1, 3, 8, 8), "float32", None, 1.0)],
        members=[Member("conv_0", "nn.Conv2d(3, 8, 3)"), Member("conv_1", "nn.Conv2d(8, 4, 1)")],
        statements=[
            Statement("conv", ("v0",), ("v0 = self.conv_0(x0)",)),
            Statement("activation", ("v1",), ("v1 = torch.tanh(v0)",)),
            Statement("conv", ("v2",), ("v2 = self.conv_1(v1)",)),
            Statement("scalar", ("v3",), ("v3 = v0 * 2",)),
            Statement("flip", ("v4",), ("v4 = v2.flip(1)",)),
        ],
        outputs=["v3", "v4"],
    )


def test_a_failure_shrinks_to_the_statement_that_has_it():
    small = shrink(
        two_convolutions(),
        lambda network: any("tanh" in line for statement in network.statements for line in statement.lines),
    )
    assert [statement.lines for statement in small.statements] == [("v1 = torch.tanh(x900)",)] and small.outputs == [
        "v1"
    ]
    assert [given.shape for given in small.inputs] == [(1, 1, 1, 1)] and not small.members
    names = {}
    exec(small.script().split("torch.manual_seed")[0], names)
    assert torch.equal(names["Net"]()(torch.ones(1)), torch.tanh(torch.ones(1)))


def test_rounding_moves_no_result_and_a_wrong_element_is_noticed():
    network = two_convolutions()
    [_, wanted] = noise.eager(network, network.sample(1))
    [_, change] = noise.moved(network, network.sample(1), noise.eager(network, network.sample(1)))
    assert not noise.difference(wanted + 1e-6, wanted, change, "float32")
    wrong = wanted.clone()
    wrong[0, 1, 2, 3] += 1e-3
    assert noise.difference(wrong, wanted, change, "float32").startswith("1 of 144 elements differ: at (0, 1, 2, 3)")
    assert "shape" in noise.difference(wanted[0], wanted, change, "float32")


def test_a_choice_that_rounding_changes_is_no_difference():
    """The largest of equal numbers, up to rounding: every index is right."""
    network = Network(1, inputs=[Input("x0", (4, 8), "float32", 1.0, 1.0)], outputs=["v1"])
    network.statements = [
        Statement("scalar", ("v0",), ("v0 = x0 * 3",)),
        Statement("arg", ("v1",), ("v1 = v0.argmax(1)",)),
    ]
    wanted = noise.eager(network, network.sample(1))
    [change] = noise.moved(network, network.sample(1), wanted)
    assert not noise.difference(wanted[0] + 2, wanted[0], change, "float32")


def test_a_crash_and_a_hang_are_outcomes_and_the_next_items_run():
    def item(number):
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 2:
            time.sleep(60)
        if number == 3:
            raise ValueError("three")
        return {"number": number}

    outcomes = dict(each_apart(item, range(5), seconds=2))
    assert outcomes[0] == {"number": 0} and outcomes[4] == {"number": 4}
    assert outcomes[1] == Died("signal SIGKILL") and outcomes[2] == Died("more than 2 s")
    assert "ValueError: three" in outcomes[3].how
