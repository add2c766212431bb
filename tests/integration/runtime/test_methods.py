"""Programs of several methods with one state: `carina compile --method` writes them, and `carina run --schedule` runs them, as ExecuTorch
does: step for step equal to eager PyTorch and to the official runtime, in both directions."""

import json

import numpy as np
import pytest
import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime
from torch import nn

TARGETS = ["ethos-u55-128", "ethos-u85-256"]


class Total(nn.Module):
    """forward() adds to the state."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.linspace(-1, 1, 8)[None])
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        self.total.copy_(0.5 * self.total + self.head(x).repeat(1, 2))
        return self.head(self.total)


class Reset(nn.Module):
    """Only writes the state, so that no result depends on what it was."""

    def __init__(self, of):
        super().__init__()
        self.register_buffer("total", of.total)

    def forward(self, start):
        self.total.copy_(start)
        return start * 1.0


class Get(Reset):
    """Only reads it."""

    def forward(self, x):
        return self.total * 2 + x


def modules():
    torch.manual_seed(5)
    total = Total().eval().requires_grad_(False)
    return {"forward": total, "reset": Reset(total), "get": Get(total)}


def schedule():
    draw = np.random.default_rng(6)
    steps = []
    for method in ("forward", "forward", "get", "reset", "get", "forward", "get"):
        steps.append((method, [draw.uniform(-1, 1, (1, 8)).astype(np.float32)]))
    return steps


def eager():
    methods = modules()
    return [methods[method](*map(torch.from_numpy, inputs)).detach().numpy().copy() for method, inputs in schedule()]


def exported(module, inputs):
    return torch.export.export(module, tuple(map(torch.from_numpy, inputs)))


def programs():
    inputs = dict(schedule())
    return {name: exported(module, inputs[name]) for name, module in modules().items()}


@pytest.fixture
def run_schedule(run_carina, tmp_path):
    def run(program):
        steps = [{"method": method, "inputs": [x.tolist() for x in inputs]} for method, inputs in schedule()]
        (tmp_path / "steps.json").write_text(json.dumps(steps))
        run_carina(["run", program, "--schedule", tmp_path / "steps.json", "-o", tmp_path / "out"])
        return [np.load(tmp_path / "out" / f"step{n:02}.npy") for n in range(len(steps))]

    return run


def official(path):
    data = path.read_bytes()  # the runtime reads constants from it, and does not keep it
    program = Runtime.get().load_program(data)
    methods = {name: program.load_method(name) for name in ("forward", "reset", "get")}
    return [
        methods[method].execute([torch.from_numpy(x) for x in inputs])[0].numpy().copy()
        for method, inputs in schedule()
    ]


@pytest.fixture
def compiled(run_carina, tmp_path):
    """compiled(target, *options) -> a program of Carina with the three methods."""

    def compile_(target, *options, samples=False):
        of = {}
        for name, program in programs().items():
            torch.export.save(program, tmp_path / f"{name}.pt2")
            of[name] = f"{name}={tmp_path / name}.pt2"
            if samples:
                np.save(tmp_path / f"{name}.npy", np.concatenate([x[0] for m, x in schedule() if m == name]))
                of[name] += f",{tmp_path / name}.npy"
        if samples:
            options = [*options, "--calibrate", tmp_path / "forward.npy"]
        command = ["compile", tmp_path / "forward.pt2", "--target", target, "-o", tmp_path / "model.pte"]
        run_carina([*command, "--method", of["reset"], "--method", of["get"], *options])
        return tmp_path / "model.pte"

    return compile_


def assert_steps(got, wanted, atol):
    for mine, truth in zip(got, wanted, strict=True):
        np.testing.assert_allclose(mine, truth.reshape(mine.shape), atol=atol)


def test_methods_of_executorch_share_their_state(run_schedule, tmp_path):
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    path = tmp_path / "model.pte"
    path.write_bytes(to_edge(programs()).to_executorch(config).buffer)
    assert_steps(run_schedule(path), official(path), 1e-6)


def test_methods_of_carina_share_their_state_in_both_runtimes(compiled, run_schedule):
    path = compiled("ethos-u55-128", "--quantize", "none", "--no-delegate")
    assert_steps(run_schedule(path), eager(), 1e-5)
    assert_steps(official(path), eager(), 1e-5)


def test_a_state_that_only_one_method_has_is_its_own(run_carina, tmp_path):
    """Buffers of one name in methods that do not share a module are one state all the same; of two names they are two."""
    programs_ = programs()
    for name in ("forward", "reset"):
        torch.export.save(programs_[name], tmp_path / f"{name}.pt2")
    command = [
        "compile",
        tmp_path / "forward.pt2",
        "--target",
        "ethos-u55-128",
        "--no-delegate",
        "-o",
        tmp_path / "m.pte",
    ]
    said = run_carina([*command, "--method", f"reset={tmp_path / 'reset.pt2'}"]).stderr
    assert said.count("keeps state from run to run: total fp32 [1,8]") == 2


@pytest.mark.parametrize("target", TARGETS)
def test_quantized_methods_have_one_scale(target, compiled, run_schedule):
    wanted = eager()
    got = run_schedule(compiled(target, "--quantize", "int8", samples=True))
    for mine, truth in zip(got, wanted, strict=True):
        noise = ((mine - truth.reshape(mine.shape)) ** 2).sum()
        # the samples of `get` begin with the initial state, so that its range is not that of the run
        assert 10 * np.log10((truth**2).sum() / noise) > 20


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--method", "forward=x.pt2"], "two methods have one name"),
        (["--method", "=x.pt2"], "a method needs a name"),
        (["--method", "other=x.tosa"], "a method is a .pt2"),
        (["--method", "a/b=x.pt2"], "a method's name has letters"),
    ],
)
def test_methods_that_cannot_be_are_rejected(options, says, run_carina, tmp_path):
    torch.export.save(programs()["forward"], tmp_path / "m.pt2")
    command = ["compile", tmp_path / "m.pt2", "--target", "ethos-u55-128", "-o", tmp_path / "m.pte", *options]
    assert says in run_carina(command, expect=2).stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "no list of steps"),
        ("[]", "no list of steps"),
        ('[{"inputs": [1]}]', "step 0 has no method"),
        ('[{"method": "forward", "inputs": ["x"]}]', "step 0 has no method, or inputs that are no numbers"),
        ('[{"method": "none", "inputs": []}]', "no method of this name"),
        ('[{"method": "forward", "inputs": []}]', "wrong number of inputs"),
    ],
)
def test_a_schedule_that_does_not_fit_is_rejected(text, says, run_carina, tmp_path):
    path = tmp_path / "model.pte"
    path.write_bytes(to_edge({"forward": programs()["forward"]}).to_executorch().buffer)
    (tmp_path / "steps.json").write_text(text)
    assert says in run_carina(["run", path, "--schedule", tmp_path / "steps.json"], expect=1).stderr


def samples_of(method):
    return np.concatenate([x[0] for m, x in schedule() if m == method])


@pytest.mark.parametrize("given_as", ["programs", "modules", "paths"])
def test_methods_in_python_share_their_state(given_as, package, compiled, tmp_path):
    """carina.compile() of a dict gives the bytes of the command line; runs pass the state from method to method."""
    path = compiled("ethos-u55-128", "--quantize", "int8", samples=True)
    models = {
        "programs": programs(),
        "modules": modules(),
        "paths": {name: tmp_path / f"{name}.pt2" for name in modules()},
    }[given_as]
    inputs = {name: tuple(map(torch.from_numpy, x)) for name, x in schedule()} if given_as == "modules" else None
    program = package.compile(
        models,
        inputs,
        target="ethos-u55-128",
        quantize="int8",
        calibration={name: samples_of(name) for name in models},
    )
    assert given_as == "modules" or program.pte == path.read_bytes()
    assert program.methods == ["forward", "reset", "get"]
    assert [port.name for port in program["reset"].inputs] == ["start"]
    for of in (program, package.Program.load(path)):
        for (method, x), truth in zip(schedule(), eager(), strict=True):
            got = of[method].run(*x)[0] if method != "forward" else of.run(*x)[0]
            assert 10 * np.log10((truth**2).sum() / ((got - truth.reshape(got.shape)) ** 2).sum()) > 20
        of.reset()
        assert list(of.state) == ["total"] and of.state["total"].dtype == np.int8


def test_methods_in_python_take_sequences_by_method(package):
    """One sequence is what calibration data are; two begin with the initial state each. What is wrong is said by its name."""
    given = {"target": "ethos-u55-128", "quantize": "int8"}
    data = {name: samples_of(name) for name in modules()}
    one = package.compile(programs(), sequences={name: [x] for name, x in data.items()}, **given)
    assert one.pte == package.compile(programs(), calibration=data, **given).pte
    two = package.compile(programs(), sequences={name: [x[:1], x[-1:]] for name, x in data.items()}, **given)
    for (method, x), truth in zip(schedule(), eager(), strict=True):
        got = two[method].run(*x)[0]
        assert 10 * np.log10((truth**2).sum() / ((got - truth.reshape(got.shape)) ** 2).sum()) > 10  # of few samples
    mixed = package.compile(
        programs(),
        sequences={"forward": [data["forward"]]},
        calibration={"reset": data["reset"], "get": data["get"]},
        **given,
    )
    assert mixed.pte == one.pte
    with pytest.raises(package.UsageError, match="not by method"):
        package.compile(programs(), sequences=[data["forward"]], **given)
    with pytest.raises(package.UsageError, match="no method of this name"):
        package.compile(programs(), sequences={**data, "decode": [data["get"]]}, **given)
    with pytest.raises(package.UsageError, match="excludes calibration"):
        package.compile(programs(), sequences={"get": [data["get"]]}, calibration=data, **given)


def test_methods_in_python_are_those_of_the_schedule(package, compiled, run_schedule):
    path = compiled("ethos-u85-256", "--quantize", "int8", samples=True)
    program = package.Program.load(path)
    for (method, x), wanted in zip(schedule(), run_schedule(path), strict=True):
        np.testing.assert_array_equal(program[method](*x)[0], wanted)
    with pytest.raises(KeyError, match="forward, reset, get"):
        program["decode"]


@pytest.mark.parametrize("shared", [True, False])
def test_states_in_python_are_shared_only_where_the_program_shares_them(shared, package, tmp_path):
    """ExecuTorch writes both kinds; the official runtime is the reference. Unshared, the buffer of a method that only reads is a constant."""
    config = ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=shared), emit_mutable_buffer_names=True
    )
    path = tmp_path / "model.pte"
    path.write_bytes(to_edge(programs()).to_executorch(config).buffer)
    program = package.Program.load(path)
    got = [program[method](*x)[0] for method, x in schedule()]
    assert_steps(got, official(path), 1e-6)
    assert sorted(program.state) == (["total"] if shared else ["reset.total", "total"])


def test_explain_and_dump_have_all_methods(compiled, run_carina, tmp_path):
    compiled("ethos-u55-128", "--dump", tmp_path / "dump", samples=True)
    names = {file.name.split("_TOSA")[0] for file in (tmp_path / "dump").glob("*.tosa")}
    assert names == {"output_tag0_forward", "output_tag1_reset", "output_tag2_get"}
    command = ["explain", tmp_path / "forward.pt2", "--target", "ethos-u55-128"]
    further = ["--method", f"get={tmp_path / 'get.pt2'}", "--method", f"reset={tmp_path / 'reset.pt2'}"]
    report = json.loads(run_carina([*command, *further, "--json"]).stdout)
    assert [report["method"], *(each["method"] for each in report["methods"])] == ["forward", "get", "reset"]
    assert [node["op"] for node in report["methods"][0]["nodes"]] == ["aten.mul.Tensor", "aten.add.Tensor"]
    text = run_carina([*command, *further]).stdout
    assert text.count("nodes: ") == 3 and "method get: " in text


class Language(nn.Module):
    """Predicts the token after the last one, plus how many tokens of the cache are odd."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(16))

    def forward(self, tokens, pos):
        self.cache[pos] = (tokens[0] % 2).float()
        wanted = (tokens[0, -1:] + 1 + self.cache.sum()) % 11
        return -(torch.arange(11.0)[None] - wanted).abs()[None]


