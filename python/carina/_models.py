"""The forms of a model argument, and their bytes: a path, bytes, or a PyTorch module or program, which is exported."""

from __future__ import annotations

import copy
import dataclasses
import gc
import io
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard

from carina import _native
from carina._listeners import callers_level
from carina.errors import CarinaWarning, InputError, usage_error

if TYPE_CHECKING:
    import torch
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import TypeIs

    from carina._native import InputType

    ModelLike: TypeAlias = "str | os.PathLike[str] | bytes | torch.nn.Module | torch.export.ExportedProgram"
    Inputs: TypeAlias = (
        "Sequence[ArrayLike | torch.Tensor] | NDArray[Any] | torch.Tensor | Mapping[str, ArrayLike | torch.Tensor]"
    )
    # An iterable of samples: a DataLoader, a list, a data set of PyTorch (which may have an index and a length only).
    SampleSet: TypeAlias = "Iterable[Any] | torch.utils.data.Dataset[Any]"
    Calibration: TypeAlias = (
        "str | os.PathLike[str] | Mapping[str, ArrayLike] | NDArray[Any] | torch.Tensor | SampleSet"
    )
    # For a model that keeps state: arrays whose first axis is time.
    Sequences: TypeAlias = "Iterable[Mapping[str, ArrayLike] | NDArray[Any] | torch.Tensor]"
    Data: TypeAlias = "str | os.PathLike[str] | Mapping[str, ArrayLike] | SampleSet"


class Source(NamedTuple):
    """A model: a path, or bytes with the name that messages use."""

    name: str
    file: bytes | None


def is_tensor(value: object) -> bool:
    """Whether the value is a torch.Tensor. Does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_module(value: object) -> TypeGuard[torch.nn.Module]:
    """Whether the value is a torch.nn.Module. Does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def is_program(value: object) -> TypeGuard[torch.export.ExportedProgram]:
    """Whether the value is an ExportedProgram. Does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "export") and isinstance(value, torch.export.ExportedProgram)


def are_methods(value: object) -> TypeIs[Mapping[str, ModelLike]]:
    """Whether the value is a mapping from names to models: the methods of a program. A state_dict is none."""
    return (
        isinstance(value, Mapping)
        and len(value) > 0
        and all(
            isinstance(each, (str, os.PathLike, bytes)) or is_module(each) or is_program(each)
            for each in value.values()
        )
    )


def is_array(value: object) -> bool:
    """Whether the value is a NumPy array or a PyTorch tensor."""
    return is_tensor(value) or hasattr(value, "__array_interface__")


def dense(value: Any) -> Any:
    """An array for carina._native: a contiguous CPU tensor without gradients, or a NumPy array."""
    if is_tensor(value):
        return value.detach().cpu().contiguous()
    import numpy as np

    array = np.asarray(value)
    if array.dtype.kind in "OSU":  # objects and texts
        raise usage_error(
            "inputs",
            "not an array of numbers",
            expected="an array or a tensor for each input, in order",
            got=type(value).__name__,
        )
    return array


def arrays_of(inputs: Inputs) -> list[Any]:
    """One array per input of the model, in order. A single array stands for a single input."""
    if isinstance(inputs, Mapping):
        raise usage_error("inputs", "inputs are given in order here, not by name", got=", ".join(inputs))
    return [dense(value) for value in ([inputs] if is_array(inputs) else inputs)]


@contextmanager
def _no_collections() -> Iterator[None]:
    """Turns the garbage collector off: torch.export makes a million live objects, and each collection visits all of them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def source_of(model: ModelLike, inputs: Inputs | None, function: str = "compile") -> Source:
    """The model as bytes, or as a path.

    inputs: example inputs with the shapes of the program; needed for a torch.nn.Module only. function: the caller's name in messages.
    Raises: UsageError for other types; InputError for a module that torch.export cannot export.
    """
    if isinstance(model, (str, os.PathLike)):
        return Source(os.fspath(model), None)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Source("model", bytes(model))
    if is_module(model):
        with _no_collections():
            return Source(type(model).__name__, saved(exported(model, inputs, function)))
    if is_program(model):
        with _no_collections():
            return Source("model", saved(model))
    raise usage_error(
        "model",
        "not a model",
        expected="a path, bytes, a torch.nn.Module or an ExportedProgram",
        got=type(model).__name__,
        hint=_model_hint(model),
    )


def _model_hint(given: object) -> str:
    """What to do with something that is not a model."""
    if isinstance(given, type):
        return f"this is a class: {given.__name__}() makes a module"
    if isinstance(given, Mapping):
        return "a state_dict has weights and no program: make the module, and model.load_state_dict(it)"
    return "wrap it into the forward() of a torch.nn.Module" if callable(given) else ""


def inputs_of(source: Source) -> list[InputType] | None:
    """The inputs of a .pt2 or of a LiteRT model of floats, in order. None: a file of another kind, such as a TOSA graph.

    Raises: InputError for a .pt2 that cannot be read.
    """
    file = FilePath(source.name).read_bytes() if source.file is None else source.file
    if file[4:8] == b"TFL3":
        try:
            return _native.inputs(_native.import_pt2(file, source.name))
        except InputError:  # it is quantized, or cannot be read, which compile() says
            return None
    if not file.startswith(b"PK"):  # no zip archive
        return None
    return _native.inputs(_native.import_pt2(file, source.name))


