"""The base class of the compile specs of Ethos-U, TOSA and VGF."""

from __future__ import annotations

import json
import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, TypeAlias

from typing_extensions import Self

from .compile_spec_entry import CompileSpecEntry, entry
from .pipeline_config import ArmPassPipelineConfig, SoftmaxDecompositionConfig
from .tosa_specification import TosaSpecification

logger = logging.getLogger("carina.arm")


def _is_true(text: str) -> bool:
    return text.lower() in ("1", "true", "yes")


class DebugMode(Enum):
    """The format in which dump_debug_info() writes the origins of operators."""

    JSON = 1  # debug.json
    TOSA = 2  # the same within the operators of the .tosa files


Mode: TypeAlias = DebugMode  # within the classes that have a member of that name


@dataclass(frozen=True)
class _Key:
    """One entry of a serialized spec: its key, its field, its name in messages, and the parser of its text."""

    key: str
    field: str
    called: str
    read: Callable[[str], Any]


_KEYS = (
    _Key("tosa_spec", "tosa_spec", "tosa_spec", TosaSpecification.create_from_string),
    _Key("compile_flags", "compiler_flags", "compiler flags", lambda text: text.split(" ")),
    _Key("output_format", "output_format", "output format", str),
    _Key("debug_artifact_path", "path_for_intermediates", "debug artifact path", str),
    _Key("dump_debug_info", "tosa_debug_mode", "tosa_debug_mode", DebugMode.__getitem__),
    _Key(
        "transform_pipeline_config",
        "pipeline_config",
        "transform pipeline",
        lambda text: ArmPassPipelineConfig.from_dict(json.loads(text)),
    ),
    _Key("preserve_io_quantization", "preserve_io_quantization", "preserve_io_quantization", _is_true),
    _Key("tosa_sw_dev_mode", "tosa_dev_mode", "tosa_sw_dev_mode", _is_true),
    _Key("carina_cost_rule", "cost_rule", "carina_cost_rule", _is_true),
    _Key("carina_arm_partition", "arm_partition", "carina_arm_partition", _is_true),
)


