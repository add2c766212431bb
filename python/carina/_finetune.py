"""Training for integers: the weights learn to work with the rounding of the NPU."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn
from torch.nn.utils import parametrize

from carina._native import Diagnostic
from carina._program import Program
from carina._program import compile as compile_program
from carina.errors import InputError, usage_error

if TYPE_CHECKING:
    from carina._models import Calibration
    from carina._option_table import Target

_LARGEST = {"int8": 127, "int8x4": 7, "int16x8": 127}  # weight of each scheme, in steps
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_GROUP, _KEPT = 4, 2  # 2:4 sparse weights: of each four input channels, at most two are not zero


@dataclass(frozen=True)
class Finetuned:
    """A model that was trained for integers.

    Attributes:
        model: the module, in evaluation mode. Its weights are multiples of the steps that `scheme` finds.
        scheme: the scheme to compile it with: `carina.compile(model, inputs, quantize=scheme, calibration=...)`.
        losses: the mean loss of each epoch.
        npu_losses: the loss of each step whose outputs were the NPU's.
    """

    model: nn.Module
    scheme: str
    losses: list[float] = field(default_factory=list)
    npu_losses: list[float] = field(default_factory=list)


def finetune(
    model: nn.Module,
    loader: Iterable[Any],
    loss: Callable[..., torch.Tensor] | None = None,
    *,
    scheme: Literal["int8", "int8x4", "int16x8"] = "int8",
    epochs: int = 5,
    lr: float = 1e-3,
    optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | None = None,
    prune: Literal["2:4"] | None = None,
    npu_steps: int = 0,
    target: Target = "ethos-u85-256",
    calibration: Calibration | None = None,
) -> Finetuned:
    """Trains a float model further, with the weights of `scheme`, and optionally with the outputs of the NPU.

    In the forward pass, weights are rounded to the scheme's steps; gradients pass the rounding unchanged (straight-through). The learning
    rate falls from `lr` to 0 as a cosine. In the second half of the steps, batch norms keep their statistics.

    Args:
        model: a trained float model. It is not changed.
        loader: batches `(inputs..., labels...)`, tuples or lists of tensors. It is iterated once an epoch.
        loss: `loss(output, labels...)`; `output` is what forward() returns. None: the outputs of the float model are the truth, and labels are
            not needed. The loss is then the squared error in relation to the variance of the float model's output, the sum over the outputs.
        scheme: the scheme that the model is trained for. "int8x4" has 4-bit weights.
        epochs: how often the loader is iterated.
        lr: the highest learning rate.
        optimizer: makes the optimizer of the parameters; the default is AdamW without weight decay.
        prune: "2:4" keeps the two largest of each four input channels' weights, and trains these. Ethos-U85 multiplies such layers in half
            the time.
        npu_steps: in so many steps at the end, the loss is that of the NPU's outputs: the model is compiled for `target` and runs on the
            simulated NPU at each of them, while the gradients are those of the float model. That takes a tenth of a second and more a step.
        target: the NPU of these steps.
        calibration: the samples of these steps' compilations; the default is the first batch.

    Raises:
        UsageError: an unknown scheme or kind of pruning.
        InputError: a loader without batches, batches that are not tensors, a model without layers whose weights are rounded, or, without a
            loss, without outputs in floats.
    """
    _check("scheme", scheme, tuple(_LARGEST))
    _check("prune", prune, (None, "2:4"))
    batch = _tensors(next(iter(loader), None))
    trained = copy.deepcopy(model)
    layers = _with_rounding(trained, _LARGEST[scheme], prune is not None)
    if not layers:
        raise _input_error(
            "model", "it has no layer with weights to round", "convolutions or linear layers", type(model).__name__
        )
    npu = _Npu(
        trained, copy.deepcopy(model), _count_of_inputs(model, batch), f"{scheme}+unequalized", target, calibration
    )
    trainer = _Trainer(trained, npu, loss, copy.deepcopy(model).eval(), optimizer, lr)
    losses, npu_losses = trainer.run(loader, epochs, npu_steps)
    for layer in layers:
        parametrize.remove_parametrizations(layer, "weight")
    return Finetuned(trained.eval(), npu.scheme, losses, npu_losses)


def _check(name: str, given: object, known: Sequence[object]) -> None:
    if given not in known:
        raise usage_error(name, f"unknown {name}", expected=", ".join(map(str, known)), got=str(given))


def _input_error(where: str, what: str, expected: str, got: str) -> InputError:
    return InputError([Diagnostic(where, what, expected=expected, got=got, fault="input")])


def _tensors(batch: Any) -> tuple[torch.Tensor, ...]:
    """The tensors of a batch."""
    if batch is None:
        raise _input_error("loader", "it has no batches", "batches (inputs..., labels...)", "nothing")
    if not isinstance(batch, (tuple, list)) or not all(isinstance(each, torch.Tensor) for each in batch):
        raise _input_error(
            "loader", "a batch is not a tuple of tensors", "(inputs..., labels...)", type(batch).__name__
        )
    return tuple(batch)


def _count_of_inputs(model: nn.Module, batch: tuple[torch.Tensor, ...]) -> int:
    """How many tensors of a batch forward() takes: its parameters without defaults. The others are labels."""
    parameters = inspect.signature(model.forward).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(each.kind in positional and each.default is each.empty for each in parameters)
    count = count or 1  # forward(*inputs)
    if count > len(batch):
        raise _input_error(
            "loader", "a batch does not fit forward()", f"{count} inputs, and labels", f"{len(batch)} tensors"
        )
    return count


class _Rounded(nn.Module):
    """Rounds weights to multiples of one step per output channel: largest weight / `largest`. Masked weights are 0."""

    def __init__(self, largest: int, axis: int, mask: torch.Tensor | None) -> None:
        super().__init__()
        self.largest, self.axis = largest, axis
        self.mask: torch.Tensor | None
        self.register_buffer("mask", mask)

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        kept = weight if self.mask is None else weight * self.mask
        others = [axis for axis in range(weight.dim()) if axis != self.axis]
        step = kept.detach().abs().amax(others, keepdim=True).clamp(min=1e-12) / self.largest
        rounded = (kept.detach() / step).round().clamp(-self.largest, self.largest) * step
        return kept + (rounded - kept).detach()


def _with_rounding(model: nn.Module, largest: int, is_pruned: bool) -> list[nn.Module]:
    """Rounds the weights of all convolutions and linear layers from now on. Returns these layers."""
    layers: list[nn.Module] = [
        layer
        for layer in model.modules()
        if isinstance(layer, (nn.Linear, *_CONVOLUTIONS)) or (isinstance(layer, _TRANSPOSED) and layer.groups == 1)
    ]
    for layer in layers:
        axis = 1 if isinstance(layer, _TRANSPOSED) else 0
        mask = _mask_of(layer) if is_pruned else None
        parametrize.register_parametrization(layer, "weight", _Rounded(largest, axis, mask))
    return layers


def _mask_of(layer: nn.Module) -> torch.Tensor | None:
    """1 where a weight stays: the two largest of each four input channels. None: the layer is not pruned.

    Example: of the weights (0.1, -0.9, 0.5, 0.2) of four input channels, the second and the third stay.
    """
    weight: torch.Tensor = layer.get_parameter("weight").detach()
    dense = isinstance(layer, nn.Linear) or (isinstance(layer, (nn.Conv1d, nn.Conv2d)) and layer.groups == 1)
    if not dense or weight.shape[1] < _GROUP:
        return None
    mask = torch.zeros_like(weight)
    for part, kept in zip(torch.split(weight, _GROUP, 1), torch.split(mask, _GROUP, 1), strict=True):
        kept.scatter_(1, part.abs().topk(min(_KEPT, part.shape[1]), 1).indices, 1.0)
    return mask


class _FromNpu(torch.autograd.Function):
    """The NPU's output, with the gradient of the float output."""

    @staticmethod
    def forward(ctx: Any, floats: torch.Tensor, npu: torch.Tensor) -> torch.Tensor:
        del ctx, floats
        return npu

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        del ctx
        return gradients[0], None


