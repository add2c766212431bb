"""The compile spec of VGF, for Vulkan devices with the ML extensions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .compile_spec import ArmCompileSpec
from .tosa_specification import TosaSpecification

if TYPE_CHECKING:
    from carina.vgf.check_env import VgfEnvironmentReport


class VgfCompileSpec(ArmCompileSpec):
    """Delegates are VGF files.

    Args:
        tosa_spec: the specification of the graphs; None: floats and integers, "TOSA-1.0+FP+INT+int4+int16".
        compiler_flags: flags of Arm's converter. They have no effect, because Carina writes VGF itself.

    Raises:
        ValueError: a specification that VGF does not support.
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
    ) -> VgfEnvironmentReport:
        """Checks what the machine has for VGF: `python -m carina.vgf.check_env --aot`, or `--source-build` with an argument.

        Args:
            build_dir: a build folder of Carina, or its CMakeCache.txt.
            require_runtime_build: whether the build must contain the VgfBackend of ExecuTorch's runtime.

        Raises:
            RuntimeError: something needed is missing; the message says what to do.
        """
        from carina.vgf.check_env import check_environment

        report = check_environment(build_dir, require_runtime_build=require_runtime_build)
        report.raise_for_errors()
        return report

    @classmethod
    def _get_output_format(cls) -> str:
        return "vgf"
