"""A random module as text: inputs, members and statements, from which a module, its samples and a script are made.

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv_1 = nn.Conv2d(3, 8, 3)        a Member: ("conv_1", "nn.Conv2d(3, 8, 3)")
        def forward(self, x0):                      an Input: shape, dtype and range of the values
            v0 = self.conv_1(x0)                    a Statement: kind "conv", results ("v0",), lines
            v1, v2 = v0.chunk(2, 1)                 a Statement with two results
            return v1

Text, because a failing network must be readable and must run without this package. It also makes a statement easy to
leave out, and a number easy to make smaller (shrink.py).
"""

import inspect
import math
import re
from dataclasses import dataclass, field, replace

import torch
from torch import nn
from torch.nn import functional as F

NAME = re.compile(r"\b[vx]\d+\b")
NAMESPACE = {"torch": torch, "nn": nn, "F": F, "math": math}


@dataclass(frozen=True)
class Input:
    name: str
    shape: tuple
    dtype: str  # of torch: "float32"
    low: float  # normal numbers have low None
    high: float

    def draw(self, generator):
        dtype = getattr(torch, self.dtype)
        if dtype == torch.bool:
            return torch.rand(self.shape, generator=generator) < 0.5
        if not dtype.is_floating_point:
            return torch.randint(int(self.low), int(self.high) + 1, self.shape, generator=generator).to(dtype)
        if self.low is None:
            return (torch.randn(self.shape, generator=generator) * self.high).to(dtype)
        return (torch.rand(self.shape, generator=generator) * (self.high - self.low) + self.low).to(dtype)


@dataclass(frozen=True)
class Member:
    name: str
    source: str  # "nn.Conv2d(3, 8, 3)"; a "buffer:" before it registers the tensor as a buffer


@dataclass(frozen=True)
class Statement:
    kind: str
    results: tuple
    lines: tuple

    @property
    def operands(self):
        """The names that it reads, of its own results those only that its later lines read."""
        return set(NAME.findall(" ".join(self.lines))) - set(self.results)


@dataclass
class Network:
    seed: int
    inputs: list = field(default_factory=list)
    members: list = field(default_factory=list)
    statements: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    precision: str = "float32"

    def source(self):
        lines = ["class Net(nn.Module):", "    def __init__(self):", "        super().__init__()"]
        for member in self.members:
            buffer = member.source.startswith("buffer:")
            lines.append(
                f"        self.register_buffer('{member.name}', {member.source[7:]})"
                if buffer
                else f"        self.{member.name} = {member.source}"
            )
        lines += ["", f"    def forward(self, {', '.join(given.name for given in self.inputs)}):"]
        lines += [f"        {line}" for statement in self.statements for line in statement.lines]
        lines.append(f"        return {self.outputs[0] if len(self.outputs) == 1 else ', '.join(self.outputs)}")
        return "\n".join(lines)

    def module(self):
        names = dict(NAMESPACE)
        torch.manual_seed(self.seed)
        exec(self.source(), names)
        return settled(names["Net"](), self.seed).to(getattr(torch, self.precision)).eval()

    def sample(self, number):
        return sample_of(self.inputs, self.seed, number)

    def kinds(self):
        return [statement.kind for statement in self.statements]

    def pruned(self):
        """Without statements, members and inputs that no output needs. One input stays, since a module without inputs
        has no samples."""
        needed, kept = set(self.outputs), []
        for statement in reversed(self.statements):
            if needed & set(statement.results):
                kept.insert(0, statement)
                needed |= statement.operands
        text = " ".join(line for statement in kept for line in statement.lines)
        members = [member for member in self.members if re.search(rf"\bself\.{member.name}\b", text)]
        inputs = [given for given in self.inputs if given.name in needed] or self.inputs[:1]
        return replace(self, inputs=inputs, members=members, statements=kept)

    def script(self):
        """A Python program of its own: the module, its export to model.pt2, and samples for `carina compile` and
        `carina accuracy`."""
        parts = [
            *map(inspect.getsource, (Input, settled)),
            self.source(),
            f"INPUTS = {self.inputs!r}",
            inspect.getsource(sample_of),
        ]
        return SCRIPT.format(parts="\n\n".join(parts), seed=self.seed, precision=self.precision)


def settled(module, seed):
    """Norms with statistics and factors as after a training, instead of zeros and ones."""
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in [*module.named_buffers(), *module.named_parameters()]:
        if name.endswith(("running_var", "norm_weight")) or ("norm" in name and name.endswith(".weight")):
            tensor.data.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
        if name.endswith("running_mean") or ("norm" in name and name.endswith(".bias")):
            tensor.data.copy_(torch.randn(tensor.shape, generator=generator) * 0.3)
    return module


def sample_of(inputs, seed, number):
    generator = torch.Generator().manual_seed(seed * 1009 + number)
    return tuple(given.draw(generator) for given in inputs)


SCRIPT = """import math
from dataclasses import dataclass

import numpy
import torch
from torch import nn
from torch.nn import functional as F


{parts}

torch.manual_seed({seed})
module = settled(Net(), {seed}).to(torch.{precision}).eval()
torch.export.save(torch.export.export(module, sample_of(INPUTS, {seed}, 0), strict=False), "model.pt2")
for name, numbers in (("calibration.npz", (0, 1, 2)), ("tested.npz", (1, 7))):
    samples = [sample_of(INPUTS, {seed}, number) for number in numbers]
    numpy.savez(name, **{{given.name: torch.stack([sample[i] for sample in samples]).numpy() for i, given in
    enumerate(INPUTS)}})
"""
