"""The environment variables that make Vulkan's loader use Arm's emulation layers of the ML extensions, if they are installed."""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from carina_arm.scripts.options import note

__all__ = ["vulkan_environment"]

_DRIVERS = Path("/usr/share/vulkan/icd.d")
_LAYERS = ("Graph", "Tensor")


def _layers() -> Path | None:
    """The folder of the package emulation_layer (PyPI: ai-ml-emulation-layer-for-vulkan)."""
    found = importlib.util.find_spec("emulation_layer")
    return Path(found.origin).parent / "deploy" if found and found.origin else None


def vulkan_environment() -> Mapping[str, str]:
    """The variables that start the layers over Mesa's lavapipe. Empty if the user has set VK_INSTANCE_LAYERS or the layers are missing.

    An old loader uses the order of the folders as the order of the layers. Graph must come before Tensor.
    """
    if "VK_INSTANCE_LAYERS" in os.environ:
        return {}
    layers = _layers()
    if layers is None:
        note(
            "Arm's emulation layers are not installed (pip install ai-ml-emulation-layer-for-vulkan): the device needs the ML extensions itself"
        )
        return {}
    folders = [Path(tempfile.mkdtemp(prefix=f"carina_{name}_")) for name in _LAYERS]
    for folder, name in zip(folders, _LAYERS, strict=True):
        shutil.copy(layers / f"share/vulkan/explicit_layer.d/VkLayer_{name}.json", folder)
    found = {
        "LD_LIBRARY_PATH": ":".join(filter(None, [str(layers / "lib"), os.environ.get("LD_LIBRARY_PATH")])),
        "VK_LAYER_PATH": ":".join(map(str, folders)),
        "VK_INSTANCE_LAYERS": ":".join(f"VK_LAYER_ML_{name}_Emulation" for name in _LAYERS),
        "XDG_RUNTIME_DIR": os.environ.get("XDG_RUNTIME_DIR", str(folders[0])),
    }
    drivers = sorted(_DRIVERS.glob("lvp_icd*.json"))
    if "VK_ICD_FILENAMES" not in os.environ and drivers:
        found["VK_ICD_FILENAMES"] = str(drivers[0])
    note("the Vulkan device is emulated: " + " ".join(f"{name}={value}" for name, value in found.items()))
    return found
