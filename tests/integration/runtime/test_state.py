"""Models that keep state: a buffer that a run overwrites is the next run's input. Step for step,
- the official ExecuTorch runtime and `carina run` give the same for ExecuTorch's programs, with names and initial values of the state or
  without;
- both give what eager PyTorch gives for Carina's programs, from both forms of a .pt2.
"""

import copy
import warnings
import wave

import numpy as np
import pytest
import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.runtime import Runtime
from torch import nn

STEPS = 7


class Gru(nn.Module):
    """The state is read by a cell, and by the output."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 5)
        self.register_buffer("h", torch.zeros(1, 5))

    def forward(self, x):
        self.h.copy_(self.cell(x, self.h))
        return self.h * 2


class Lstm(nn.Module):
    """Two states, one of them in a module inside, with initial values."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Module()
        self.cell = nn.LSTMCell(6, 5)
        self.inner.register_buffer("h", torch.linspace(-1, 1, 5)[None])
        self.register_buffer("c", torch.linspace(1, 2, 5)[None])

    def forward(self, x):
        h, c = self.cell(x, (self.inner.h, self.c))
        self.inner.h.copy_(h)
        self.c.copy_(c)
        return h


class Ring(nn.Module):
    """The oldest row goes, the new one comes; written through views of the buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("ring", torch.zeros(1, 4, 6))
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        self.ring[:, :-1] = self.ring[:, 1:].clone()
        self.ring[:, -1] = x
        return self.head(self.ring.flatten(1))


class Cat(Ring):
    """The same with cat."""

    def forward(self, x):
        self.ring.copy_(torch.cat([self.ring[:, 1:], x[:, None]], 1))
        return self.head(self.ring.flatten(1))


class Roll(Ring):
    """The same with roll."""

    def forward(self, x):
        rolled = torch.roll(self.ring, -1, 1)
        rolled[:, -1] = x
        self.ring.copy_(rolled)
        return self.head(self.ring.flatten(1))


class Counter(nn.Module):
    """An integer that starts at 5, and a flag."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.tensor([5]))
        self.register_buffer("started", torch.tensor(False))

    def forward(self, x):
        first = torch.where(self.started, x, x * 10)
        self.n.add_(1)
        self.started.copy_(torch.ones((), dtype=torch.bool))
        return first + self.n


class Swap(nn.Module):
    """Each buffer becomes the other one, so that no order of write-backs is right without a copy."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.ones(1, 6))
        self.register_buffer("b", torch.zeros(1, 6))

    def forward(self, x):
        a, b = self.a.clone(), self.b.clone()
        self.a.copy_(b)
        self.b.copy_(a)
        return x + self.a, x * b


class Before(nn.Module):
    """The result is the state before the write."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.full((1, 6), 3.0))

    def forward(self, x):
        before = self.last.clone()
        self.last.copy_(x)
        return before


class Constant(nn.Module):
    """The next state is a constant, other than the first one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.full((1, 6), 3.0))

    def forward(self, x):
        y = self.last + x
        self.last.copy_(torch.arange(6.0)[None])
        return y


class Written(nn.Module):
    """A state that the model only writes: for the caller to read."""

    def __init__(self):
        super().__init__()
        self.register_buffer("peak", torch.zeros(1, 6))
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int32))
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        self.peak.copy_(torch.maximum(x, -x))
        self.calls.add_(1)
        return self.head(x)


class Cache(nn.Module):
    """A cache of keys, written at a place that is state too."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 2, STEPS, 3))
        self.register_buffer("pos", torch.tensor([0]))
        self.head = nn.Linear(6 * STEPS, 3)

    def forward(self, x):
        self.keys[:, :, self.pos] = torch.tanh(x).view(1, 2, 1, 3)
        self.pos.add_(1)
        return self.head(self.keys.flatten(1))


MODULES = {
    module.__name__: module for module in (Gru, Lstm, Ring, Cat, Roll, Counter, Swap, Before, Constant, Written, Cache)
}


def made(name):
    torch.manual_seed(3)
    return MODULES[name]().eval().requires_grad_(False)


def exported(module):
    return torch.export.export(copy.deepcopy(module), (torch.ones(1, 6),))


def sequence():
    return torch.from_numpy(np.random.default_rng(4).standard_normal((STEPS, 1, 6)).astype(np.float32))


