"""Programs of test_arm_random.py: random networks through ExecuTorch's own flow with carina.arm's partitioner, on every specification.

`arm_random.py FIRST COUNT [mixed]` prints "passed SEED" for each network that passes. A network passes if it is quantized, partitioned and
made into a program without an exception. Each operator must be in a delegate or in ExecuTorch's graph. The results of the TOSA reference
model, or of the simulated NPU, must be those of eager PyTorch. `mixed`: the networks of mixed_type_models.py, with floats, integers and bools.
"""

import random
import sys
import traceback
from pathlib import Path

import carina
import carina.arm

carina.arm.install()

import numpy as np
import torch

sys.path.extend(str(Path(__file__).resolve().parents[1] / folder) for folder in ("pytorch", "support"))
import mixed_type_models
from arm_partition import U55, delegates, lowered, quantized, run
from carina.arm import get_symmetric_a16w8_quantization_config
from tier_plugin import export_quickly
from torch.nn import functional

TARGETS = (
    "TOSA-1.0+FP",
    "TOSA-1.0+INT",
    "TOSA-1.0+INT+int16",
    "TOSA-1.0+INT+FP",
    U55,
    "ethos-u85-256",
    "ethos-u65-256",
)


class Network(torch.nn.Module):
    """The steps of a list: (function, indices of its operands)."""

    def __init__(self, steps, modules, outputs):
        super().__init__()
        self.steps, self.inner, self.outputs = steps, torch.nn.ModuleList(modules), outputs

    def forward(self, *values):
        values = list(values)
        for function, indices in self.steps:
            function = self.inner[function] if isinstance(function, int) else function
            values.append(function(*(values[index] for index in indices)))
        return tuple(values[index] for index in self.outputs)


