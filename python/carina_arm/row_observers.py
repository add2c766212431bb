"""Observers that do not let masks take the range from the scores.

    scores = q @ k^T * scale              from -3 to 3
    masked = scores + mask                -inf, -3.4e38, -1e9 or -1e4 where a key is hidden
    weights = softmax(masked)

A softmax gives an element that is 16 below the largest of its row a weight of at most exp(-16) = 1e-7, which int8 and int16 round to 0. So
the observer of `masked` counts an element as at least (maximum of its row) - 16. Here the integers cover -19 to 3, and lower elements
saturate, whatever the mask is made of. A row whose elements are all alike has equal weights, whatever they are, so it is not observed. Such
rows are hidden rows, and the number of a masked_fill or where, which shares the observer.

A summand of such a value, as the mask itself, counts as at least (maximum of its row) - 256, the number of the Arm backend (quantize_inf). It
stays 16 below the visible keys for scores that differ by up to 240.

Infinities in other values, and the limits of fp32 that represent them, count as elements 16 outside of the range of the others, and saturate
too. `carina compile` does the same (src/quantize/range_observer_internal.h).

carina_arm.masks finds the values.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import torch
from torchao.quantization.pt2e import (
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import QuantizationSpec

HIDDEN = (
    16.0  # an element that is lower than the maximum of its row by this has no weight in a softmax of int8 or int16
)
LIMIT = 1e38  # numbers of a larger magnitude are infinities, or limits of fp32 that represent them


@dataclass(frozen=True)
class Rows:
    """How an observer sees the elements of a tensor. By default only infinities are replaced."""

    axis: int | None = None  # of the rows, negative
    size: int = 0  # elements of a row; tensors with other rows are seen as they are
    depth: float = HIDDEN  # an element counts as at least the maximum of its row minus this
    skips_alike: bool = False  # rows whose elements are all alike are not observed
    leaves_lowest: bool = False  # the lowest integer represents only lower elements


def seen(x: torch.Tensor, rows: Rows) -> torch.Tensor:
    """The elements that an observer sees, in one dimension. Empty: there is nothing to observe."""
    x = x.detach()
    if rows.axis is None:
        return _without_infinities(x.reshape(-1))
    has_axis = x.dim() >= -rows.axis
    if rows.skips_alike and (x.numel() == 1 or (has_axis and x.shape[rows.axis] == 1)):
        return x.new_empty(0)
    if has_axis and x.shape[rows.axis] == rows.size:
        x = _without_depths(x.movedim(rows.axis, -1), rows)
    elements = _without_infinities(x.reshape(-1))
    if rows.leaves_lowest and elements.numel():
        elements = torch.cat([elements, (elements.min() - HIDDEN).reshape(1)])
    return elements


def _without_depths(x: torch.Tensor, rows: Rows) -> torch.Tensor:
    highest = x.amax(-1, keepdim=True)
    observed = highest > -LIMIT
    if rows.skips_alike:
        observed &= highest > x.amin(-1, keepdim=True)
    return torch.maximum(x, highest - rows.depth)[observed.expand_as(x)]


def _without_infinities(x: torch.Tensor) -> torch.Tensor:
    finite = x[x.abs() < LIMIT]
    if finite.numel() in (0, x.numel()):
        return finite
    low, high = finite.min(), finite.max()
    parts = [finite]
    if bool((x <= -LIMIT).any()):
        parts.append(torch.minimum(low, high - HIDDEN).reshape(1))
    if bool((x >= LIMIT).any()):
        parts.append(torch.maximum(high, low + HIDDEN).reshape(1))
    return torch.cat(parts)


class _SeesRows:
    """An observer of the elements that seen() returns."""

    def __init__(self, *args: Any, rows: Rows, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows = rows

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        elements = seen(x, self.rows)
        if elements.numel():
            super().forward(elements)  # type: ignore[misc]
        return x


class RowHistogramObserver(_SeesRows, HistogramObserver):  # type: ignore[misc]
    """A HistogramObserver of these elements."""


class RowMinMaxObserver(_SeesRows, MinMaxObserver):  # type: ignore[misc]
    """A MinMaxObserver of these elements."""


class RowMovingAverageMinMaxObserver(_SeesRows, MovingAverageMinMaxObserver):  # type: ignore[misc]
    """A MovingAverageMinMaxObserver of these elements."""


class RowFakeQuantize(FusedMovingAvgObsFakeQuantize):  # type: ignore[misc]
    """Fake quantization of all elements with the range of these."""

    def __init__(self, *args: Any, rows: Rows, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows = rows

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        elements = seen(x, self.rows)
        if elements.numel():
            super().forward(elements)
        observes = self.observer_enabled.clone()
        self.observer_enabled.zero_()
        try:
            quantized: torch.Tensor = super().forward(x)
        finally:
            self.observer_enabled.copy_(observes)
        return quantized


_SEEING = {
    HistogramObserver: RowHistogramObserver,
    MinMaxObserver: RowMinMaxObserver,
    MovingAverageMinMaxObserver: RowMovingAverageMinMaxObserver,
    FusedMovingAvgObsFakeQuantize: RowFakeQuantize,
}


@functools.cache  # edges share parameters if they have the same spec
def seeing(spec: Any, rows: Rows) -> Any:
    """The spec with an observer of the elements that seen() returns. A spec with an observer of another class is not changed."""
    if not isinstance(spec, QuantizationSpec):
        return spec
    made, given = parts_of(spec.observer_or_fake_quant_ctr)
    if made not in _SEEING:
        return spec
    return replace(spec, observer_or_fake_quant_ctr=_SEEING[made].with_args(**given, rows=rows))  # type: ignore[attr-defined]


def parts_of(constructor: Any) -> tuple[Any, dict[str, Any]]:
    """The class that FakeQuantize.with_args(...) makes, and the arguments."""
    partial = getattr(constructor, "p", None)
    if partial is None:
        return constructor, {}
    made, given = parts_of(partial.func)
    return made, {**given, **partial.keywords}