def outputs_of(run, steps):
    """The outputs of run(x) for each x, stacked."""
    got = []
    for x in steps:
        outputs = run(x)
        got.append([y.numpy().copy() for y in (outputs if isinstance(outputs, (list, tuple)) else [outputs])])
    return [np.stack(column) for column in zip(*got, strict=True)]


def eager(name):
    return outputs_of(made(name), sequence())


def official(path, steps):
    data = path.read_bytes()  # the runtime reads constants from it, and does not keep it
    method = Runtime.get().load_program(data).load_method("forward")
    return outputs_of(lambda x: method.execute([x.contiguous()]), steps)


@pytest.fixture
def run_steps(run_carina, tmp_path):
    def run(program, steps, *options):
        np.save(tmp_path / "steps.npy", steps.numpy())
        out = tmp_path / "outputs"
        run_carina(["run", program, "--sequence", tmp_path / "steps.npy", "-o", out, *options])
        return [np.load(file) for file in sorted(out.glob("output_*.npy"))]

    return run


def executorch_program(name, path, **config):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = to_edge(exported(made(name))).to_executorch(ExecutorchBackendConfig(**config))
    path.write_bytes(program.buffer)
    return path


def placeholders(name):
    return [f"b_{key.replace('.', '_')}" for key, _ in made(name).named_buffers()]


FORMS = {
    "plain": lambda name: {},
    "named": lambda name: {"emit_mutable_buffer_names": True},
    "initial": lambda name: {
        "emit_mutable_buffer_names": True,
        "passes": [InitializedMutableBufferPass(placeholders(name))],
    },
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODULES)
def test_a_program_of_executorch_gives_what_the_official_runtime_gives(name, form, run_steps, tmp_path):
    program = executorch_program(name, tmp_path / "model.pte", **FORMS[form](name))
    got = run_steps(program, sequence())
    for mine, theirs in zip(got, official(program, sequence()), strict=True):
        np.testing.assert_allclose(mine, theirs.reshape(mine.shape), rtol=1e-5, atol=1e-6)


def test_state_is_listed_saved_and_restored(run_steps, tmp_path):
    program = executorch_program("Lstm", tmp_path / "model.pte", **FORMS["initial"]("Lstm"))
    steps, after = sequence(), tmp_path / "after"
    whole = run_steps(program, steps)
    first = run_steps(program, steps[:3], "--state-out", after)
    assert sorted(file.name for file in after.iterdir()) == ["c.npy", "inner.h.npy"]
    np.testing.assert_array_equal(np.load(after / "inner.h.npy"), first[0][-1])
    rest = run_steps(program, steps[3:], "--state-in", after)
    np.testing.assert_array_equal(np.concatenate([first[0], rest[0]]), whole[0])


@pytest.mark.parametrize("form", ["functional", "in_place"])
def test_state_that_no_result_needs_is_kept_for_the_caller(form, run_carina, run_steps, tmp_path):
    module, after = made("Written"), tmp_path / "after"
    for x in sequence():
        module(x)
    run_steps(carina_program("Written", form, run_carina, tmp_path), sequence(), "--state-out", after)
    assert sorted(file.name for file in after.iterdir()) == ["calls.npy", "peak.npy"]
    np.testing.assert_array_equal(np.load(after / "peak.npy"), module.peak.numpy())
    assert np.load(after / "calls.npy") == STEPS


def test_statistics_of_training_are_left_out_with_a_note(run_carina, tmp_path):
    """The batch norm itself is an error: it is in training mode."""
    module = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4)).requires_grad_(False).train()
    torch.export.save(torch.export.export(module, (torch.randn(3, 6),)), tmp_path / "model.pt2")
    done = run_carina(["explain", tmp_path / "model.pt2", "--target", "ethos-u55-128"], expect=1)
    assert "statistics of norms in training" in done.stderr and "keeps state" not in done.stderr, done.stderr


def test_state_without_names_is_numbered(run_steps, tmp_path):
    program = executorch_program("Lstm", tmp_path / "model.pte")
    run_steps(program, sequence(), "--state-out", tmp_path / "after")
    assert sorted(file.name for file in (tmp_path / "after").iterdir()) == ["state_0.npy", "state_1.npy"]


