"""The compile spec of VGF: what a Vulkan device with the ML extensions runs."""

from __future__ import annotations

import os
from typing import Any

from .compile_spec import ArmCompileSpec
from .tosa_specification import TosaSpecification


class VgfCompileSpec(ArmCompileSpec):
    """Delegates are VGF files.

    Args:
        tosa_spec: of the graphs in them; None: floats and integers, "TOSA-1.0+FP+INT+int4+int16".
        compiler_flags: of Arm's converter. Carina writes VGF itself; they make no difference.

    Raises:
        ValueError: a specification that VGF does not have.
    """

    def __init__(
        self, tosa_spec: TosaSpecification | str | None = None, compiler_flags: list[str] | None = None
    ) -> None:
        spec = "TOSA-1.0+FP+INT+int4+int16" if tosa_spec is None else tosa_spec
        parsed = TosaSpecification.create_from_string(spec) if isinstance(spec, str) else spec
        self._set_compile_specs(parsed, [] if compiler_flags is None else compiler_flags)
        self._set_tosa_dev_mode(True)
        self._validate()

    def _validate(self) -> None:
        if self.tosa_spec.version.major != 1:
            raise ValueError(
                "Arm backend only supports converter-backend for TOSA version 1. "
                f"Invalid TOSA version: {self.tosa_spec.version}"
            )
        if not {"FP", "INT"}.intersection(self.tosa_spec.profiles):
            raise ValueError(
                "Arm backend only supports converter-backend for FP and/or INT. "
                f"Invalid TOSA profile: {self.tosa_spec.profiles}"
            )

    def validate_environment(
        self, build_dir: str | os.PathLike[str] | None = None, *, require_runtime_build: bool = False
    ) -> Any:
        """Checks what the machine lacks for VGF; see carina.vgf.check_env."""
        raise NotImplementedError

    @classmethod
    def _get_output_format(cls) -> str:
        return "vgf"
