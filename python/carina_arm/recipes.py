"""Export recipes of the Arm backend. Importing this loads ExecuTorch and registers them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from carina import _native
from executorch.exir.capture import EdgeCompileConfig, ExecutorchBackendConfig
from executorch.export import (
    BackendRecipeProvider,
    ExportRecipe,
    LoweringRecipe,
    QuantizationRecipe,
    RecipeType,
    recipe_registry,
)

from .compile_spec import ArmCompileSpec
from .ethosu_compile_spec import EthosUCompileSpec
from .factory import create_partitioner, create_quantizer
from .quantization_config import (
    QuantizationConfig,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from .tosa_compile_spec import TosaCompileSpec
from .vgf_compile_spec import VgfCompileSpec

ARM_BACKEND = "arm"

logger = logging.getLogger(
    "executorch.backends.arm.recipes.arm_recipe_provider"
)  # this logger's name is known to users of recipes


class ArmRecipeType(RecipeType):  # type: ignore[misc]
    """The targets and their quantization.

    Ethos-U targets have `macs` (int), `system_config`, `memory_mode`, `extra_flags` (list) and `config_ini`.
    """

    ETHOS_U55_INT8 = "arm_ethos_u55_int8"
    ETHOS_U65_INT8 = "arm_ethos_u65_int8"
    ETHOS_U85_INT8 = "arm_ethos_u85_int8"
    TOSA_FP = "arm_tosa_fp"
    TOSA_INT8 = "arm_tosa_int8"
    TOSA_A16W8 = "arm_tosa_a16w8"
    VGF_FP = "arm_vgf_fp"
    VGF_INT8 = "arm_vgf_int8"

    @classmethod
    def get_backend_name(cls) -> str:
        """The recipe's name in the registry."""
        return ARM_BACKEND


@dataclass(frozen=True)
class _Row:
    """The parts of a recipe."""

    spec: Callable[[_Row, str, dict[str, Any]], ArmCompileSpec]
    target: str  # a family of accelerators, or a TOSA specification
    config: Callable[[], QuantizationConfig] | None  # None: float
    macs: int = 0  # the default number of MACs
    keywords: frozenset[str] = frozenset()
    kernels_of_cortex_m: bool = True  # whether quantize nodes outside delegates use ExecuTorch's Cortex-M kernels


def _ethosu(row: _Row, recipe: str, given: dict[str, Any]) -> ArmCompileSpec:
    macs = given.get("macs", row.macs)
    if not isinstance(macs, int):
        raise ValueError(f"macs must be an int, got {macs!r}")
    flags = given.get("extra_flags") or []
    if not isinstance(flags, list) or not all(isinstance(flag, str) for flag in flags):
        raise ValueError(f"extra_flags must be a list of strings, got {flags!r}")
    of_family = [name for name in _native.targets() if name.startswith(row.target)]
    if f"{row.target}-{macs}" not in of_family:
        allowed = sorted(int(name.rsplit("-", 1)[1]) for name in of_family)
        raise ValueError(f"Recipe '{recipe}' does not support macs={macs}. Allowed: {allowed}")
    return EthosUCompileSpec(
        f"{row.target}-{macs}",
        given.get("system_config"),
        given.get("memory_mode"),
        ["--verbose-operators", "--verbose-cycle-estimate", *flags],
        given.get("config_ini"),
    )


def _tosa(row: _Row, recipe: str, given: dict[str, Any]) -> ArmCompileSpec:
    del recipe, given
    return TosaCompileSpec(row.target)


def _vgf(row: _Row, recipe: str, given: dict[str, Any]) -> ArmCompileSpec:
    del recipe, given
    return VgfCompileSpec(row.target)


_KEYWORDS = frozenset({"macs", "system_config", "memory_mode", "extra_flags", "config_ini"})
_INT8 = get_symmetric_quantization_config
_INT16 = get_symmetric_a16w8_quantization_config
_ROWS = {
    ArmRecipeType.ETHOS_U55_INT8: _Row(_ethosu, "ethos-u55", _INT8, 128, _KEYWORDS),
    ArmRecipeType.ETHOS_U65_INT8: _Row(_ethosu, "ethos-u65", _INT8, 256, _KEYWORDS),
    ArmRecipeType.ETHOS_U85_INT8: _Row(_ethosu, "ethos-u85", _INT8, 256, _KEYWORDS),
    ArmRecipeType.TOSA_FP: _Row(_tosa, "TOSA-1.0+FP", None, kernels_of_cortex_m=False),
    ArmRecipeType.TOSA_INT8: _Row(_tosa, "TOSA-1.0+INT", _INT8),
    ArmRecipeType.TOSA_A16W8: _Row(_tosa, "TOSA-1.0+INT+int16", _INT16),
    ArmRecipeType.VGF_FP: _Row(_vgf, "TOSA-1.0+FP", None, kernels_of_cortex_m=False),
    ArmRecipeType.VGF_INT8: _Row(_vgf, "TOSA-1.0+INT", _INT8, kernels_of_cortex_m=False),
}


class ArmRecipeProvider(BackendRecipeProvider):  # type: ignore[misc]
    """Provides ExecuTorch with the recipes of ArmRecipeType."""

    @property
    def backend_name(self) -> str:
        """The backend's name in the registry."""
        return ARM_BACKEND

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        """All of ArmRecipeType."""
        return list(_ROWS)

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """The recipe; None for a recipe of another backend. Unused keywords cause a warning.

        Raises:
            ValueError: keywords of a wrong type, an unknown accelerator.
        """
        row = _ROWS.get(recipe_type) if isinstance(recipe_type, ArmRecipeType) else None
        if row is None:
            return None
        unknown = sorted(kwargs.keys() - row.keywords)
        if unknown:
            logger.warning(
                "Arm recipe '%s' ignoring unexpected parameters: %s. Allowed: %s",
                recipe_type.value,
                unknown,
                sorted(row.keywords) or "none",
            )
        spec = row.spec(row, recipe_type.value, kwargs)
        spec.set_pass_pipeline_config(spec._get_pass_pipeline_config())
        return _recipe(recipe_type.value, row, spec)


def _recipe(name: str, row: _Row, spec: ArmCompileSpec) -> ExportRecipe:
    return ExportRecipe(
        name=name,
        quantization_recipe=_quantization(row, spec),
        lowering_recipe=LoweringRecipe(
            partitioners=[create_partitioner(spec)],
            edge_compile_config=EdgeCompileConfig(_check_ir_validity=False),
            edge_manager_transform_passes=[_cortex_m_passes] if row.kernels_of_cortex_m else None,
        ),
        executorch_backend_config=ExecutorchBackendConfig(extract_delegate_segments=False),
    )


def _quantization(row: _Row, spec: ArmCompileSpec) -> QuantizationRecipe | None:
    if row.config is None:
        return None
    return QuantizationRecipe(quantizers=[create_quantizer(spec).set_global(row.config())])


def _cortex_m_passes(manager: Any) -> list[Any]:
    del manager
    from executorch.backends.cortex_m.passes.replace_quant_nodes_pass import ReplaceQuantNodesPass

    return [ReplaceQuantNodesPass()]


recipe_registry.register_backend_recipe_provider(ArmRecipeProvider())
