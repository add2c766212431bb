"""install(): scripts that import executorch.backends.arm get Carina's names."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from .compile_spec import ArmCompileSpec

_ROOT = "executorch.backends.arm"


@dataclass(frozen=True)
class _Stand:
    """The replacement of a module: names from Carina's modules. A later module has priority."""

    homes: tuple[str, ...]
    is_package: bool = False


# Keys are the names after executorch.backends.arm, in all releases since 0.4.
_STANDS = {
    "": _Stand(("carina_arm.public_names", "carina_arm"), is_package=True),
    "ethosu": _Stand(("carina_arm",), is_package=True),
    "ethosu.backend": _Stand(("carina_arm.backend",)),
    "ethosu.compile_spec": _Stand(("carina_arm.ethosu_compile_spec",)),
    "ethosu.partitioner": _Stand(("carina_arm.partitioner",)),
    "vgf": _Stand(("carina_arm",), is_package=True),
    "vgf.backend": _Stand(("carina_arm.backend",)),
    "vgf.compile_spec": _Stand(("carina_arm.vgf_compile_spec",)),
    "vgf.partitioner": _Stand(("carina_arm.partitioner",)),
    "tosa": _Stand(("carina_arm",), is_package=True),
    "tosa.backend": _Stand(("carina_arm.backend",)),
    "tosa.compile_spec": _Stand(("carina_arm.tosa_compile_spec",)),
    "tosa.partitioner": _Stand(("carina_arm.partitioner",)),
    "tosa.specification": _Stand(("carina_arm.tosa_specification",)),
    "quantizer": _Stand(("carina_arm.annotation", "carina_arm"), is_package=True),
    "quantizer.arm_quantizer": _Stand(("carina_arm.quantization_config", "carina_arm.quantizer")),
    "quantizer.quantization_config": _Stand(("carina_arm.quantization_config",)),
    "common.arm_compile_spec": _Stand(("carina_arm.compile_spec",)),
    "common.pipeline_config": _Stand(("carina_arm.pipeline_config",)),
    "recipes": _Stand(("carina_arm.recipes",), is_package=True),
    "recipes.arm_recipe_provider": _Stand(("carina_arm.recipes",)),
    "recipes.arm_recipe_types": _Stand(("carina_arm.recipes",)),
    "util._factory": _Stand(("carina_arm.factory",)),
    # before release 1.0
    "arm_backend": _Stand(("carina_arm.backend", "carina_arm.arm_backend", "carina_arm.builder")),
    "arm_partitioner": _Stand(("carina_arm.builder",)),
    "ethosu_backend": _Stand(("carina_arm.backend",)),
    "ethosu_partitioner": _Stand(("carina_arm.partitioner",)),
    "tosa_backend": _Stand(("carina_arm.backend",)),
    "tosa_partitioner": _Stand(("carina_arm.partitioner",)),
    "tosa_specification": _Stand(("carina_arm.tosa_specification",)),
    "vgf_backend": _Stand(("carina_arm.backend",)),
    "vgf_partitioner": _Stand(("carina_arm.partitioner",)),
}


# Modules that remain ExecuTorch's own, with added names that later releases lack.
_ADDED = {f"{_ROOT}._passes": "carina_arm.old_passes"}

_BY_FULL_NAME = {f"{_ROOT}.{name}" if name else _ROOT: stand for name, stand in _STANDS.items()}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds Carina's modules under the names of the Arm backend's modules. Other modules of the Arm backend remain available."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del target
        stand = _BY_FULL_NAME.get(fullname)
        if stand is None:
            return _with_added_names(fullname, path)
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=stand.is_package)
        spec.loader_state = stand
        if stand.is_package:
            own = importlib.machinery.PathFinder.find_spec(fullname, path)
            spec.submodule_search_locations = list(own.submodule_search_locations or []) if own else []
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Alias(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        homes = [importlib.import_module(home) for home in module.__spec__.loader_state.homes]
        module.__dict__["_homes"] = homes[::-1]


class _AddingLoader(importlib.abc.Loader):
    """Loads ExecuTorch's own module and adds the public names that it lacks from one of Carina's modules."""

    def __init__(self, own: importlib.abc.Loader, added: str) -> None:
        self._own, self._added = own, added

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._own.exec_module(module)
        added = importlib.import_module(self._added)
        for name, value in vars(added).items():
            if getattr(value, "__module__", None) == self._added:
                module.__dict__.setdefault(name, value)


def _with_added_names(fullname: str, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
    added = _ADDED.get(fullname)
    spec = importlib.machinery.PathFinder.find_spec(fullname, path) if added else None
    if spec is not None and added is not None and spec.loader is not None:
        spec.loader = _AddingLoader(spec.loader, added)
    return spec


class _Alias(ModuleType):
    """A module with the names of other modules."""

    def __getattr__(self, name: str) -> object:
        for home in self.__dict__.get("_homes", ()):
            try:
                return getattr(home, name)
            except AttributeError:
                continue
        raise AttributeError(f"carina.arm has nothing for {self.__name__}.{name}")


_finder = _Finder()
_hidden: dict[str, ModuleType] = {}


def install(*, arm_partition: bool = False) -> None:
    """Makes imports of executorch.backends.arm return Carina's classes, until uninstall().

    Call it before the script's imports: names that are already imported do not change. Modules without a counterpart in Carina (the Arm
    backend's passes and tests) remain available. A second call only changes `arm_partition`.

    Args:
        arm_partition: compile specs that are made from now on have set_arm_partition(): no more is delegated than the Arm backend delegates.
    """
    ArmCompileSpec._arm_partition_at_first = arm_partition
    if _finder in sys.meta_path:
        return
    _hidden.update(_take_out())
    sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Ends install(): imports of executorch.backends.arm load the installed package again."""
    ArmCompileSpec._arm_partition_at_first = False
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    _take_out()
    sys.modules.update(_hidden)
    if _ROOT in _hidden:
        sys.modules["executorch.backends"].arm = _hidden[_ROOT]  # type: ignore[attr-defined]
    _hidden.clear()


def _take_out() -> dict[str, ModuleType]:
    """Removes the modules of the Arm backend from sys.modules."""
    names = [name for name in sys.modules if name == _ROOT or name.startswith(_ROOT + ".")]
    return {name: sys.modules.pop(name) for name in names}
