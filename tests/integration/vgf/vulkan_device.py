"""A Vulkan device for any machine: Arm's emulation layers of the ML extensions (ai-ml-emulation-layer-for-vulkan, PyPI) over Mesa's
lavapipe, a Debian package (mesa-vulkan-drivers). CARINA_LAVAPIPE sets another path of lavapipe's .json."""

import glob
import os
import shutil
from pathlib import Path

import emulation_layer
import pytest

LAYERS = Path(emulation_layer.__file__).parent / "deploy"


def variables(driver, folders):
    """Environment variables for the Vulkan loader. An old loader ignores the order in VK_INSTANCE_LAYERS and uses the order of the folders.
    Graph must come before Tensor."""
    return {
        "LD_LIBRARY_PATH": ":".join(filter(None, [str(LAYERS / "lib"), os.environ.get("LD_LIBRARY_PATH")])),
        "VK_LAYER_PATH": ":".join(map(str, folders)),
        "VK_ICD_FILENAMES": driver,
        "VK_INSTANCE_LAYERS": "VK_LAYER_ML_Graph_Emulation:VK_LAYER_ML_Tensor_Emulation",
        "XDG_RUNTIME_DIR": str(folders[0]),
    }


@pytest.fixture(scope="session")
def vulkan(tmp_path_factory):
    """The environment variables with which programs find the emulated device."""
    drivers = (
        [os.environ["CARINA_LAVAPIPE"]]
        if "CARINA_LAVAPIPE" in os.environ
        else glob.glob("/usr/share/vulkan/icd.d/lvp_icd*.json")
    )
    assert drivers, "no lavapipe: scripts/setup.sh --full installs it (Debian: mesa-vulkan-drivers)"
    folders = [tmp_path_factory.mktemp(name) for name in ("Graph", "Tensor")]
    for folder, name in zip(folders, ("Graph", "Tensor")):
        shutil.copy(LAYERS / f"share/vulkan/explicit_layer.d/VkLayer_{name}.json", folder)
    return {**os.environ, **variables(drivers[0], folders)}
