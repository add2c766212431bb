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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from carina._listeners import callers_level
from carina.errors import CarinaWarning, usage_error

if TYPE_CHECKING:
    import torch
    from numpy.typing import ArrayLike, NDArray

    ModelLike: TypeAlias = "str | os.PathLike[str] | bytes | torch.nn.Module | torch.export.ExportedProgram"
    Inputs: TypeAlias = "Sequence[ArrayLike | torch.Tensor] | NDArray[Any] | torch.Tensor | Mapping[str, ArrayLike | torch.Tensor]"
    Calibration: TypeAlias = "str | os.PathLike[str] | Mapping[str, ArrayLike] | NDArray[Any] | torch.Tensor | Iterable[Inputs]"


class Source(NamedTuple):
    """A model: a path, or bytes with the name that messages use."""

    name: str
    file: bytes | None


def is_tensor(value: object) -> bool:
    """Whether the value is a torch.Tensor. Does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


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
        raise usage_error("inputs", "not an array of numbers", expected="an array or a tensor for each input, in order", got=type(value).__name__)
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


def source_of(model: ModelLike, inputs: Inputs | None) -> Source:
    """The model as bytes, or as a path.

    inputs: example inputs with the shapes of the program; needed for a torch.nn.Module only.
    Raises: UsageError for other types; the exceptions of torch.export.
    """
    if isinstance(model, (str, os.PathLike)):
        return Source(os.fspath(model), None)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Source("model", bytes(model))
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        with _no_collections():
            return Source(type(model).__name__, saved(exported(model, inputs)))
    if torch is not None and hasattr(torch, "export") and isinstance(model, torch.export.ExportedProgram):
        with _no_collections():
            return Source("model", saved(model))
    raise usage_error("model", "not a model", expected="a path, bytes, a torch.nn.Module or an ExportedProgram", got=type(model).__name__)


def exported(module: torch.nn.Module, inputs: Inputs | None) -> torch.export.ExportedProgram:
    """torch.export of a module in evaluation mode. The module's mode is restored."""
    import torch

    if inputs is None:
        raise usage_error("inputs", "a torch.nn.Module needs example inputs", hint="carina.compile(model, (x,), ...): tensors of the shapes that the program is to have")
    args, kwargs = _tensors(inputs)
    was_training = module.training
    if was_training:
        warnings.warn("the model is in training mode: it is exported in evaluation mode", CarinaWarning, stacklevel=callers_level())
    try:
        with torch.no_grad():
            return torch.export.export(module.eval(), args, kwargs)
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
