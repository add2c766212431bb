"""The compile spec of an Ethos-U."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .compile_spec import ArmCompileSpec
from .compile_spec_entry import CompileSpecEntry, entry
from .tosa_specification import TosaSpecification


@dataclass(frozen=True)
class VelaExternalBlockPlacements:
    """Tags of the files (.ptd) for a delegate's commands and weights. None: they stay in the program.

    Raises:
        ValueError: a tag that is empty, not a str or not ASCII.
    """

    cmd_data: str | None = None
    weight_data: str | None = None

    def __post_init__(self) -> None:
        for tag in (self.cmd_data, self.weight_data):
            if tag is None:
                continue
            if not isinstance(tag, str) or not tag or not tag.isascii():
                raise ValueError(f"Invalid external Vela placement: {tag!r}")

    def to_block_placements(self) -> dict[str, str]:
        """The tags by the name of the delegate's block."""
        return {block: tag for block, tag in vars(self).items() if tag is not None}


@dataclass(frozen=True)
class _Family:
    name: str
    system_config: str
    memory_mode: str


# Source: the defaults of the Arm backend (docs/facts/arm_backend.md 1.1).
_FAMILIES = (
    _Family("ethos-u55", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    _Family("ethos-u65", "Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    _Family("ethos-u85", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only"),
)


class EthosUCompileSpec(ArmCompileSpec):
    """The target and the options of an Ethos-U delegate.

    Args:
        target: an accelerator with Vela's name, such as "ethos-u55-128".
        system_config: a section of `config_ini`, or a built-in one; None: the family's default.
        memory_mode: likewise.
        extra_flags: Vela's flags. A flag that Carina does not support is an error; one without an effect is noted.
        config_ini: a vela.ini; "Arm/vela.ini" is built in.
        external_block_placements: the blocks of the delegate that are stored in separate files.

    Raises:
        RuntimeError: a target of an unknown family. The number of MAC units is checked when a delegate is compiled.
    """

    _TARGET_KEY: ClassVar[str] = "target"
    _EXTERNAL_BLOCK_PLACEMENTS_KEY: ClassVar[str] = "external_block_placements"

    def __init__(
        self,
        target: str,
        system_config: str | None = None,
        memory_mode: str | None = None,
        extra_flags: list[str] | None = None,
        config_ini: str | None = "Arm/vela.ini",
        external_block_placements: VelaExternalBlockPlacements | None = None,
    ) -> None:
        self.target = target
        self.external_block_placements = external_block_placements or VelaExternalBlockPlacements()
        family = next((family for family in _FAMILIES if family.name in target.lower()), None)
        if family is None:
            raise RuntimeError(f"Unknown ethos target: {target.lower()}")
        flags = [
            *(extra_flags or []),
            f"--accelerator-config={target}",
            f"--config={'Arm/vela.ini' if config_ini is None else config_ini}",
            "--output-format=raw",
            f"--system-config={family.system_config if system_config is None else system_config}",
            f"--memory-mode={family.memory_mode if memory_mode is None else memory_mode}",
        ]
        self._set_compile_specs(self._tosa_spec_for_target(target.lower()), flags)
        self._validate()

    @staticmethod
    def _tosa_spec_for_target(target_lower: str) -> TosaSpecification:
        subset = "+cf" if "u85" in target_lower else "+u55"
        return TosaSpecification.create_from_string("TOSA-1.0+INT+int16+int4" + subset)

    def _to_list(self) -> list[CompileSpecEntry]:
        placements = self.external_block_placements.to_block_placements()
        entries = [*super()._to_list(), entry(self._TARGET_KEY, self.target.encode())]
        if placements:
            text = json.dumps(placements, sort_keys=True, separators=(",", ":"))
            entries.append(entry(self._EXTERNAL_BLOCK_PLACEMENTS_KEY, text.encode()))
        return entries

    @classmethod
    def _from_list_hook(cls, compile_spec: Any, specs: dict[str, str]) -> None:
        compile_spec.target = specs.get(cls._TARGET_KEY)
        placements = json.loads(specs.get(cls._EXTERNAL_BLOCK_PLACEMENTS_KEY, "{}"))
        if not isinstance(placements, Mapping):
            raise ValueError("External Vela block placements must be a mapping.")
        unknown = sorted(placements.keys() - {"cmd_data", "weight_data"})
        if unknown:
            raise ValueError(f"Unsupported external Vela blocks: {unknown}")
        compile_spec.external_block_placements = VelaExternalBlockPlacements(**placements)

    def _validate(self) -> None:
        if not self.compiler_flags:
            raise ValueError("compile_flags are required in the CompileSpec list for EthosUBackend")
        if "u55" in (self.target or "").lower() and not self.tosa_spec.is_U55_subset:
            raise ValueError(f"Target was {self.target} but tosa spec was not u55 subset.")

    @classmethod
    def _get_output_format(cls) -> str:
        return "vela"