class _Npu:
    """The model with its present weights on the simulated NPU. `plain`: a copy whose weights are not parametrized."""

    def __init__(
        self,
        model: nn.Module,
        plain: nn.Module,
        count: int,
        scheme: str,
        target: Target,
        calibration: Calibration | None,
    ) -> None:
        self.model, self.count, self.scheme, self.target, self.calibration = model, count, scheme, target, calibration
        self.plain = plain.eval()

    def outputs(self, inputs: tuple[torch.Tensor, ...], floats: Any) -> Any:
        """What forward() returns, with the values of the NPU. `floats`: its result in floats."""
        if self.calibration is None:
            self.calibration = [tuple(tensor[k : k + 1] for tensor in inputs) for k in range(len(inputs[0]))]
        results = iter(self._program(tuple(tensor[:1] for tensor in inputs)).run(*inputs))

        def exact(output: torch.Tensor) -> torch.Tensor:
            values = torch.from_numpy(next(results).copy()).to(output.dtype).reshape(output.shape)
            from_npu: torch.Tensor = _FromNpu.apply(output, values)  # type: ignore[no-untyped-call]
            return from_npu

        return torch.utils._pytree.tree_map(exact, floats)

    def _program(self, example: tuple[torch.Tensor, ...]) -> Program:
        self.plain.load_state_dict({name: attrgetter(name)(self.model) for name in self.plain.state_dict()})
        return compile_program(
            self.plain,
            example,
            target=self.target,
            quantize=self.scheme,
            calibration=self.calibration,
            check="off",
            note=_ignored,
        )