def test_tokens_are_generated_with_the_cache_of_both_methods(run_carina, tmp_path):
    for name, count in (("prefill", 2), ("decode", 1)):
        inputs = (torch.zeros(1, count, dtype=torch.int64), torch.arange(count))
        torch.export.save(torch.export.export(Language().eval(), inputs), tmp_path / f"{name}.pt2")
    program = tmp_path / "model.pte"
    options = ["--method", "decode", "--method", f"prefill={tmp_path / 'prefill.pt2'}"]
    target = ["--target", "ethos-u55-128", "--no-delegate"]
    run_carina(["compile", tmp_path / "decode.pt2", *target, "-o", program, *options])
    run_carina(["run", program, "--generate", 6, "--tokens", "3,4,5", "-o", tmp_path / "out"])
    tokens = [3, 4, 5]
    while len(tokens) < 9:
        tokens.append((tokens[-1] + 1 + sum(token % 2 for token in tokens)) % 11)
    assert np.load(tmp_path / "out" / "output_0.npy").tolist() == tokens[3:]
    draw = ["run", program, "--generate", 6, "--tokens", "3,4,5", "--top-k", 4, "-o"]
    drawn = []
    for seed in (1, 1, 2):
        run_carina([*draw, tmp_path / "drawn", "--seed", seed])
        drawn.append(np.load(tmp_path / "drawn" / "output_0.npy").tolist())
    assert drawn[0] == drawn[1] != drawn[2]
    assert "begins with a token" in run_carina(["run", program, "--generate", 6], expect=2).stderr


def test_a_decoder_on_the_npu_generates_the_tokens_of_its_integer_graph(shared, run_carina, tmp_path):
    """stories260K, greedy. The delegate of the VGF program is the integer graph, which the interpreter runs."""
    case, target = shared / "state" / "stories260k_i32", "ethos-u85-256"
    steps = {name: np.load(case / f"seq_{name}.npy") for name in ("tokens", "pos")}
    np.savez(tmp_path / "steps.npz", **steps)
    quantize = ["--quantize", "int8", "--calibrate", tmp_path / "steps.npz"]
    for name in (target, "vgf"):
        run_carina(["compile", case / "model.pt2", "--target", name, *quantize, "-o", tmp_path / f"{name}.pte"])
    count = 0
    for number, prompt in enumerate(("1", "1,403", "1,410,389", "1,317", "1,338,291")):
        generated = {}
        for name in (target, "vgf"):
            out = tmp_path / f"{name}_{number}"
            run_carina(["run", tmp_path / f"{name}.pte", "--generate", 54, "--tokens", prompt, "-o", out])
            generated[name] = np.load(out / "output_0.npy").tolist()
        assert generated[target] == generated["vgf"]
        count += len(generated[target])
    assert count >= 256
