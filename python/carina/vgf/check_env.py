"""Checks what this machine has for VGF: `python -m carina.vgf.check_env [MODE] [--json]`. Exit code 0: nothing that is needed is missing; 1: something is.

Without a mode: whether VGF graphs run on a Vulkan device here. The modes are those of the Arm backend's check_env: --aot (compile),
--runtime (run in ExecuTorch's runtime), --host-emulator (run on a device that Arm's layers emulate), --source-build (a build folder).
"""

import argparse
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "VgfEnvironmentCheck",
    "VgfEnvironmentReport",
    "check_environment",
    "check_vgf_aot_environment",
    "check_vgf_device_environment",
    "check_vgf_host_emulator_environment",
    "check_vgf_runtime_environment",
    "check_vgf_source_build_environment",
    "is_vgf_aot_available",
    "is_vgf_runtime_available",
    "main",
]

STATUS_OK, STATUS_WARN, STATUS_FAIL = "PASS", "WARN", "FAIL"

_ROOT = Path(__file__).resolve().parents[3]  # of the source tree around this package
_LAYERS = ("VK_LAYER_ML_Graph_Emulation", "VK_LAYER_ML_Tensor_Emulation")
_LAYER_PACKAGE = "ai-ml-emulation-layer-for-vulkan"


@dataclass(frozen=True)
class VgfEnvironmentCheck:
    """One check. WARN: something is missing that is not needed. `action`: what to do; None if nothing is missing."""

    name: str
    status: str
    detail: str
    action: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing that is needed is missing."""
        return self.status != STATUS_FAIL

    def to_dict(self) -> dict[str, str | None]:
        return asdict(self)


@dataclass(frozen=True)
class VgfEnvironmentReport:
    """The checks of a mode, in the order of the output."""

    checks: list[VgfEnvironmentCheck]
    mode: str = "custom"

    @property
    def ok(self) -> bool:
        """Whether nothing that is needed is missing."""
        return not self.failures

    @property
    def failures(self) -> list[VgfEnvironmentCheck]:
        """The checks that failed."""
        return [check for check in self.checks if not check.ok]

    def to_dict(self) -> dict[str, Any]:
        """The report for JSON."""
        return {"mode": self.mode, "ok": self.ok, "checks": [check.to_dict() for check in self.checks]}

    def raise_for_errors(self) -> None:
        """Raises RuntimeError if something needed is missing; the message says what to do."""
        if not self.ok:
            raise RuntimeError("VGF environment validation failed:\n\n" + "\n".join(map(_formatted, self.failures)))

    def format(self) -> str:
        """The report as text."""
        title = f"VGF environment preflight ({self.mode}): {'OK' if self.ok else 'FAILED'}"
        return "\n\n".join([title, *map(_formatted, self.checks)])


def _formatted(check: VgfEnvironmentCheck) -> str:
    action = f"\n  Action: {check.action}" if check.action else ""
    return f"[{check.status}] {check.name}\n  {check.detail}{action}"


def _check(name: str, passed: bool, detail: str, action: str, *, needed: bool = True) -> VgfEnvironmentCheck:
    status = STATUS_OK if passed else STATUS_FAIL if needed else STATUS_WARN
    return VgfEnvironmentCheck(name, status, detail, None if passed else action)


def carina_program() -> str | None:
    """The program `carina`: $CARINA_BIN, on the PATH, or in the build of the source tree around this package."""
    built = _ROOT / "build" / "release" / "bin" / "carina"
    return os.environ.get("CARINA_BIN") or shutil.which("carina") or (str(built) if built.exists() else None)


def _program() -> VgfEnvironmentCheck:
    program = carina_program()
    return _check(
        "carina", program is not None, program or "not found", "build it, put it on the PATH, or set CARINA_BIN"
    )


def _unneeded(name: str, package: str, why: str) -> VgfEnvironmentCheck:
    try:
        found = f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        found = f"{package} is not installed"
    return VgfEnvironmentCheck(name, STATUS_OK, f"not needed: {why} ({found})")


def _devices() -> list[VgfEnvironmentCheck]:
    """The Vulkan loader and a device that runs graphs, as `carina targets --vulkan` finds them."""
    program = carina_program()
    if program is None:
        return []
    said = json.loads(
        subprocess.run([program, "targets", "--vulkan", "--json"], capture_output=True, text=True, check=True).stdout
    )
    loader = _check("Vulkan loader", bool(said["loader"]), said["loader"] or "none", "install it (Debian: libvulkan1)")
    ready = [device["name"] for device in said["devices"] if device["runs_graphs"]]
    lacks = "; ".join(f"{device['name']} lacks {', '.join(device['missing'])}" for device in said["devices"])
    action = f"a driver with VK_ARM_tensors and VK_ARM_data_graph; or Arm's emulation layers ({_LAYER_PACKAGE}) over any Vulkan 1.3 driver (Debian: mesa-vulkan-drivers)"
    return [
        loader,
        _check("Vulkan device", bool(ready), ", ".join(ready) or lacks or said["failure"] or "none", action),
    ]


def _emulation_layers(*, needed: bool) -> VgfEnvironmentCheck:
    missing = [layer for layer in _LAYERS if layer not in os.environ.get("VK_INSTANCE_LAYERS", "")]
    folders = [folder for folder in os.environ.get("VK_LAYER_PATH", "").split(os.pathsep) if folder]
    gone = [folder for folder in folders if not Path(folder).is_dir()]
    problems = [f"VK_INSTANCE_LAYERS is missing {', '.join(missing)}"] if missing else []
    problems += [f"VK_LAYER_PATH names no folder: {', '.join(gone)}"] if gone else []
    action = f"pip install {_LAYER_PACKAGE}; `carina arm-run --on=vulkan` sets the variables that start the layers and prints them"
    return _check(
        "VKML emulation layer", not problems, "; ".join(problems) or ", ".join(_LAYERS), action, needed=needed
    )


def _runtime() -> VgfEnvironmentCheck:
    """Whether carina.executorch finds the library that is the VgfBackend of ExecuTorch's runtime."""
    from carina.executorch import library_path

    try:
        importlib.metadata.version("executorch")
        found = str(library_path())
    except importlib.metadata.PackageNotFoundError:
        return _check(
            "VGF runtime backend",
            False,
            "the package executorch is not installed",
            "pip install executorch; `carina run` needs neither",
        )
    except FileNotFoundError as missing:
        return _check("VGF runtime backend", False, str(missing), "`carina run` runs VGF programs without it")
    return _check("VGF runtime backend", True, f"VgfBackend, after carina.executorch.register(): {found}", "")


