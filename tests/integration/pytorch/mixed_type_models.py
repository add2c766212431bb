"""Random small models with floats, integers and bools: conversions, comparisons, selections, concatenations.

    python mixed_type_models.py CARINA [first seed] [how many]

compiles each for one NPU and compares all outputs of all delegates with their TOSA graphs. It prints the failures."""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import warnings

import numpy as np
import torch

warnings.filterwarnings("ignore")
TARGETS = [
    "ethos-u55-32",
    "ethos-u55-64",
    "ethos-u55-128",
    "ethos-u55-256",
    "ethos-u65-256",
    "ethos-u65-512",
    "ethos-u85-128",
    "ethos-u85-256",
    "ethos-u85-512",
    "ethos-u85-1024",
    "ethos-u85-2048",
]
TYPES = [torch.float32, torch.float32, torch.int64, torch.int32, torch.bool]


def as_type(tensor, dtype):
    return tensor.to(dtype)


UNARY = [
    torch.abs,
    torch.neg,
    torch.sign,
    torch.relu,
    torch.floor,
    torch.round,
    torch.trunc,
    torch.sigmoid,
    torch.exp,
    torch.square,
    torch.logical_not,
    torch.bitwise_not,
    torch.tanh,
    torch.ceil,
]
BINARY = [
    torch.add,
    torch.sub,
    torch.mul,
    torch.maximum,
    torch.minimum,
    torch.div,
    torch.remainder,
    torch.fmod,
    torch.eq,
    torch.ne,
    torch.lt,
    torch.le,
    torch.gt,
    torch.ge,
    torch.logical_and,
    torch.logical_or,
    torch.logical_xor,
    torch.bitwise_and,
    torch.bitwise_or,
    torch.bitwise_xor,
    torch.floor_divide,
    torch.pow,
    torch.atan2,
    torch.heaviside,
]
REDUCE = [torch.sum, torch.mean, torch.amax, torch.amin, torch.any, torch.all, torch.argmax, torch.cumsum, torch.prod]


class Program(torch.nn.Module):
    """Replays recorded steps: (function, indices of its tensors, other arguments)."""

    def __init__(self, steps, constants, outputs):
        super().__init__()
        self.steps, self.outputs = steps, outputs
        self.count = len(constants)
        for i, constant in enumerate(constants):
            self.register_buffer(f"c{i}", constant)

    def forward(self, *inputs):
        values = [*inputs, *(getattr(self, f"c{i}") for i in range(self.count))]
        for function, tensors, others in self.steps:
            values.append(function(*(values[t] for t in tensors), *others))
        return tuple(values[o] for o in self.outputs)


def where(condition, yes, no):
    return torch.where(condition != 0, yes, no)


def cat(*tensors):
    return torch.cat(tensors, -1)


def stack(*tensors):
    return torch.stack(tensors, 0)


def where_numbers(condition, yes, no):
    return torch.where(condition != 0, yes, no)


def masked_fill(value, mask, number):
    return value.masked_fill(mask != 0, number)


def clamp(value, low, high):
    return value.clamp(low, high)


def scalar_power(value, base):
    return torch.pow(base, value.clamp(-3, 3))


def new_tensor(value, number):
    return torch.where(value == 0, torch.tensor(number), value)


def draw_step(rng, count):
    one, two, three = (rng.randrange(count) for _ in range(3))
    number = rng.choice([0, 1, -2, 3, 0.5, -1.25, True])
    kind = rng.randrange(14)
    if kind < 2:
        return rng.choice(UNARY), [one], []
    if kind < 5:
        return rng.choice(BINARY), [one, two], []
    if kind < 7:
        return where, [one, two, three], []
    if kind == 7:
        return as_type, [one], [rng.choice(TYPES)]
    if kind == 8:
        return rng.choice(REDUCE), [one], [-1]
    if kind == 9:
        return rng.choice([cat, stack]), [one, two], []
    if kind == 10:
        return where_numbers, [one], [number, rng.choice([0, 1, 0.0, 2.5, -3])]
    if kind == 11:
        return rng.choice([masked_fill]), [one, two], [number]
    if kind == 12:
        return rng.choice([clamp]), [one], [rng.choice([-1, -0.5]), rng.choice([2, 1.5])]
    return rng.choice([scalar_power, new_tensor]), [one], [rng.choice([2, 0.5, 3.0, 1])]


