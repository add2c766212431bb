"""How far rounding may move a network's results: eager PyTorch with a rounding error added to each statement's result.

    v0 = self.conv_1(x0)            v0 *= 1 + 1e-6 * randn
    v1 = v0.argmax(1)               an integer: differs only if the error of v0 changes the choice
    v2 = v0 - x0                    small differences of large values differ by much

Carina's float program computes in another order than PyTorch. A network that amplifies rounding errors, or chooses by
them, may give other results, and these runs show which elements and by how much. An element that no run moves must
agree to 1e-5 of its tensor's largest value, or to 1e-6 where that is small: log(1) may be 6e-8. One
tolerance for all networks would not find wrong elements, because the largest error that rounding explains is 100 %.

A difference is looked at again before it counts, because three runs underestimate what some networks amplify: sixteen
runs with four times the error, and a tolerance for sums in another order. Of n equal terms, added one after the other,
the sum has a relative error of up to n half units in the last place: 7e-5 of 2,304 terms.
"""

import torch

from random_modules.drawing import outputs_of
from random_modules.network import NAMESPACE

EPSILON = {
    "float32": 1e-6,
    "float64": 1e-6,
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
}  # float64 is computed as float32 in part
RUNS = 3
AGAIN_RUNS, AGAIN_ERROR = 16, 4
ORDER_ERROR = 6e-8 / 2  # of a sum, for each of its terms; float32
CHOICES = ("order", "arg", "extreme", "other_reduction")  # kinds whose results depend on the order of equal elements


def differences(network, sample, got, wanted):
    """What differs in each output beyond rounding, as texts; empty where nothing does."""
    found = _differences(network, wanted, got, moved(network, sample, wanted), 0.0)
    if any(found):
        changes = moved(network, sample, wanted, AGAIN_RUNS, AGAIN_ERROR)
        found = _differences(network, wanted, got, changes, ORDER_ERROR * most_terms(network, sample))
    return found


def _differences(network, wanted, got, changes, order_error):
    return [
        difference(result, value, change, network.precision, order_error)
        for result, value, change in zip(got, wanted, changes, strict=True)
    ]


def moved(network, sample, wanted, runs=RUNS, error=1.0):
    """For each output the largest change of each element in runs with rounding errors, multiplied by `error`; infinite
    where a shape changes."""
    module = network.module()
    changes = [torch.zeros(value.shape, dtype=torch.float64) for value in wanted]
    for run in range(runs):
        names = _run(network, module, sample, run, error)
        for change, value, name in zip(changes, wanted, network.outputs, strict=True):
            change.copy_(torch.maximum(change, (names[name].double() - value.double()).abs().nan_to_num(torch.inf)))
    return changes


def most_terms(network, sample):
    """The number of elements of the largest tensor in a network: no sum has more terms."""
    values = _run(network, network.module(), sample, 0, 0.0).values()
    return max((value.numel() for value in values if isinstance(value, torch.Tensor)), default=0)


def _run(network, module, sample, seed, error):
    """The values of all names after a run."""
    generator = torch.Generator().manual_seed(seed)
    epsilon = error * EPSILON[network.precision]

    def noisy(value):
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        return (value.double() * (1 + epsilon * torch.randn(value.shape, generator=generator, dtype=torch.float64))).to(
            value.dtype
        )

    def untied(value):
        """Equal elements, such as zeros, differ: which of them comes first is not defined."""
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        return value + 1e-12 * torch.randn(value.shape, generator=generator).to(value.dtype)

    names = {
        **NAMESPACE,
        "self": module,
        **{given.name: noisy(value) for given, value in zip(network.inputs, sample, strict=True)},
    }
    with torch.no_grad():
        for statement in network.statements:
            if statement.kind in CHOICES:
                names.update({name: untied(names[name]) for name in statement.operands})
            for line in statement.lines:
                exec(line, names)
            names.update({name: noisy(names[name]) for name in statement.results})
    return names


def difference(got, value, change, precision, order_error=0.0):
    """How a result differs from eager PyTorch's; empty: it does not, beyond rounding. `order_error`: the relative error
    that the order of a sum's terms may make."""
    if tuple(got.shape) != tuple(value.shape):
        return f"shape {tuple(got.shape)}, PyTorch's is {tuple(value.shape)}"
    if not value.numel():
        return ""
    got, value = torch.as_tensor(got).double(), value.double()
    scale = float(value.abs().nan_to_num(0, 0, 0).max())
    allowed = 8 * change + (10 * EPSILON[precision] + order_error) * max(scale, 0.1)
    wrong = ((got - value).abs().nan_to_num(torch.inf) > allowed) & ~(got.isnan() & value.isnan()) & ~(got == value)
    if not bool(wrong.any()):
        return ""
    place = tuple(int(i) for i in wrong.nonzero()[0])
    return f"{int(wrong.sum())} of {value.numel()} elements differ: at {place} {float(got[place]):.7g}, PyTorch's is {float(value[place]):.7g}, rounding moves it by {float(change[place]):.2g}"


def eager(network, sample):
    module = network.module()
    with torch.no_grad():
        return [value.detach() for value in outputs_of(module(*(value.clone() for value in sample)))]