@dataclass
class ArmCompileSpec(ABC):
    """The options that all targets share. Those that are set by methods return the spec, so that calls can be chained."""

    DebugMode: ClassVar = DebugMode

    tosa_spec: TosaSpecification
    compiler_flags: list[str]
    path_for_intermediates: str | None = None
    tosa_debug_mode: Mode | None = None
    preserve_io_quantization: bool = False
    tosa_dev_mode: bool | None = None

    _arm_partition_at_first: ClassVar[bool] = False  # carina.arm.install(arm_partition=True) sets it

    def _set_compile_specs(
        self,
        tosa_spec: TosaSpecification,
        compiler_flags: list[str],
        path_for_intermediates: str | None = None,
        tosa_debug_mode: Mode | None = None,
        pipeline_config: ArmPassPipelineConfig | None = None,
        preserve_io_quantization: bool = False,
        tosa_dev_mode: bool | None = None,
        cost_rule: bool = False,
        arm_partition: bool | None = None,
    ) -> None:
        self.tosa_spec = tosa_spec
        self.compiler_flags = compiler_flags
        self.path_for_intermediates = path_for_intermediates
        self.tosa_debug_mode = tosa_debug_mode
        self._pipeline_config = pipeline_config
        self.preserve_io_quantization = preserve_io_quantization
        self._warn_if_redundant_preserve_io_quantization()
        self.tosa_dev_mode = tosa_dev_mode
        self._cost_rule = cost_rule
        self._arm_partition = self._arm_partition_at_first if arm_partition is None else arm_partition

    def dump_intermediate_artifacts_to(self, output_path: str | None) -> Self:
        """Sets the folder for each delegate's TOSA graph and the output of the target's compiler."""
        self.path_for_intermediates = output_path
        return self

    def dump_debug_info(self, debug_mode: Mode | None) -> Self:
        """With dump_intermediate_artifacts_to(): also writes the node, module and source line of each operator."""
        self.tosa_debug_mode = debug_mode
        return self

    def set_cost_rule(self, enabled: bool = True) -> Self:
        """Not in the Arm backend: keeps nodes on the CPU if calling the NPU costs more than it saves, as `carina compile` does. These are
        delegates that only move data, and small ones next to other CPU nodes."""
        self._cost_rule = enabled
        return self

    def set_arm_partition(self, enabled: bool = True) -> Self:
        """Not in the Arm backend: keeps nodes on the CPU that the Arm backend keeps there, although Carina can delegate them. It is for
        comparing the two on equal partitions. The rows of carina_arm.arm_partition say which nodes these are."""
        self._arm_partition = enabled
        return self

    def set_pass_pipeline_config(self, config: ArmPassPipelineConfig) -> None:
        """Sets how operators are rewritten before they are lowered. Options without an effect are logged as warnings."""
        self._pipeline_config = config
        for said in config.without_effect():
            logger.warning("ArmPassPipelineConfig: %s", said)

    @classmethod
    def _from_list(cls, compile_specs: Sequence[CompileSpecEntry]) -> Self:
        """Reads the output of _to_list().

        Raises:
            ValueError: a repeated entry, no TOSA specification, the output format of another class.
        """
        values, unknown = _read_entries(compile_specs)
        if "tosa_spec" not in values:
            raise ValueError("No tosa_spec in compile spec.")
        output_format = values.pop("output_format", None)
        if output_format is None:
            raise ValueError("No output_format in compile spec.")
        if output_format != cls._get_output_format():
            raise ValueError(
                f"Incorrect output format '{output_format}' for {cls.__name__}, expected '{cls._get_output_format()}'"
            )
        compile_spec = cls.__new__(cls)
        compile_spec._set_compile_specs(**{"compiler_flags": [], **values})
        cls._from_list_hook(compile_spec, unknown)
        compile_spec._validate()
        return compile_spec

    @classmethod
    def _from_list_hook(cls, compile_spec: Any, specs: dict[str, str]) -> None:
        """Reads the entries of the subclass."""
        del compile_spec, specs

    def _to_list(self) -> list[CompileSpecEntry]:
        """The spec as a program stores it.

        Raises:
            ValueError: dump_debug_info() without dump_intermediate_artifacts_to().
        """
        if self.tosa_debug_mode is not None and not self.path_for_intermediates:
            raise ValueError("dump_debug_info() must be used in conjunction with dump_intermediate_artifacts_to()")
        config = self._pipeline_config
        texts = {
            "tosa_spec": str(self.tosa_spec),
            "compile_flags": " ".join(self.compiler_flags) or None,
            "output_format": self._get_output_format(),
            "debug_artifact_path": self.path_for_intermediates,
            "dump_debug_info": self.tosa_debug_mode.name if self.tosa_debug_mode else None,
            "transform_pipeline_config": config.serialize().decode() if config and not config.is_default() else None,
            "preserve_io_quantization": str(bool(self.preserve_io_quantization)),
            "carina_cost_rule": str(True) if self._cost_rule else None,
            "carina_arm_partition": str(True) if self._arm_partition else None,
            "tosa_sw_dev_mode": None if self.tosa_dev_mode is None else str(bool(self.tosa_dev_mode)),
        }
        return [entry(key, text.encode()) for key, text in texts.items() if text is not None]

    def _set_preserve_io_quantization(self, enabled: bool) -> Self:
        self.preserve_io_quantization = enabled
        self._warn_if_redundant_preserve_io_quantization()
        return self

    def _warn_if_redundant_preserve_io_quantization(self) -> None:
        if self.preserve_io_quantization and self.tosa_spec.support_integer() and not self.tosa_spec.support_float():
            warnings.warn(
                "preserve_io_quantization=True is redundant for INT-only TOSA specifications because boundary Q/DQ "
                "are already de-tagged.",
                stacklevel=3,
            )

    def _set_tosa_dev_mode(self, tosa_dev_mode: bool | None) -> Self:
        self.tosa_dev_mode = tosa_dev_mode
        return self

    def _get_pass_pipeline_config(self) -> ArmPassPipelineConfig:
        if self._pipeline_config is None:
            self._pipeline_config = self._create_default_pipeline_config()
        return self._pipeline_config

    def _create_default_pipeline_config(self) -> ArmPassPipelineConfig:
        if self.tosa_spec.is_U55_subset:
            return ArmPassPipelineConfig(softmax=SoftmaxDecompositionConfig.STABLE)
        return ArmPassPipelineConfig()

    def get_intermediate_path(self) -> str | None:
        """The folder of dump_intermediate_artifacts_to()."""
        return self.path_for_intermediates

    def _get_intermediate_path(self) -> str | None:
        return self.path_for_intermediates

    @abstractmethod
    def _validate(self) -> None:
        """Raises ValueError if the options are not legal for the target."""

    @classmethod
    def get_output_format(cls) -> str:
        """The output format of delegates: "vela" for an Ethos-U, "vgf" or "tosa"."""
        return cls._get_output_format()

    @classmethod
    @abstractmethod
    def _get_output_format(cls) -> str:
        """The text that identifies the class in a stored spec."""


def _read_entries(compile_specs: Sequence[CompileSpecEntry]) -> tuple[dict[str, Any], dict[str, str]]:
    """Returns the values by field, and the texts of unknown keys."""
    values: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    by_key = {key.key: key for key in _KEYS}
    for spec in compile_specs:
        text = bytes(spec.value).decode() if isinstance(spec.value, (bytes, bytearray)) else str(spec.value)
        known = by_key.get(spec.key)
        if known is None:
            unknown[spec.key] = text
            continue
        if known.field in values:
            raise ValueError(f"More than one {known.called} entry in compile spec.")
        values[known.field] = known.read(text)
    return values, unknown