def test_reset_every_begins_again_with_the_initial_values(run_steps, tmp_path):
    program = executorch_program("Counter", tmp_path / "model.pte", **FORMS["initial"]("Counter"))
    x = torch.zeros(6, 1, 6)
    assert run_steps(program, x)[0][:, 0, 0].tolist() == [6, 7, 8, 9, 10, 11]
    assert run_steps(program, x, "--reset-every", 2)[0][:, 0, 0].tolist() == [6, 7, 6, 7, 6, 7]


def test_a_program_without_state_has_none_to_write(run_carina, tmp_path):
    path = tmp_path / "model.pte"
    path.write_bytes(to_edge(torch.export.export(nn.ReLU(), (torch.ones(3),))).to_executorch().buffer)
    says = run_carina(["run", path, "--state-out", tmp_path / "after"], expect=2).stderr
    assert "keeps no state" in says


class Reader(nn.Module):
    """A second method, which reads the state of Gru."""

    def __init__(self, of):
        super().__init__()
        self.register_buffer("h", of.h)

    def forward(self, x):
        return self.h + x


def test_methods_that_share_state_pass_it_on(run_carina, run_steps, tmp_path):
    gru, steps = made("Gru"), sequence()
    methods = {"forward": exported(gru), "read": torch.export.export(Reader(gru), (torch.ones(1, 5),))}
    config = ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True), emit_mutable_buffer_names=True
    )
    program = tmp_path / "model.pte"
    program.write_bytes(to_edge(methods).to_executorch(config).buffer)
    (doubled,) = run_steps(program, steps, "--state-out", tmp_path / "after")
    np.save(tmp_path / "one.npy", np.ones((1, 5), np.float32))
    command = ["run", program, "--method", "read", "--state-in", tmp_path / "after", "-i", tmp_path / "one.npy"]
    run_carina([*command, "-o", tmp_path / "read"])
    np.testing.assert_allclose(np.load(tmp_path / "read" / "output_0.npy"), doubled[-1] / 2 + 1, rtol=1e-6)


def carina_program(name, form, run_carina, folder, *options):
    program = exported(made(name))
    if form == "functional":
        program = program.run_decompositions({})
        assert program.graph_signature.buffers_to_mutate
    else:
        assert not program.graph_signature.buffers_to_mutate
    torch.export.save(program, folder / "model.pt2")
    options = options or ("--quantize", "none", "--no-delegate")
    run_carina(
        ["compile", folder / "model.pt2", "--target", "ethos-u55-128", "-o", folder / "model.pte", *map(str, options)]
    )
    return folder / "model.pte"


@pytest.mark.parametrize("form", ["functional", "in_place"])
@pytest.mark.parametrize("name", MODULES)
def test_a_program_of_carina_gives_what_eager_gives_in_both_runtimes(name, form, run_carina, run_steps, tmp_path):
    program = carina_program(name, form, run_carina, tmp_path)
    wanted = eager(name)
    for got in (run_steps(program, sequence()), official(program, sequence())):
        for mine, truth in zip(got, wanted, strict=True):
            np.testing.assert_allclose(mine, truth.reshape(mine.shape), rtol=1e-5, atol=1e-5)


@pytest.fixture
def quantized(run_carina, tmp_path):
    """quantized(name, target) -> the program, its folder of --dump, and the samples, which are one sequence."""

    def compiled(name, target):
        np.savez(tmp_path / "steps.npz", x=sequence().numpy())
        options = ["--calibrate", tmp_path / "steps.npz", "--quantize", "int8", "--dump", tmp_path / "dump"]
        torch.export.save(exported(made(name)), tmp_path / "model.pt2")
        model, program = tmp_path / "model.pt2", tmp_path / "model.pte"
        run_carina(["compile", model, "--target", target, "-o", program, *options])
        return program

    return compiled


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
@pytest.mark.parametrize("name", ["Gru", "Lstm", "Ring", "Cat", "Roll", "Cache"])
def test_the_npu_has_the_bits_of_the_integer_graph_at_every_step(name, target, quantized, run_carina, tmp_path):
    program = quantized(name, target)
    command = [
        "accuracy",
        tmp_path / "model.pt2",
        program,
        "--data",
        tmp_path / "steps.npz",
        "--dump",
        tmp_path / "dump",
    ]
    report = run_carina([*command, "--json"]).json
    assert report["npu_equals_integer"] == STEPS
    steps = report["steps"]
    assert steps["worst_db"] <= min(steps["first_db"], steps["median_db"], steps["last_db"])
    assert steps["worst_db"] > 20 and 0 <= steps["worst_step"] < STEPS
    assert "SQNR by step: first" in run_carina(command).stdout