def _conv(draw, shape):
    kernel = draw.choice([1, 3])
    return torch.nn.Conv2d(
        shape[1],
        draw.randint(1, 6),
        kernel,
        stride=draw.choice([1, 1, 2]),
        padding=draw.choice([0, kernel // 2]),
        bias=draw.random() < 0.7,
    )


def _linear(draw, shape):
    return torch.nn.Linear(shape[-1], draw.randint(1, 8))


def _pool(draw, shape):
    del shape
    kind = draw.choice(["avg", "max", "adaptive", "divisor"])
    if kind == "max":
        return lambda x: functional.max_pool2d(x, 2, stride=1)
    if kind == "adaptive":
        return lambda x: functional.adaptive_avg_pool2d(x, 1)
    divisor = draw.randint(1, 6) if kind == "divisor" else None
    return lambda x: functional.avg_pool2d(x, 2, stride=1, divisor_override=divisor)


UNARY = (
    torch.relu,
    torch.sigmoid,
    torch.tanh,
    functional.hardswish,
    functional.gelu,
    functional.silu,
    functional.elu,
    torch.abs,
    torch.neg,
    functional.leaky_relu,
    functional.hardtanh,
    functional.relu6,
    torch.exp,
    lambda x: x * 0.5,
    lambda x: x + 1.5,
    lambda x: 2 - x,
    lambda x: torch.clamp(x, -1, 0.5),
    lambda x: x.clone(),
    lambda x: torch.softmax(x, -1),
    torch.ceil,
    lambda x: x / 3,
    lambda x: torch.pow(x, 2),
    torch.nn.Dropout(),
    lambda x: torch.sqrt(torch.abs(x)),
    lambda x: functional.prelu(x, torch.tensor([0.25])),
    torch.sin,
    lambda x: torch.where(x > 0, x, x * 0.25),
    lambda x: torch.full_like(x, 0.5) + x,
    lambda x: torch.round(x * 4),
    torch.floor,
    lambda x: torch.rsqrt(torch.abs(x) + 1),
    lambda x: torch.log(torch.abs(x) + 1),
)
BINARY = (
    torch.add,
    torch.sub,
    torch.mul,
    torch.maximum,
    torch.minimum,
    lambda x, y: x / (torch.abs(y) + 1),
    lambda x, y: torch.add(x, y, alpha=0.5),
    lambda x, y: torch.where(x < y, x, y),
    lambda x, y: torch.cat((x, y), -1),
    lambda x, y: torch.stack((x, y), 0).sum(0),
    lambda x, y: (x >= y) * x,
    lambda x, y: torch.where(torch.eq(x, y), y, x + y),
)
MOVING = (
    lambda x: x.transpose(-1, -2),
    lambda x: torch.flip(x, (0, -1)),
    lambda x: x.reshape(-1),
    lambda x: x.unsqueeze(0),
    lambda x: x.select(0, 0),
    lambda x: x[..., ::2],
    lambda x: x.permute(*reversed(range(x.dim()))),
    lambda x: x.flatten(),
    lambda x: x.repeat(*[2] * x.dim()),
    lambda x: torch.narrow(x, -1, 0, 1),
    lambda x: functional.pad(x, (1, 1)),
    lambda x: x.contiguous(),
    lambda x: x.expand(2, *x.shape),
    lambda x: torch.roll(x, 1, -1),
    lambda x: torch.split(x, 1, 0)[0],
    lambda x: torch.index_select(x, -1, torch.tensor([0])),
)
REDUCING = (
    lambda x: x.mean(-1, keepdim=True),
    lambda x: x.sum(0),
    lambda x: torch.amax(x, -1),
    lambda x: x.mean(),
    lambda x: torch.var(x, -1, keepdim=True, unbiased=False),
    lambda x: torch.amin(x, 0, keepdim=True),
    lambda x: torch.cumsum(x, -1),
)
SPATIAL = (
    lambda x: functional.interpolate(x, scale_factor=2),
    lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"),
    lambda x: functional.pad(x, (1, 0, 0, 1)),
    lambda x: x.to(memory_format=torch.channels_last),
    lambda x: x.mean((2, 3), keepdim=True),
)


def network_of(seed):
    """A network of two to six steps, and inputs."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    shape = [draw.randint(1, 2), draw.randint(1, 4), *(draw.randint(4, 8) for _ in range(2))]
    shape = shape[-draw.choice([1, 2, 3, 4, 4, 4]) :]
    inputs = [torch.randn(shape) for _ in range(draw.randint(1, 2))]
    if len(shape) == 4 and draw.random() < 0.2:
        inputs = [value.to(memory_format=torch.channels_last) for value in inputs]
    values, steps, modules = list(inputs), [], []
    while len(steps) < draw.randint(2, 6):
        index = draw.randrange(max(0, len(values) - 2), len(values))
        step = _step(draw, values, index)
        if step is None:
            continue
        function, indices = step
        try:
            made = function(*(values[i] for i in indices))
        except (RuntimeError, IndexError, TypeError, ValueError):
            continue  # PyTorch does not support these shapes
        if (
            not made.is_floating_point()
            or not 0 < made.numel() <= 4096
            or made.dim() > 5
            or not made.isfinite().all()
            or made.abs().max() > 1e4
        ):
            continue
        if isinstance(function, torch.nn.Module):
            modules.append(function)
            function = len(modules) - 1
        steps.append((function, indices))
        values.append(made)
    outputs = [
        len(values) - 1,
        *draw.sample(range(len(inputs), len(values) - 1), k=min(len(steps) - 1, draw.choice([0, 0, 0, 1]))),
    ]
    return Network(steps, modules, outputs).eval(), tuple(inputs)


def _step(draw, values, index):
    x = values[index]
    kind = draw.choice(["unary"] * 4 + ["binary"] * 3 + ["moving"] * 2 + ["reducing", "weights", "weights", "spatial"])
    if kind == "binary":
        return draw.choice(BINARY), (index, draw.randrange(len(values)))
    if kind == "weights":
        return (_conv(draw, x.shape) if x.dim() == 4 else _linear(draw, x.shape)) if x.dim() else None, (index,)
    if kind == "spatial":
        return draw.choice([*SPATIAL, _pool(draw, x.shape)]), (index,)
    return draw.choice({"unary": UNARY, "moving": MOVING, "reducing": REDUCING}[kind]), (index,)


def mixed_network_of(seed):
    """A network with floats, integers and bools, and inputs."""
    torch.manual_seed(seed)
    model, samples = mixed_type_models.draw(seed, samples=1)
    return model, tuple(samples[0])


def coarsest_step(model):
    """The largest scale of a quantized network's tensors."""
    quantize = torch.ops.quantized_decomposed.quantize_per_tensor.default
    return max((node.args[1] for node in model.graph.nodes if node.target is quantize), default=0.0)


def check_values(result, eager, target, rounding=0.0):
    """Checks that results are those of eager PyTorch, within some steps of the integers of a quantized network.

    Rounding errors of one step per operator add up over six operators. Float results differ through tables and the order of sums.
    `rounding`: a difference that is always allowed.
    """
    steps = np.diff(np.unique(eager))
    span = float(np.ptp(eager)) if eager.size else 0.0
    bound = (
        1e-4 * max(1.0, span)
        if target == "TOSA-1.0+FP"
        else max(6 * float(steps.min()) if len(steps) else 0.05, 0.05 * span)
    )
    np.testing.assert_allclose(result, eager, rtol=1e-3, atol=max(bound, rounding))


def check_mixed_values(result, eager, target, rounding=0.0):
    """As check_values(), but one element in ten, or one, may be anything: after a comparison, a rounding to integers or a maximum's index
    that the rounding errors before it decide. At least one network in two has such an operator."""
    assert result.dtype == eager.dtype, (result.dtype, eager.dtype)
    result, eager = (np.atleast_1d(array.astype(np.float64)) for array in (result, eager))
    try:
        check_values(result, eager, target, rounding)
    except AssertionError:
        span = float(np.ptp(eager))
        bound = 1e-3 * max(1.0, span) if target == "TOSA-1.0+FP" else max(0.05 * span, 0.1)
        wrong = np.abs(result - eager) > bound + 1e-3 * np.abs(eager)
        if wrong.sum() > max(1, wrong.size // 10):
            raise


def check(seed, mixed=False):
    target = TARGETS[seed % len(TARGETS)]
    model, inputs = (mixed_network_of if mixed else network_of)(seed)
    exact, coarsest = [value.detach().numpy() for value in model(*inputs)], 0.0
    if target != "TOSA-1.0+FP":
        model = quantized(
            model, inputs, target, get_symmetric_a16w8_quantization_config() if "int16" in target else None
        )
        coarsest = coarsest_step(model)
    expected = [value.detach().numpy() for value in model(*inputs)]
    edge = lowered(model, inputs, target)
    if target.startswith("TOSA"):
        if delegates(edge):
            results = [np.asarray(value) for value in run(edge, inputs)]
        else:
            results = [value.detach().numpy() for value in edge.exported_program().module()(*inputs)]
    else:
        results = list(carina.Program(bytes(edge.to_executorch().buffer)).run(*(value.numpy() for value in inputs)))
    for result, eager, floats in zip(results, expected, exact, strict=True):
        assert result.shape == eager.shape, (result.shape, eager.shape)
        # Zeros, as those of x - x, become the rounding errors of the quantized values before them: max(x, y) - y, at a
        # tie of y's rounding.
        rounding = 0.0 if floats.any() else coarsest
        (check_mixed_values if mixed else check_values)(result, eager, target, rounding)
    return delegates(edge)


def main():
    export_quickly()
    first, count = int(sys.argv[1]), int(sys.argv[2])
    failed = 0
    for seed in range(first, first + count):
        try:
            with torch.no_grad():
                check(seed, "mixed" in sys.argv)
        except Exception as error:
            failed += 1
            print(
                seed,
                TARGETS[seed % len(TARGETS)],
                type(error).__name__,
                str(error)[:600].replace("\n", " "),
                file=sys.stderr,
                flush=True,
            )
            if "-v" in sys.argv:
                traceback.print_exc(limit=-6)
        else:
            print("passed", seed, flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