def _ignored(note: Diagnostic) -> None:
    """Notes of each step's compilation are not shown: the user sees them when compiling the result."""
    del note


class _Trainer:
    def __init__(
        self,
        model: nn.Module,
        npu: _Npu,
        loss: Callable[..., torch.Tensor] | None,
        teacher: nn.Module,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | None,
        lr: float,
    ) -> None:
        self.model, self.npu, self.loss, self.teacher, self.lr = model, npu, loss, teacher, lr
        make = optimizer or (lambda parameters: torch.optim.AdamW(parameters, lr=lr, weight_decay=0))
        self.optimizer = make([each for each in model.parameters() if each.requires_grad])

    def run(self, loader: Iterable[Any], epochs: int, npu_steps: int) -> tuple[list[float], list[float]]:
        """Returns the mean loss of each epoch, and the loss of each step with the NPU."""
        per_epoch = len(loader) if isinstance(loader, Sized) else sum(1 for _ in loader)
        steps, number = epochs * per_epoch, 0
        losses: list[float] = []
        npu_losses: list[float] = []
        for _ in range(epochs):
            seen: list[float] = []
            for batch in loader:
                on_npu = number >= steps - npu_steps
                self.model.train(2 * number < steps and not on_npu)
                for group in self.optimizer.param_groups:
                    group["lr"] = self.lr / 2 * (1 + math.cos(math.pi * number / steps))
                (npu_losses if on_npu else seen).append(self._step(_tensors(batch), on_npu))
                number += 1
            losses += [sum(seen) / len(seen)] if seen else []
        return losses, npu_losses

    def _step(self, batch: tuple[torch.Tensor, ...], on_npu: bool) -> float:
        inputs, labels = batch[: self.npu.count], batch[self.npu.count :]
        with parametrize.cached():
            output = self.model(*inputs)
        if on_npu:
            output = self.npu.outputs(inputs, output)
        value = self.loss(output, *labels) if self.loss else self._error(output, inputs)
        self.optimizer.zero_grad()
        torch.autograd.backward(value)
        self.optimizer.step()
        return float(value.detach())

    def _error(self, output: Any, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """The squared error of each output in relation to the variance of the float model's; the sum over the outputs."""
        with torch.no_grad():
            wanted = torch.utils._pytree.tree_leaves(self.teacher(*inputs))
        outputs = torch.utils._pytree.tree_leaves(output)
        errors = [
            nn.functional.mse_loss(got, one) / one.var(correction=0).clamp(min=1e-12)
            for got, one in zip(outputs, wanted, strict=True)
            if one.is_floating_point()
        ]
        if not errors:
            raise _input_error("model", "it has no output in floats", "an output in floats, or a loss", "integers")
        return torch.stack(errors).sum()
