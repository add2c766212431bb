"""The built-in models of aot_arm_compiler.py: small networks for trying out the workflow."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

__all__ = ["BUILT_IN", "BuiltIn"]


class _Doubled(torch.nn.Module):
    """[...] -> [...]"""

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return a + a


class _Sums(torch.nn.Module):
    """Two tensors of one shape -> 2a, 2b, 2a + 2b"""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        p = a + a
        q = b + b
        return p, q, p + q


class _Arithmetic(torch.nn.Module):
    """Tensors that broadcast -> w - x, + y, * z"""

    def forward(
        self, w: torch.Tensor, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        o1 = w - x
        o2 = o1 + y
        return o1, o2, o2 * z


class _Linear(torch.nn.Module):
    """[N,61] -> [N,37]"""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(61, 37)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.linear(x)
        return result


@dataclass(frozen=True)
class BuiltIn:
    """Functions that make a model and its example inputs. Random numbers come from PyTorch's generator."""

    module: Callable[[], torch.nn.Module]
    inputs: Callable[[], tuple[torch.Tensor, ...]]


BUILT_IN: dict[str, BuiltIn] = {
    "qadd": BuiltIn(_Doubled, lambda: (torch.rand(13, 3),)),
    "qadd2": BuiltIn(_Sums, lambda: (torch.randn(13, 7, 3), torch.randn(13, 7, 3))),
    "qops": BuiltIn(
        _Arithmetic,
        # Small negative values beside large ones, which one common scale cannot represent.
        lambda: (
            torch.randn(3, 1, 2),
            torch.randn(3, 5, 2),
            torch.randn(3, 5, 1) * -0.000001,
            torch.randn(3, 5, 2) * 1000,
        ),
    ),
    "qlinear": BuiltIn(_Linear, lambda: (torch.randn(8, 61),)),
}
