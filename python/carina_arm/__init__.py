"""The names of ExecuTorch's Arm backend, implemented by Carina.

A script for the Arm backend needs other imports, or none: see :func:`install` and docs/guide/from-the-arm-backend.md. Names are imported at
their first use. Compile specs need neither PyTorch nor ExecuTorch, quantizers need torchao, and backends and recipes need ExecuTorch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backend import EthosUBackend as EthosUBackend
    from .backend import TOSABackend as TOSABackend
    from .backend import VgfBackend as VgfBackend
    from .builder import ArmCompileSpecBuilder as ArmCompileSpecBuilder
    from .builder import ArmPartitioner as ArmPartitioner
    from .builder import generate_ethosu_compile_spec as generate_ethosu_compile_spec
    from .builder import generate_tosa_compile_spec as generate_tosa_compile_spec
    from .compile_spec import ArmCompileSpec as ArmCompileSpec
    from .edge import EdgeProgramManager as EdgeProgramManager
    from .edge import ExecutorchProgramManager as ExecutorchProgramManager
    from .edge import to_edge_transform_and_lower as to_edge_transform_and_lower
    from .ethosu_compile_spec import EthosUCompileSpec as EthosUCompileSpec
    from .ethosu_compile_spec import VelaExternalBlockPlacements as VelaExternalBlockPlacements
    from .factory import create_partitioner as create_partitioner
    from .factory import create_quantizer as create_quantizer
    from .factory import parse_compile_spec as parse_compile_spec
    from .installation import install as install
    from .installation import uninstall as uninstall
    from .partitioner import EthosUPartitioner as EthosUPartitioner
    from .partitioner import TOSAPartitioner as TOSAPartitioner
    from .partitioner import VgfPartitioner as VgfPartitioner
    from .pipeline_config import ArmPassPipelineConfig as ArmPassPipelineConfig
    from .pipeline_config import LeakyReLULoweringConfig as LeakyReLULoweringConfig
    from .pipeline_config import QuantizeInfConfig as QuantizeInfConfig
    from .pipeline_config import SDPASafeSoftmaxGuardPolicy as SDPASafeSoftmaxGuardPolicy
    from .pipeline_config import SoftmaxDecompositionConfig as SoftmaxDecompositionConfig
    from .quantization_config import QuantizationConfig as QuantizationConfig
    from .quantization_config import get_symmetric_a8w4_quantization_config as get_symmetric_a8w4_quantization_config
    from .quantization_config import get_symmetric_a16w8_quantization_config as get_symmetric_a16w8_quantization_config
    from .quantization_config import get_symmetric_quantization_config as get_symmetric_quantization_config
    from .quantization_config import get_uint8_io_quantization_config as get_uint8_io_quantization_config
    from .quantization_config import get_vgf_snorm_quantization_config as get_vgf_snorm_quantization_config
    from .quantizer import EthosUQuantizer as EthosUQuantizer
    from .quantizer import TOSAQuantizer as TOSAQuantizer
    from .quantizer import VgfQuantizer as VgfQuantizer
    from .recipes import ArmRecipeProvider as ArmRecipeProvider
    from .recipes import ArmRecipeType as ArmRecipeType
    from .tosa_compile_spec import TosaCompileSpec as TosaCompileSpec
    from .tosa_specification import TosaSpecification as TosaSpecification
    from .vgf_compile_spec import VgfCompileSpec as VgfCompileSpec

_HOMES = {
    "backend": ("EthosUBackend", "TOSABackend", "VgfBackend"),
    "builder": (
        "ArmCompileSpecBuilder",
        "ArmPartitioner",
        "generate_ethosu_compile_spec",
        "generate_tosa_compile_spec",
    ),
    "compile_spec": ("ArmCompileSpec",),
    "edge": ("EdgeProgramManager", "ExecutorchProgramManager", "to_edge_transform_and_lower"),
    "ethosu_compile_spec": ("EthosUCompileSpec", "VelaExternalBlockPlacements"),
    "factory": ("create_partitioner", "create_quantizer", "parse_compile_spec"),
    "installation": ("install", "uninstall"),
    "partitioner": ("EthosUPartitioner", "TOSAPartitioner", "VgfPartitioner"),
    "pipeline_config": (
        "ArmPassPipelineConfig",
        "LeakyReLULoweringConfig",
        "QuantizeInfConfig",
        "SDPASafeSoftmaxGuardPolicy",
        "SoftmaxDecompositionConfig",
    ),
    "quantization_config": (
        "QuantizationConfig",
        "get_symmetric_a16w8_quantization_config",
        "get_symmetric_a8w4_quantization_config",
        "get_symmetric_quantization_config",
        "get_uint8_io_quantization_config",
        "get_vgf_snorm_quantization_config",
    ),
    "quantizer": ("EthosUQuantizer", "TOSAQuantizer", "VgfQuantizer"),
    "recipes": ("ArmRecipeProvider", "ArmRecipeType"),
    "tosa_compile_spec": ("TosaCompileSpec",),
    "tosa_specification": ("TosaSpecification",),
    "vgf_compile_spec": ("VgfCompileSpec",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'carina_arm' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
