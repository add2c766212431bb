"""Checks what this machine has for VGF: `python -m carina.vgf.check_env [--json]`. Exit code 0: VGF graphs run on a Vulkan device here; 1: something is missing.

Writing, reading and interpreting files needs none of it. Each check reports what was found, and the action if something is missing. `carina
targets --vulkan` finds the loader and the devices.
"""

import argparse
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Check", "checks", "main"]


@dataclass(frozen=True)
class Check:
    """One check. `needed`: without it, no VGF graph runs on a device."""

    name: str
    passed: bool
    found: str
    action: str = ""  # what to do; empty if nothing is missing
    needed: bool = True


# Arm's packages on PyPI, with their purpose here.
_PACKAGES = {
    "ai-ml-emulation-layer-for-vulkan": "layers that give any Vulkan 1.3 device the ML extensions",
    "ai-ml-sdk-vgf-library": "an independent reader of VGF files",
    "ai-ml-sdk-model-converter": "Arm's writer of VGF files, to compare with",
}


def carina_program() -> str | None:
    """The program `carina`: $CARINA_BIN, on the PATH, or in the build of the source tree around this package."""
    built = Path(__file__).resolve().parents[3] / "build" / "release" / "bin" / "carina"
    return os.environ.get("CARINA_BIN") or shutil.which("carina") or (str(built) if built.exists() else None)


def _package(name: str, use: str) -> Check:
    try:
        return Check(name, True, importlib.metadata.version(name), needed=False)
    except importlib.metadata.PackageNotFoundError:
        return Check(name, False, "not installed", f"pip install {name}: {use}", needed=False)


def _layers() -> Check:
    names = os.environ.get("VK_INSTANCE_LAYERS", "")
    return Check("VK_INSTANCE_LAYERS", True, names or "not set: no emulation layers", needed=False)


def _layer_folders() -> Check:
    folders = [folder for folder in os.environ.get("VK_LAYER_PATH", "").split(":") if folder]
    gone = [folder for folder in folders if not Path(folder).is_dir()]
    if gone:
        return Check("VK_LAYER_PATH", False, f"no such folder: {', '.join(gone)}", "name the folders of the layers' .json files", needed=False)
    return Check("VK_LAYER_PATH", True, ":".join(folders) or "not set", needed=False)


def _devices(program: str) -> list[Check]:
    said = json.loads(subprocess.run([program, "targets", "--vulkan", "--json"], capture_output=True, text=True, check=True).stdout)
    loader = Check("Vulkan loader", bool(said["loader"]), said["loader"] or "none", "" if said["loader"] else "install it (Debian: libvulkan1)")
    ready = [device["name"] for device in said["devices"] if device["runs_graphs"]]
    if ready:
        return [loader, Check("Vulkan device", True, ", ".join(ready))]
    lacks = "; ".join(f"{device['name']} lacks {', '.join(device['missing'])}" for device in said["devices"])
    action = "a driver with VK_ARM_tensors and VK_ARM_data_graph; or Arm's emulation layers in VK_INSTANCE_LAYERS over any Vulkan 1.3 driver (Debian: mesa-vulkan-drivers)"
    return [loader, Check("Vulkan device", False, lacks or said["failure"] or "none", action)]


def checks() -> list[Check]:
    """All checks, in the order of the output."""
    program = carina_program()
    found = [Check("carina", program is not None, program or "not found", "" if program else "build it, put it on the PATH, or set CARINA_BIN")]
    if program:
        found += _devices(program)
    return [*found, _layers(), _layer_folders(), *(_package(name, use) for name, use in _PACKAGES.items())]


def main(arguments: list[str] | None = None) -> int:
    """Prints the checks. Returns 0 if nothing that is needed is missing."""
    parser = argparse.ArgumentParser(prog="python -m carina.vgf.check_env", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args(arguments)
    found = checks()
    if options.json:
        print(json.dumps([asdict(check) for check in found], indent=2))
    else:
        for check in found:
            state = "PASS" if check.passed else "FAIL" if check.needed else "none"
            print(f"{state}  {check.name}: {check.found}" + (f"\n      {check.action}" if check.action else ""))
    return 0 if all(check.passed or not check.needed for check in found) else 1


if __name__ == "__main__":
    sys.exit(main())