def draw_tensor(rng, numbers, dtype, shape):
    if dtype == torch.float32:
        return torch.from_numpy(numbers.standard_normal(shape).astype("f4"))
    if dtype == torch.bool:
        return torch.from_numpy(numbers.integers(0, 2, shape).astype(bool))
    return torch.from_numpy(numbers.integers(-9, 10, shape)).to(dtype)


def is_fine(tensor):
    if tensor.numel() == 0 or tensor.numel() > 600 or tensor.dim() > 4:
        return False
    if tensor.dtype not in (torch.float32, torch.int64, torch.int32, torch.bool):
        return False
    return bool(torch.isfinite(tensor.float()).all()) and float(tensor.float().abs().max()) < 2**20


def draw(seed, samples=3):
    """A model and its inputs (one list per sample). The model computes finite numbers from the first sample."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    shape = rng.choice([(1, 4, 6), (2, 3, 5), (1, 8), (3, 4)])
    types = [torch.float32, *(rng.choice(TYPES) for _ in range(rng.randrange(3)))]
    sets = [[draw_tensor(rng, numbers, t, shape) for t in types] for _ in range(samples)]
    shapes = [shape, shape[-1:], ()]
    constants = [draw_tensor(rng, numbers, rng.choice(TYPES), rng.choice(shapes)) for _ in range(rng.randrange(1, 4))]
    values = [*sets[0], *constants]
    steps = []
    for _ in range(80):
        function, tensors, others = draw_step(rng, len(values))
        try:
            value = function(*(values[t] for t in tensors), *others)
        except (RuntimeError, TypeError, IndexError, NotImplementedError):
            continue
        if not is_fine(value):
            continue
        steps.append((function, tensors, others))
        values.append(value)
        if len(steps) == 8:
            break
    first = len(types) + len(constants)
    outputs = sorted({len(values) - 1, rng.randrange(first, len(values))})
    return Program(steps, constants, outputs).eval(), sets


def save(folder, seed):
    model, sets = draw(seed)
    with torch.no_grad():
        program = torch.export.export(model, tuple(sets[0]), strict=False)
    if seed % 3 == 0:
        program = program.run_decompositions()
    torch.export.save(program, folder / "m.pt2")
    names = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    np.savez(folder / "c.npz", **{n: np.stack([s[i].numpy() for s in sets]) for i, n in enumerate(names)})


def check(carina, folder, seed, target=None):
    """The error, or None: exit code 3, or a delegate whose bits differ from those of its TOSA graph."""
    save(folder, seed)
    target = target or TARGETS[seed % len(TARGETS)]
    scheme = ["int8", "int16x8", "none"][seed % 7 % 3] if seed % 7 > 3 else "int8"
    compiled = [
        "compile",
        "m.pt2",
        "--target",
        target,
        "--calibrate",
        "c.npz",
        "--quantize",
        scheme,
        "-o",
        "o.pte",
        "--dump",
        "d",
    ]
    if scheme == "none":
        compiled = ["compile", "m.pt2", "--target", target, "-o", "o.pte", "--dump", "d"]
    done = subprocess.run([carina, *compiled], cwd=folder, capture_output=True, text=True, timeout=60)
    if done.returncode not in (0, 1):
        return f"{target} {scheme}: compile: exit code {done.returncode}: {done.stderr[-600:]}"
    if done.returncode == 1:
        return None if "error" in done.stderr else f"{target}: rejected without a reason"
    if not list((folder / "d").glob("output_tag0_*.tosa")):
        return None
    done = subprocess.run(
        [carina, "accuracy", "m.pt2", "o.pte", "--data", "c.npz", "--dump", "d", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode not in (0, 1):
        return f"{target} {scheme}: accuracy: exit code {done.returncode}: {done.stderr[-600:]}"
    if done.returncode == 1:
        return None if "NaN" in done.stderr else f"{target} {scheme}: accuracy: {done.stderr[-600:]}"
    report = json.loads(done.stdout)
    if report["npu_equals_integer"] != report["samples"]:
        return f"{target} {scheme}: bits differ: {done.stdout}"
    return None


def main():
    carina, first, count = sys.argv[1], int((sys.argv + ["0"])[2]), int((sys.argv + ["0", "100"])[3])
    failures = 0
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                problem = check(carina, Path(folder), seed)
            except subprocess.TimeoutExpired:
                problem = "took longer than a minute"
            if problem:
                failures += 1
                print(seed, problem, flush=True)
    print(f"{count} graphs from seed {first}: {failures} failures", flush=True)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
