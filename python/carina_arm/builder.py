"""The builder names of ExecuTorch 0.4 to 0.7, which had no classes of compile specs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import Self

from .compile_spec import ArmCompileSpec, Mode
from .compile_spec_entry import CompileSpecEntry
from .ethosu_compile_spec import EthosUCompileSpec
from .factory import create_partitioner
from .specs import parse_compile_spec
from .tosa_compile_spec import TosaCompileSpec
from .tosa_specification import TosaSpecification
from .vgf_compile_spec import VgfCompileSpec

if TYPE_CHECKING:
    from torch.fx.passes.operator_support import OperatorSupportBase

    from .partitioner import TOSAPartitioner


class ArmCompileSpecBuilder:
    """Collects the options from which build() makes a list of compile specs."""

    DebugMode: ClassVar = Mode

    def __init__(self) -> None:
        self._spec: ArmCompileSpec | None = None
        self._folder: str | None = None
        self._debug: Mode | None = None

    def ethosu_compile_spec(
        self,
        target: str | None = None,
        system_config: str | None = None,
        memory_mode: str | None = None,
        extra_flags: str | None = None,
        config_ini: str | None = "Arm/vela.ini",
        *,
        config: str | None = None,
    ) -> Self:
        """Selects an Ethos-U. The arguments are those of EthosUCompileSpec, with all flags in one string. `config`: the target's older
        name.

        Raises:
            RuntimeError: a target of an unknown family.
        """
        name = target if config is None else config
        flags = extra_flags.split() if extra_flags else None
        return self._take(EthosUCompileSpec(name or "", system_config, memory_mode, flags, config_ini))

    def vgf_compile_spec(
        self, tosa_spec: TosaSpecification | str | None = None, compiler_flags: str | None = ""
    ) -> Self:
        """Selects VGF. The default specification is "TOSA-1.0+FP"."""
        return self._take(VgfCompileSpec(tosa_spec or "TOSA-1.0+FP", compiler_flags.split() if compiler_flags else []))

    def tosa_compile_spec(self, tosa_spec: TosaSpecification | str = "TOSA-1.0+INT") -> Self:
        """Selects TOSA graphs."""
        return self._take(TosaCompileSpec(tosa_spec))

    def dump_intermediate_artifacts_to(self, output_path: str | None) -> Self:
        """As in ArmCompileSpec."""
        self._folder = output_path
        return self

    def dump_intermediate_tosa(self, output_path: str | None) -> Self:
        """The older name of dump_intermediate_artifacts_to()."""
        return self.dump_intermediate_artifacts_to(output_path)

    def dump_debug_info(self, debug_mode: Mode | None) -> Self:
        """As in ArmCompileSpec."""
        self._debug = debug_mode
        return self

    def set_permute_memory_format(self, set_nhwc_permutation: bool | None = True) -> Self:
        """Has no effect: Carina chooses layouts, and inputs and outputs have those of the model."""
        del set_nhwc_permutation
        return self

    def set_quantize_io(self, quantize_io: bool = False) -> Self:
        """Has no effect: as in later releases, the quantizer decides whether inputs and outputs are integers."""
        del quantize_io
        return self

    def set_input_order(self, input_order: str | None = None) -> Self:
        """Has no effect: inputs have the order of the model."""
        del input_order
        return self

    def build(self) -> list[CompileSpecEntry]:
        """The compile spec for partitioners and quantizers.

        Raises:
            ValueError: no target has been selected.
        """
        if self._spec is None:
            raise ValueError(
                "say first what to compile for: ethosu_compile_spec(), vgf_compile_spec() or tosa_compile_spec()"
            )
        return self._spec.dump_intermediate_artifacts_to(self._folder).dump_debug_info(self._debug)._to_list()

    def _take(self, spec: ArmCompileSpec) -> Self:
        if self._spec is not None:
            raise ValueError("a compile spec has one target")
        self._spec = spec
        return self


def generate_ethosu_compile_spec(
    config: str,
    permute_memory_to_nhwc: bool | None = None,
    system_config: str | None = None,
    memory_mode: str | None = None,
    extra_flags: str | None = None,
    config_ini: str | None = "Arm/vela.ini",
) -> list[CompileSpecEntry]:
    """The compile specs of an Ethos-U; `permute_memory_to_nhwc` has no effect."""
    del permute_memory_to_nhwc
    return (
        ArmCompileSpecBuilder().ethosu_compile_spec(config, system_config, memory_mode, extra_flags, config_ini).build()
    )


def generate_tosa_compile_spec(
    permute_memory_to_nhwc: bool | None = None, output_path: str | None = None
) -> list[CompileSpecEntry]:
    """The compile specs of TOSA graphs; `permute_memory_to_nhwc` has no effect."""
    del permute_memory_to_nhwc
    return ArmCompileSpecBuilder().tosa_compile_spec().dump_intermediate_tosa(output_path).build()


def ArmPartitioner(  # noqa: N802
    compile_spec: Sequence[CompileSpecEntry], additional_checks: list[OperatorSupportBase] | None = None
) -> TOSAPartitioner:
    """The partitioner for the target of the compile specs."""
    return create_partitioner(parse_compile_spec(compile_spec), additional_checks)


def get_tosa_spec(compile_specs: Sequence[CompileSpecEntry]) -> Any:
    """The TOSA specification of compile specs."""
    return parse_compile_spec(compile_specs).tosa_spec