def test_quantized_state_stays_integers_on_one_scale(quantized, run_steps, tmp_path):
    program = quantized("Lstm", "ethos-u55-128")
    wanted = eager("Lstm")[0]
    (got,) = run_steps(program, sequence(), "--state-out", tmp_path / "after")
    state = np.load(tmp_path / "after" / "inner.h.npy")
    assert state.dtype == np.int8
    # The result of a step is the state after it.
    differences = np.diff(np.unique(got))
    scale = differences[differences > 1e-6].min()
    steps = got[-1] / scale
    np.testing.assert_allclose(steps - np.rint(steps), 0, atol=1e-2)
    np.testing.assert_array_equal(np.rint(steps) - np.rint(steps)[0, 0], state.astype(int) - int(state[0, 0]))
    assert np.abs(got - wanted.reshape(got.shape)).max() < 0.1


def test_a_state_may_have_16_bits_of_its_own(run_carina, run_steps, tmp_path):
    """The cell state has 16 bits, the hidden state 8. Quantized finer, the results are nearer to eager PyTorch's."""
    np.savez(tmp_path / "steps.npz", x=sequence().numpy())
    worst = {}
    for bits, options in (
        ("8", []),
        ("16", ["--quantize-at", "state:c=int16", "--quantize-at", "state:inner.h=int16"]),
    ):
        folder = tmp_path / bits
        folder.mkdir()
        options = ["--calibrate", tmp_path / "steps.npz", "--quantize", "int8", *options]
        program = carina_program("Lstm", "in_place", run_carina, folder, *options)
        (got,) = run_steps(program, sequence(), "--state-out", folder / "after")
        for name in ("c", "inner.h"):
            assert np.load(folder / "after" / f"{name}.npy").dtype == f"int{bits}"
        worst[bits] = np.abs(got - eager("Lstm")[0].reshape(got.shape)).max()
    assert worst["16"] <= worst["8"]


@pytest.mark.parametrize(
    "spec, says", [("state:d=int16", "did you mean c?"), ("state:c=float", "cannot be left float")]
)
def test_wrong_parts_of_the_state_are_errors(spec, says, run_carina, tmp_path):
    torch.export.save(exported(made("Lstm")), tmp_path / "model.pt2")
    command = ["explain", tmp_path / "model.pt2", "-t", "ethos-u55-128", "--calibrate", "random", "--quantize-at", spec]
    assert says in run_carina(command, expect=2).stderr


def test_a_ring_does_not_move(quantized, run_carina, tmp_path):
    """The NPU reads the ring once, for the layer after it. It copies no row, and neither does the program."""
    program = quantized("Cat", "ethos-u55-128")
    np.save(tmp_path / "steps.npy", sequence().numpy())
    report = run_carina(["run", program, "--sequence", tmp_path / "steps.npy", "--timed", "--json"]).json
    assert [layer["name"] for layer in report["npu"]["layers"]] == ["linear"]
    assert not [kernel for kernel in report["cpu_kernels"] if "copy_" in kernel]


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_writing_at_a_place_of_the_run_needs_no_kernel(target, quantized, run_carina, tmp_path):
    program = quantized("Cache", target)
    kernels = run_carina(["run", program, "--json"]).json["cpu_kernels"]
    assert not [kernel for kernel in kernels if "index" in kernel or "scatter" in kernel or "where" in kernel]


def test_the_initial_value_is_in_the_calibration_and_in_the_program(quantized, run_steps, tmp_path):
    """The first result of `Before` is the initial value, 3, although no input comes near it."""
    program = quantized("Before", "ethos-u55-128")
    (got,) = run_steps(program, sequence(), "--reset-every", 3)
    np.testing.assert_allclose(got[[0, 3, 6]], 3, atol=0.05)
    np.testing.assert_allclose(got[1], sequence()[0].numpy(), atol=0.05)