def _report(mode: str, *checks: VgfEnvironmentCheck) -> VgfEnvironmentReport:
    return VgfEnvironmentReport(list(checks), mode)


def check_vgf_device_environment() -> VgfEnvironmentReport:
    """Whether VGF graphs run on a Vulkan device here (`--on vulkan`)."""
    return _report("device", _program(), *_devices(), _emulation_layers(needed=False))


def check_vgf_aot_environment() -> VgfEnvironmentReport:
    """Whether models can be compiled to VGF. Carina needs no program of Arm for it."""
    return _report(
        "aot",
        _program(),
        _unneeded("TOSA serializer", "tosa-tools", "Carina writes TOSA files itself"),
        _unneeded("Model converter", "ai-ml-sdk-model-converter", "Carina writes VGF files itself"),
    )


def is_vgf_aot_available() -> bool:
    return check_vgf_aot_environment().ok


def check_vgf_runtime_environment() -> VgfEnvironmentReport:
    """Whether ExecuTorch's runtime can run VGF programs here."""
    return _report("runtime", _program(), _runtime())


def is_vgf_runtime_available() -> bool:
    return check_vgf_runtime_environment().ok


def check_vgf_host_emulator_environment() -> VgfEnvironmentReport:
    """Whether VGF graphs run on a device that Arm's layers emulate."""
    return _report("host-emulator", _program(), _runtime(), *_devices(), _emulation_layers(needed=True))


def _cache_of(build_dir: str | os.PathLike[str] | None) -> Path:
    folder = Path(build_dir) if build_dir is not None else _ROOT / "build" / "release"
    return folder if folder.name == "CMakeCache.txt" else folder / "CMakeCache.txt"


def check_vgf_source_build_environment(build_dir: str | os.PathLike[str] | None = None) -> VgfEnvironmentReport:
    """Whether a build folder of Carina (default: build/release) has the VgfBackend of ExecuTorch's runtime."""
    cache = _cache_of(build_dir)
    text = cache.read_text(errors="replace") if cache.is_file() else ""
    is_carina = "CMAKE_PROJECT_NAME:STATIC=carina" in text
    detail = str(cache) if is_carina else f"{cache}: {'the build of another project' if text else 'no such file'}"
    flags = _check(
        "VGF source-build CMake flags", is_carina, detail, "cmake --preset release, then --build-dir build/release"
    )
    library = cache.parent / "lib" / "libcarina_executorch.so"
    action = "configure with -DCARINA_EXECUTORCH=.../site-packages/executorch, then cmake --build"
    return _report(
        "source-build",
        flags,
        _check("VGF library", library.exists(), f"{library}{'' if library.exists() else ': not built'}", action),
    )


def check_environment(
    build_dir: str | os.PathLike[str] | None = None, *, require_runtime_build: bool = False
) -> VgfEnvironmentReport:
    """The checks of --aot; with an argument, those of --source-build."""
    if build_dir is not None or require_runtime_build:
        return check_vgf_source_build_environment(build_dir)
    return check_vgf_aot_environment()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m carina.vgf.check_env", description=(__doc__ or "").split("\n")[0])
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--aot", action="store_true", help="whether models can be compiled to VGF")
    mode.add_argument("--runtime", action="store_true", help="whether ExecuTorch's runtime can run VGF programs")
    mode.add_argument(
        "--host-emulator", action="store_true", help="whether graphs run on a device that Arm's layers emulate"
    )
    mode.add_argument(
        "--source-build", action="store_true", help="whether a build folder has the VgfBackend of ExecuTorch's runtime"
    )
    parser.add_argument(
        "--build-dir",
        metavar="FOLDER",
        help="with --source-build: the folder, or its CMakeCache.txt; default: build/release",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the checks. Returns 0 if nothing that is needed is missing."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.build_dir and not options.source_build:
        parser.error("--build-dir requires --source-build")
    modes = {
        "aot": check_vgf_aot_environment,
        "runtime": check_vgf_runtime_environment,
        "host_emulator": check_vgf_host_emulator_environment,
    }
    asked = next((check for name, check in modes.items() if getattr(options, name)), check_vgf_device_environment)
    report = check_vgf_source_build_environment(options.build_dir) if options.source_build else asked()
    print(json.dumps(report.to_dict(), indent=2, sort_keys=True) if options.json else report.format())
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
