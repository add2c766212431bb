"""The public names of the Arm backend and their modules, for tools that check API promises."""

from __future__ import annotations

_ROOT = "executorch.backends.arm"

LAZY_IMPORTS = {
    name: (f"{_ROOT}.{home}", name)
    for home, names in {
        "ethosu": ("EthosUBackend", "EthosUCompileSpec", "EthosUPartitioner", "VelaExternalBlockPlacements"),
        "vgf": ("VgfBackend", "VgfCompileSpec", "VgfPartitioner"),
        "quantizer": (
            "EthosUQuantizer",
            "VgfQuantizer",
            "get_symmetric_quantization_config",
            "get_symmetric_a16w8_quantization_config",
        ),
    }.items()
    for name in names
}
