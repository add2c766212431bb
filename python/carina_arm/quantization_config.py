"""Quantization configs in torchao's terms, with the names of the Arm backend."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node
from torchao.quantization.pt2e import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
)
from torchao.quantization.pt2e.quantizer import DerivedQuantizationSpec, QuantizationSpec, QuantizationSpecBase

_ACTIVATIONS = (torch.per_tensor_affine, torch.per_tensor_symmetric)
_WEIGHTS = (torch.per_tensor_symmetric, torch.per_channel_symmetric)
_aten = torch.ops.aten
_HAS_BIAS = (
    _aten.conv1d.default,
    _aten.conv1d.padding,
    _aten.conv2d.default,
    _aten.conv2d.padding,
    _aten.conv3d.default,
    _aten.conv3d.padding,
    _aten.conv_transpose2d.input,
    _aten.linear.default,
)


@dataclass(eq=True, frozen=True)
class QuantizationConfig:
    """The specs of a node's operands, results, weights and bias. None: they stay float.

    The config does not say which nodes share parameters or have fixed ones. Carina's own rules decide that (ADR 0039).
    """

    input_activation: QuantizationSpecBase | None
    output_activation: QuantizationSpecBase | None
    weight: QuantizationSpecBase | None
    bias: QuantizationSpecBase | None | Callable[[Any], Any]
    label: str | None = None

    def get_input_act_qspec(
        self, node: Node | None = None, input_node: Node | None = None
    ) -> QuantizationSpecBase | None:
        """The spec of operands.

        Raises:
            ValueError: the spec is not per tensor.
        """
        del node, input_node
        return _checked(self.input_activation, _ACTIVATIONS, " for input_activation.")

    def get_output_act_qspec(self, node: Node | None = None) -> QuantizationSpecBase | None:
        """The spec of results.

        Raises:
            ValueError: the spec is not per tensor.
        """
        del node
        return _checked(self.output_activation, _ACTIVATIONS, " for output_activation.")

    def get_weight_qspec(self, node: Node | None = None) -> QuantizationSpecBase | None:
        """The spec of weights.

        Raises:
            ValueError: the spec is not symmetric.
        """
        del node
        return _checked(self.weight, _WEIGHTS, " for weight")

    def get_bias_qspec(self, node: Node | None = None) -> Any:
        """The spec of a node's bias, if the node has weights: int32 with the scale input * weight.

        Raises:
            ValueError: the config has no spec of operands and weights for the bias.
            NotImplementedError: types other than int8 or int16 operands with int8 weights.
        """
        if self.bias is None or node is None:
            return None
        if node.target not in _HAS_BIAS:
            return self.bias
        return _derived_bias(self.input_activation, self.weight, node)


class TOSAQuantizationConfig(QuantizationConfig):
    """A QuantizationConfig with types that TOSA supports."""


class VGFQuantizationConfig(TOSAQuantizationConfig):
    """A QuantizationConfig with types that VGF supports."""


def _checked(spec: Any, schemes: tuple[torch.qscheme, ...], ending: str) -> Any:
    if spec is not None and getattr(spec, "qscheme", None) not in schemes:
        raise ValueError(f"Unsupported quantization_spec {spec}{ending}")
    return spec


def _product_of_scales(observers: list[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    if len(observers) != 2:
        raise ValueError(f"Expecting two obs/fqs, one for activation and one for weight, got: {len(observers)}")
    (activation, _), (weight, _) = (observer.calculate_qparams() for observer in observers)
    return (activation * weight).to(torch.float32), torch.zeros_like(weight, dtype=torch.int32)


def _derived_bias(activation: Any, weight: Any, node: Node) -> DerivedQuantizationSpec:
    if activation is None or weight is None:
        raise ValueError("Input activation and weight QuantizationConfig must be specified.")
    if not isinstance(activation, QuantizationSpec) or not isinstance(weight, QuantizationSpec):
        raise ValueError("QuantizationConfig input_activation and weight must be instances of QuantizationSpec.")
    if activation.dtype not in (torch.int8, torch.int16) or weight.dtype != torch.int8:
        raise NotImplementedError(f"Bias quantization of types: i:{activation.dtype}, w:{weight.dtype} not implemented")
    return DerivedQuantizationSpec(
        derived_from=((node.args[0], node), (node.args[1], node)),
        derive_qparams_fn=_product_of_scales,
        dtype=torch.int32,
        quant_min=torch.iinfo(torch.int32).min + 1,
        quant_max=torch.iinfo(torch.int32).max,
        qscheme=weight.qscheme,
        ch_axis=0 if weight.qscheme == torch.per_channel_symmetric else None,
    )


def _bias_of_scheme(node: Node) -> None:
    """A placeholder for a bias whose spec is derived from operand and weights."""
    del node


def _activation(
    dtype: torch.dtype, low: int, high: int, scheme: torch.qscheme, is_qat: bool, is_dynamic: bool, eps: float
) -> QuantizationSpec:
    more: dict[str, Any] = {"eps": eps}
    if is_qat and is_dynamic:
        more["observer"] = MovingAverageMinMaxObserver.with_args(averaging_constant=1)
    observers = {
        (False, False): HistogramObserver,
        (False, True): PlaceholderObserver,
        (True, False): FusedMovingAvgObsFakeQuantize,
        (True, True): FakeQuantize,
    }
    return QuantizationSpec(
        dtype=dtype,
        quant_min=low,
        quant_max=high,
        qscheme=scheme,
        is_dynamic=is_dynamic,
        observer_or_fake_quant_ctr=observers[is_qat, is_dynamic].with_args(**more),
    )


def _weights(is_per_channel: bool, is_qat: bool, low: int, high: int, eps: float) -> QuantizationSpec:
    scheme = torch.per_channel_symmetric if is_per_channel else torch.per_tensor_symmetric
    observer: Any = PerChannelMinMaxObserver if is_per_channel else MinMaxObserver
    if is_qat and is_per_channel:
        made = FakeQuantize.with_args(
            observer=observer,
            quant_min=low,
            quant_max=high,
            dtype=torch.qint8,
            qscheme=scheme,
            reduce_range=False,
            ch_axis=0,
            eps=eps,
        )
    else:
        made = (FakeQuantize if is_qat else observer).with_args(eps=eps)
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=low,
        quant_max=high,
        qscheme=scheme,
        ch_axis=0,
        is_dynamic=False,
        observer_or_fake_quant_ctr=made,
    )


def _label(
    function: str, is_per_channel: bool, is_qat: bool, is_dynamic: bool, act: tuple[int, int], weight: tuple[int, int]
) -> str:
    return (
        f"arm_quantizer.{function}(per_channel={int(is_per_channel)}, qat={int(is_qat)}, dynamic={int(is_dynamic)}, "
        f"act_range=[{act[0]}, {act[1]}], weight_range=[{weight[0]}, {weight[1]}])"
    )


@functools.lru_cache
def get_symmetric_quantization_config(
    is_per_channel: bool = True,
    is_qat: bool = False,
    is_dynamic: bool = False,
    act_qmin: int = -128,
    act_qmax: int = 127,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
    eps: float = 2**-16,
) -> QuantizationConfig:
    """Activations in int8 with a zero point, weights in int8 without.

    Args:
        is_per_channel: a scale per output channel of the weights.
        is_qat: for training with fake quantization.
        is_dynamic: ranges of activations are computed at run time. No target of Carina supports that.
        act_qmin, act_qmax, weight_qmin, weight_qmax: the ranges of the integers.
        eps: the smallest scale.
    """
    activation = _activation(torch.int8, act_qmin, act_qmax, torch.per_tensor_affine, is_qat, is_dynamic, eps)
    label = _label(
        "get_symmetric_quantization_config",
        is_per_channel,
        is_qat,
        is_dynamic,
        (act_qmin, act_qmax),
        (weight_qmin, weight_qmax),
    )
    weights = _weights(is_per_channel, is_qat, weight_qmin, weight_qmax, eps)
    return TOSAQuantizationConfig(activation, None if is_dynamic else activation, weights, _bias_of_scheme, label)


def get_symmetric_a8w4_quantization_config(
    is_per_channel: bool = True, is_qat: bool = True, is_dynamic: bool = False
) -> QuantizationConfig:
    """The same as get_symmetric_quantization_config(), with int4 weights from -7 to 7. As in the Arm backend, is_qat is True by default."""
    return get_symmetric_quantization_config(is_per_channel, is_qat, is_dynamic, weight_qmin=-7, weight_qmax=7)


@functools.lru_cache
def get_symmetric_a16w8_quantization_config(
    is_per_channel: bool = True,
    is_qat: bool = False,
    is_dynamic: bool = False,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
    epsilon: float = 2**-12,
) -> QuantizationConfig:
    """Activations in int16 without a zero point, weights in int8.

    The arguments are those of get_symmetric_quantization_config(). Unlike in the Arm backend, weight_qmin and weight_qmax have an effect.
    """
    low, high = -32767, 32767
    activation = _activation(torch.int16, low, high, torch.per_tensor_symmetric, is_qat, is_dynamic, epsilon)
    label = _label(
        "get_symmetric_a16w8_quantization_config",
        is_per_channel,
        is_qat,
        is_dynamic,
        (low, high),
        (weight_qmin, weight_qmax),
    )
    weights = _weights(is_per_channel, is_qat, weight_qmin, weight_qmax, 2**-16)
    return TOSAQuantizationConfig(activation, None if is_dynamic else activation, weights, _bias_of_scheme, label)


@functools.lru_cache
def get_uint8_io_quantization_config(
    is_qat: bool = False, is_dynamic: bool = False, eps: float = 2**-16
) -> QuantizationConfig:
    """Inputs and outputs of a model in uint8, for set_io()."""
    activation = _activation(torch.uint8, 0, 255, torch.per_tensor_affine, is_qat, is_dynamic, eps)
    return TOSAQuantizationConfig(activation, activation, None, None)


@functools.lru_cache
def get_vgf_snorm_quantization_config(
    is_per_channel: bool = True,
    is_qat: bool = False,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
    eps: float = 2**-16,
) -> VGFQuantizationConfig:
    """The same as get_symmetric_quantization_config(), with activations from -127 to 127, as GPUs sample signed normalized integers."""
    like = get_symmetric_quantization_config(
        is_per_channel, is_qat, act_qmin=-127, act_qmax=127, weight_qmin=weight_qmin, weight_qmax=weight_qmax, eps=eps
    )
    return VGFQuantizationConfig(like.input_activation, like.output_activation, like.weight, like.bias, like.label)
