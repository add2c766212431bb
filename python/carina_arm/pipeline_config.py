"""Options for how operators are rewritten before they are lowered, with the names of the Arm backend.

Carina's own lowering depends on the target only: a softmax is always the stable one, and a quantized leaky_relu is one table. Setting an
option without an effect in a compile spec logs a warning to "carina.arm".
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from enum import Enum, auto
from typing import Any


class SoftmaxDecompositionConfig(Enum):
    """The lowering of a softmax."""

    MASKED = auto()  # exp(x - max) / sum, and masked_fill becomes where
    STABLE = auto()  # exp(x - max) / sum; masked_fill stays. Carina always does this; the results are equal


class LeakyReLULoweringConfig(Enum):
    """The lowering of a quantized leaky_relu."""

    TABLE = auto()  # one table. Carina always does this: it is more exact and cheaper
    DECOMPOSE = auto()  # clamp, multiply, add


class SDPASafeSoftmaxGuardPolicy(Enum):
    """Whether attention handles rows that are masked completely."""

    PRESERVE = auto()
    REMOVE = auto()
    REMOVE_WHEN_PROVEN = auto()


@dataclass
class QuantizeInfConfig:
    """Finite numbers for infinities of masks. `neg_inf`: elements of an attention mask count as at least the maximum of their row plus this
    number, when ranges are observed (carina_arm.row_observers). `pos_inf` has no effect in Carina."""

    neg_inf: float = -256.0
    pos_inf: float = 255.0


@dataclass(repr=False)
class ArmPassPipelineConfig:
    """Options of the rewrites; each field has a comment."""

    softmax: SoftmaxDecompositionConfig = SoftmaxDecompositionConfig.MASKED
    leaky_relu: LeakyReLULoweringConfig = LeakyReLULoweringConfig.DECOMPOSE
    quantize_inf: QuantizeInfConfig = field(default_factory=QuantizeInfConfig)
    sdpa_safe_softmax_guard: SDPASafeSoftmaxGuardPolicy = SDPASafeSoftmaxGuardPolicy.PRESERVE

    def is_default(self) -> bool:
        """Whether every option has its default."""
        return self == ArmPassPipelineConfig()

    def without_effect(self) -> list[str]:
        """One sentence for each changed option that Carina does not support."""
        said = []
        if self.quantize_inf.pos_inf != QuantizeInfConfig.pos_inf:
            said.append(
                "quantize_inf.pos_inf has no effect: an infinity saturates at the end of the range that the other elements have"
            )
        if self.sdpa_safe_softmax_guard is not SDPASafeSoftmaxGuardPolicy.PRESERVE:
            said.append("sdpa_safe_softmax_guard has no effect: attention keeps its guard against rows that see no key")
        return said

    def to_dict(self) -> dict[str, Any]:
        """The options as a dict for JSON, with enumerators as names."""
        return {f.name: _plain(f.name, getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ArmPassPipelineConfig:
        """The inverse of to_dict(). Missing options have their defaults."""
        config = cls()
        for name, value in data.items():
            if name not in _READERS or value is None:
                continue
            setattr(config, name, _READERS[name](value))
        return config

    def serialize(self) -> bytes:
        """to_dict() as JSON."""
        return json.dumps(self.to_dict()).encode()

    def __repr__(self) -> str:
        return "(" + ", ".join(f"{name}={value!r}" for name, value in vars(self).items()) + ")"


_READERS: dict[str, Any] = {
    "softmax": SoftmaxDecompositionConfig.__getitem__,
    "leaky_relu": LeakyReLULoweringConfig.__getitem__,
    "quantize_inf": lambda value: QuantizeInfConfig(**value),
    "sdpa_safe_softmax_guard": SDPASafeSoftmaxGuardPolicy.__getitem__,
}


def _plain(name: str, value: object) -> Any:
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, QuantizeInfConfig):
        return asdict(value)
    raise AssertionError(f"Cannot serialize {name}")
