"""Loads the model of `--model_name` with its example inputs."""

import importlib.util
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from carina_arm.scripts.data_files import read_data
from carina_arm.scripts.example_models import BUILT_IN
from carina_arm.scripts.example_names import known_names, registered_examples
from carina_arm.scripts.failures import ModelError
from carina_arm.scripts.options import note

__all__ = ["LoadedModel", "load_model"]

_SEED = 0  # seed of the weights and inputs of known examples, so that two runs give the same bytes


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode, and the positional inputs for its export."""

    name: str
    module: torch.nn.Module
    inputs: tuple[Any, ...]
    exported: ExportedProgram | None = None  # for a .pt2, which is already exported

    def flat_inputs(self) -> list[Any]:
        """The leaves of `inputs` in the order of the program's inputs."""
        return pytree.tree_flatten(self.inputs)[0]

    def export(self, *, strict: bool) -> ExportedProgram:
        """The exported program. Raises: exceptions of torch.export."""
        return self.exported or torch.export.export(self.module, self.inputs, strict=strict)

    def outputs(self, inputs: tuple[Any, ...] | None = None) -> list[Any]:
        """The leaves of eager PyTorch's results for `inputs` (default: the example inputs), in order."""
        with torch.no_grad():
            return pytree.tree_flatten(self.module(*(self.inputs if inputs is None else inputs)))[0]


def _read_module(path: str) -> Any:
    """A whole module is Python objects of any class: a file of the user's, like a .py."""
    note(
        f"--model_name: {path} is read with torch.load(weights_only=False), which runs code of the file; use files that you trust"
    )
    try:
        return torch.load(path, weights_only=False)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise ModelError(f"--model_name: {path} is no file of torch.save(): {error}") from error


def _input_tuple(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)


def _load_inputs(path: str | None, *, trusted: bool) -> tuple[Any, ...] | None:
    if path is None:
        return None
    if not path.endswith((".pt", ".pth")):
        raise ModelError(
            f"Model input data '{path}' is not a valid name. Use --model_input <FILE>.pt e.g. saved with torch.save()"
        )
    try:
        return _input_tuple(read_data(path, trusted=trusted))
    except (OSError, ValueError) as error:
        raise ModelError(f"--model_input: {error}") from error


def _built_in(name: str, inputs: tuple[Any, ...] | None) -> LoadedModel | None:
    if name not in BUILT_IN:
        return None
    torch.manual_seed(_SEED)
    example = BUILT_IN[name]
    module, own_inputs = example.module(), example.inputs()
    return LoadedModel(name, module, inputs or own_inputs)


def _registered(name: str, inputs: tuple[Any, ...] | None) -> LoadedModel | None:
    examples = registered_examples()
    if name not in examples:
        return None
    from executorch.examples.models.model_factory import EagerModelFactory

    torch.manual_seed(_SEED)
    try:
        module, own_inputs, _, _ = EagerModelFactory.create_model(*examples[name])
    except ImportError as error:
        raise ModelError(
            f"--model_name: the example {name} needs the package {error.name}, which is not installed"
        ) from error
    except (URLError, OSError) as error:
        raise ModelError(
            f"--model_name: the example {name} needs a file that cannot be had ({error}); a model of yours goes as FILE.py, FILE.pt or FILE.pt2"
        ) from error
    return LoadedModel(name, module, inputs or _input_tuple(own_inputs))


def _python_file(name: str, inputs: tuple[Any, ...] | None) -> LoadedModel | None:
    if not name.endswith(".py"):
        return None
    if not Path(name).is_file():
        raise ModelError(f"--model_name: there is no file {name}")
    spec = importlib.util.spec_from_file_location("tmp_model", name)
    assert spec is not None and spec.loader is not None  # always true for a name that ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules["tmp_model"] = module  # pickled classes look up their module here
    spec.loader.exec_module(module)
    wanted = ["ModelUnderTest", *([] if inputs else ["ModelInputs"])]
    if missing := [what for what in wanted if not hasattr(module, what)]:
        raise ModelError(
            f"--model_name: {name} does not define {' and '.join(missing)}: ModelUnderTest is the module, ModelInputs the tuple of its inputs"
        )
    return LoadedModel(Path(name).stem, module.ModelUnderTest, inputs or _input_tuple(module.ModelInputs))


def _saved(name: str, inputs: tuple[Any, ...] | None) -> LoadedModel | None:
    if not name.endswith((".pt", ".pth")):
        return None
    if not Path(name).is_file():
        raise ModelError(f"--model_name: there is no file {name}")
    module = _read_module(name)
    if not isinstance(module, torch.nn.Module):
        raise ModelError(
            f"--model_name: {name} holds a {type(module).__name__}, not a module: save the whole model, torch.save(model, FILE)"
        )
    if inputs is None:
        raise ModelError(f"Model '{name}' requires input data specify --model_input <FILE>.pt")
    return LoadedModel(Path(name).stem, module, inputs)


def _exported(name: str, inputs: tuple[Any, ...] | None) -> LoadedModel | None:
    if not name.endswith(".pt2"):
        return None
    try:
        program = torch.export.load(name)
    except Exception as error:  # noqa: BLE001  torch does not document its exceptions for an unreadable archive
        raise ModelError(f"--model_name: {name} is no file of torch.export.save(): {error}") from error
    own_inputs = inputs or (program.example_inputs or ((),))[0]
    if not own_inputs:
        raise ModelError(f"Model '{name}' was saved without example inputs: specify --model_input <FILE>.pt")
    return LoadedModel(Path(name).stem, program.module(), own_inputs, program)


_LOADERS: tuple[Callable[[str, tuple[Any, ...] | None], LoadedModel | None], ...] = (
    _built_in,
    _registered,
    _python_file,
    _saved,
    _exported,
)


def load_model(name: str, input_file: str | None = None, *, trusted: bool = False) -> LoadedModel:
    """Loads the model `name`: a known example, a .py with ModelUnderTest and ModelInputs, a .pt or .pth of torch.save(), or a .pt2 of
    torch.export.save().

    input_file: a .pt of torch.save() with the inputs, instead of the model's own. trusted: it may hold objects of any class; see data_files.
    Raises: ModelError, and exceptions of a user's file.
    """
    inputs = _load_inputs(input_file, trusted=trusted)
    for load in _LOADERS:
        if loaded := load(name, inputs):
            if loaded.exported is None:
                loaded.module.eval().requires_grad_(False)
            return loaded
    raise ModelError(
        f"Model '{name}' is not a valid name. Use a file (.py, .pt, .pth, .pt2) or one of: {', '.join(known_names())}"
    )