_EXPORT_HINTS = (
    (
        "data-dependent",
        "write a condition on values as torch.where() or torch.cond(), which become part of the program",
    ),
    (
        "GuardOnDataDependentSymNode",
        "write a condition on values as torch.where() or torch.cond(), which become part of the program",
    ),
    ("constraints", "give example inputs of the sizes that the program is to have, without dynamic shapes"),
    ("argument", "`inputs` has one entry per argument of forward(), in order, or a dict by name"),
)


def _not_exported(name: str, error: Exception) -> InputError:
    """The error of torch.export as Carina's: the first paragraph of its text, and a hint."""
    text = str(error)
    (first, *_) = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    kind = type(error).__name__
    hint = next(
        (hint for word, hint in _EXPORT_HINTS if word in kind or word in text),
        "torch.export.export(model.eval(), inputs) gives the same error, with its trace",
    )
    if kind in ("GuardOnDataDependentSymNode", "UserError") and "data-dependent" in text.lower():
        first = "the model branches on values of a tensor, which torch.export cannot follow: " + first
    return InputError(
        [
            _native.Diagnostic(
                name,
                "torch.export cannot export the model",
                expected="",
                got=f"{kind}: {first}",
                hint=hint,
                fault="input",
            )
        ]
    )


# How a function takes example inputs.
_EXAMPLE_INPUTS = {
    "compile": "carina.{}(model, (x,), ...): tensors of the shapes that the program is to have",
    "accuracy": "carina.{}(model, program, inputs=(x,), ...): tensors of the shapes that the program has",
}


def exported(module: torch.nn.Module, inputs: Inputs | None, function: str = "compile") -> torch.export.ExportedProgram:
    """torch.export of a module in evaluation mode. The module's mode is restored. Raises: InputError for a module that cannot be exported."""
    import torch

    if isinstance(module, torch.jit.ScriptModule):
        raise InputError(
            [
                _native.Diagnostic(
                    type(module).__name__,
                    "a TorchScript module cannot be exported",
                    expected="a torch.nn.Module in Python, or an ExportedProgram",
                    got="the result of torch.jit.script or torch.jit.trace",
                    hint="give the module that TorchScript was made from: torch.jit.script(model) has lost its Python code",
                    fault="input",
                )
            ]
        )
    if inputs is None:
        raise usage_error(
            "inputs",
            "a torch.nn.Module needs example inputs",
            hint=_EXAMPLE_INPUTS.get(function, _EXAMPLE_INPUTS["compile"]).format(function),
        )
    args, kwargs = _tensors(inputs)
    was_training = module.training
    if was_training:
        warnings.warn(
            "the model is in training mode: it is exported in evaluation mode",
            CarinaWarning,
            stacklevel=callers_level(),
        )
    try:
        with torch.no_grad():
            return torch.export.export(module.eval(), args, kwargs)
    except Exception as error:  # of torch, which has no common class
        raise _not_exported(type(module).__name__, error) from error
    finally:
        module.train(was_training)


def _tensors(inputs: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments for torch.export."""
    import torch

    def tensor(value: Any) -> Any:
        return torch.as_tensor(value) if is_array(value) and not is_tensor(value) else value

    if isinstance(inputs, Mapping):
        return (), {name: tensor(value) for name, value in inputs.items()}
    return tuple(tensor(value) for value in ([inputs] if is_array(inputs) else inputs)), {}


def saved(program: torch.export.ExportedProgram) -> bytes:
    """The bytes that torch.export.save writes."""
    import torch

    file = io.BytesIO()
    with _no_self_test():
        torch.export.save(_with_plain_results(program), file)
    return file.getvalue()


def _with_plain_results(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program with its results in one tuple, if torch.export.save cannot write their type. An example is torch.return_types.max, which
    torch.max(x, 1) returns."""
    from torch.utils import _pytree as pytree

    whole = program.module_call_graph[0]
    if whole.signature is None:
        return program
    results = whole.signature.out_spec
    try:
        pytree.treespec_dumps(results)
        return program
    except NotImplementedError:
        flat = pytree.tree_structure((0,) * results.num_leaves)
    made = copy.copy(program)
    signature = dataclasses.replace(whole.signature, out_spec=flat)
    made._module_call_graph = [dataclasses.replace(whole, signature=signature), *program.module_call_graph[1:]]
    return made


@contextmanager
def _no_self_test() -> Iterator[None]:
    """Skips a self-test of torch.export.save, which sorts a copy of the output and discards it. The self-test takes half of the time."""
    serialize: Any = sys.modules.get("torch._export.serde.serialize")
    own = getattr(serialize, "canonicalize", None)
    if own is None:
        yield
        return
    serialize.canonicalize = lambda program, constants=None: program
    try:
        yield
    finally:
        serialize.canonicalize = own