def test_compile_says_which_state_a_program_keeps(quantized, run_carina, tmp_path):
    quantized("Lstm", "ethos-u55-128")
    said = run_carina(["explain", tmp_path / "model.pt2", "--target", "ethos-u55-128", "--calibrate", "random"]).stderr
    assert "keeps state from run to run: c i8 [1,5], inner.h i8 [1,5], 10 bytes" in said


def test_a_tosa_file_has_the_state_as_inputs_and_outputs(run_carina, tmp_path):
    torch.export.save(exported(made("Gru")), tmp_path / "model.pt2")
    done = run_carina(["tosa", tmp_path / "model.pt2", "--quantize", "none", "-o", tmp_path / "model.tosa"])
    assert "keeps state" in done.stderr


class Total(nn.Module):
    """A state that grows with each step, so that its range shows whether calibration began it again."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 8))

    def forward(self, x):
        self.total.add_(x)
        return self.total * 1.0


def recordings():
    """Two sequences, in which the state grows to some 10."""
    draw = np.random.default_rng(11)
    return [draw.uniform(0, 2, (10, 1, 8)).astype(np.float32) for _ in range(2)]


def test_each_sequence_of_calibration_begins_with_the_initial_state(package, run_carina, tmp_path):
    """The range of the result is that of eager PyTorch over the sequences, each from the initial state. A folder of files gives the same
    program as `sequences` of Python."""
    module, example = Total().eval(), (torch.zeros(1, 8),)
    torch.export.save(torch.export.export(module, example), tmp_path / "model.pt2")
    (tmp_path / "recordings").mkdir()
    for n, steps in enumerate(recordings()):
        np.save(tmp_path / "recordings" / f"{n}.npy", steps)
    options = {"target": "ethos-u55-128", "quantize": "int8", "io": "int8"}
    program = package.compile(tmp_path / "model.pt2", sequences=recordings(), **options)
    by_name = package.compile(tmp_path / "model.pt2", sequences=[{"x": steps} for steps in recordings()], **options)
    of_folder = package.compile(tmp_path / "model.pt2", calibration=tmp_path / "recordings", **options)
    joined = package.compile(tmp_path / "model.pt2", calibration=np.concatenate(recordings()), **options)
    assert program.pte == of_folder.pte == by_name.pte != joined.pte
    largest = max(steps.sum(0).max() for steps in recordings())
    assert program.outputs[0].scale == pytest.approx(largest / 255, rel=0.02)
    assert joined.outputs[0].scale == pytest.approx(sum(recordings()).sum(0).max() / 255, rel=0.02)
    with pytest.raises(package.UsageError, match="excludes calibration"):
        package.compile(tmp_path / "model.pt2", sequences=recordings(), calibration="random", **options)
    with pytest.raises(package.UsageError, match="not a sequence"):
        package.compile(tmp_path / "model.pt2", sequences=[3], **options)


def test_accuracy_begins_each_file_with_the_initial_state(package, run_carina, tmp_path):
    torch.export.save(torch.export.export(Total().eval(), (torch.zeros(1, 8),)), tmp_path / "model.pt2")
    (tmp_path / "recordings").mkdir()
    for n, steps in enumerate(recordings()):
        np.save(tmp_path / "recordings" / f"{n}.npy", steps)
    target = ["--target", "ethos-u55-128", "--quantize", "int8", "--calibrate", tmp_path / "recordings"]
    run_carina(["compile", tmp_path / "model.pt2", *target, "-o", tmp_path / "m.pte", "--dump", tmp_path / "dump"])
    command = ["accuracy", tmp_path / "model.pt2", tmp_path / "m.pte", "--dump", tmp_path / "dump", "--json", "--data"]
    report = run_carina([*command, tmp_path / "recordings"]).json
    assert report["npu_equals_integer"] == 20 and report["steps"]["worst_db"] > 25
    np.save(tmp_path / "joined.npy", np.concatenate(recordings()))  # the state grows beyond its range
    assert run_carina([*command, tmp_path / "joined.npy"]).json["steps"]["worst_db"] < 10


def write_wav(path, samples, bits=16, channels=1, rate=16000):
    """samples: from -1 to 1"""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(bits // 8)
        file.setframerate(rate)
        numbers = np.round(np.repeat(samples, channels) * 2 ** (bits - 1)).astype(np.int64)
        if bits == 8:
            numbers += 128
        file.writeframes(b"".join(int(n).to_bytes(bits // 8, "little", signed=bits > 8) for n in numbers))
    return path


class Echo(nn.Module):
    """The step before, at half the volume."""

    def __init__(self):
        super().__init__()
        self.register_buffer("before", torch.zeros(1, 40))

    def forward(self, x):
        y = x + 0.5 * self.before
        self.before.copy_(x)
        return y


@pytest.fixture
def echo(run_carina, tmp_path):
    torch.export.save(torch.export.export(Echo().eval(), (torch.zeros(1, 40),)), tmp_path / "echo.pt2")
    options = ["--target", "ethos-u55-128", "--no-delegate", "-o", tmp_path / "echo.pte"]
    run_carina(["compile", tmp_path / "echo.pt2", *options])
    return tmp_path / "echo.pte"


def sound(count=300, bits=16):
    """Numbers that these bits can hold."""
    draw = np.random.default_rng(12)
    return draw.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, count) / 2 ** (bits - 1)


@pytest.mark.parametrize("bits", [8, 16, 24, 32])
def test_a_sound_is_a_sequence_of_steps(bits, echo, run_carina, tmp_path):
    samples = sound(bits=bits)
    write_wav(tmp_path / "sound.wav", samples, bits)
    command = ["run", echo, "--sequence", tmp_path / "sound.wav", "-o", tmp_path / "out"]
    said = run_carina(command).stderr
    assert "16000 Hz, 7 steps of 40 sound samples; nothing is resampled; 20 after the last step are not used" in said
    wanted = outputs_of(Echo().eval(), torch.from_numpy(samples[:280].reshape(7, 1, 40).astype(np.float32)))[0]
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "output_0.npy"), wanted)


@pytest.mark.parametrize(
    ("how", "options", "says"),
    [
        ({"rate": 44100}, ["--sample-rate", 16000], "is not resampled: expected 16000 Hz, got 44100 Hz"),
        ({"channels": 2}, [], "several channels"),
        ({"samples": sound(39)}, [], "the sound is shorter than the input"),
    ],
)
def test_a_sound_that_does_not_fit_is_rejected(how, options, says, echo, run_carina, tmp_path):
    write_wav(tmp_path / "sound.wav", **{"samples": sound(), **how})
    command = ["run", echo, "--sequence", tmp_path / "sound.wav", *options]
    assert says in " ".join(run_carina(command, expect=1).stderr.split())


def test_a_damaged_sound_is_rejected(echo, run_carina, tmp_path):
    whole = write_wav(tmp_path / "sound.wav", sound()).read_bytes()
    for size in (12, 20, 36, 43):
        (tmp_path / "sound.wav").write_bytes(whole[:size])
        assert "sound" in run_carina(["run", echo, "--sequence", tmp_path / "sound.wav"], expect=1).stderr


class Spotter(nn.Module):
    """A ring of 49 frames of 10 features, and a linear layer over all of them."""

    def __init__(self, form):
        super().__init__()
        self.register_buffer("ring", torch.zeros(1, 49, 10))
        self.head = nn.Linear(490, 12)
        self.write = {"Ring": Ring.forward, "Cat": Cat.forward, "Roll": Roll.forward}[form]

    def forward(self, frame):
        return self.write(self, frame)


@pytest.mark.parametrize("form", ["Cat", "Roll", "Ring"])
def test_a_ring_costs_one_read_and_its_new_row(form, run_carina, tmp_path):
    """By the simulator's traffic: the NPU reads the ring once, and writes no more than the new row and the result."""
    torch.manual_seed(0)
    module = Spotter(form).eval().requires_grad_(False)
    torch.export.save(torch.export.export(module, (torch.zeros(1, 10),)), tmp_path / "model.pt2")
    np.save(tmp_path / "frames.npy", np.random.default_rng(1).standard_normal((60, 1, 10)).astype(np.float32))
    options = ["--target", "ethos-u55-128", "--calibrate", tmp_path / "frames.npy", "--io", "int8"]
    run_carina(["compile", tmp_path / "model.pt2", *options, "-o", tmp_path / "model.pte"])
    traffic = run_carina(["run", tmp_path / "model.pte", "--timed", "--json"]).json["npu"]["traffic_bytes"]
    assert traffic["Sram read"] <= 490 + 10
    assert traffic["Sram write"] <= 10 + 16  # 12 results, in blocks of 16
