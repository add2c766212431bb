"""The compile spec for TOSA graphs without a target."""

from __future__ import annotations

from .compile_spec import ArmCompileSpec
from .tosa_specification import TosaSpecification


class TosaCompileSpec(ArmCompileSpec):
    """Delegates are TOSA FlatBuffers of this specification, which is an object or a name.

    Raises:
        ValueError: an unknown specification.
    """

    def __init__(self, tosa_spec: TosaSpecification | str) -> None:
        spec = TosaSpecification.create_from_string(tosa_spec) if isinstance(tosa_spec, str) else tosa_spec
        self._set_compile_specs(spec, [])
        self._validate()

    def _validate(self) -> None:
        if self.compiler_flags:
            raise ValueError(f"TosaCompileSpec can't have compiler flags, got {self.compiler_flags}")

    @classmethod
    def _get_output_format(cls) -> str:
        return "tosa"
