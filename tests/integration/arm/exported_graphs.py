"""Exported programs of the captured cases: the float model, and the graph that the peer's quantizer makes of it."""

import copy
import hashlib
import io
import json
import os
import pickle
import re
import shutil

import cache
import numpy as np
import torch
from executorch.backends.arm.test.runner_utils import get_input_quantization_params, get_output_quantization_params
from executorch.backends.arm.test.tester import quantize as peer_quantize
from executorch.backends.test.harness.stages import StageType


class Unable(Exception):
    """PyTorch or the peer's quantizer cannot process the case, so it is not applicable."""


def tensors_of(tree):
    return [leaf for leaf in torch.utils._pytree.tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def is_narrow(dtype):
    return dtype == torch.bfloat16 or str(dtype).startswith("torch.float8")


def bits_of(tensor):
    """A tensor as a numpy array. Types that numpy lacks become integers of the same size."""
    tensor = tensor.detach().cpu().contiguous().resolve_conj()
    if is_narrow(tensor.dtype):
        tensor = tensor.view({1: torch.uint8, 2: torch.int16}[tensor.dtype.itemsize])
    return tensor.numpy()


def values_of(tensor):
    return bits_of(tensor.float() if is_narrow(tensor.dtype) else tensor)


class Fingerprint(pickle.Pickler):
    """Pickles tensors by their contents. PyTorch's own pickle of a tensor differs from call to call."""

    def reducer_override(self, thing):
        if isinstance(thing, torch.Tensor) and type(thing) in (torch.Tensor, torch.nn.Parameter):
            layout = (str(thing.dtype), tuple(thing.shape), thing.stride())
            return str, (layout.__repr__() + hashlib.sha256(bits_of(thing).tobytes()).hexdigest(),)
        return NotImplemented


def fingerprint(*parts):
    """A key that is the same for equal modules and inputs, so that the FP, INT, U55 ... cases of a test share a graph. None if they cannot
    be pickled."""
    buffer = io.BytesIO()
    try:
        Fingerprint(buffer).dump(parts)
    except Exception:  # a lambda or a local class; pickle raises errors of any type
        return None
    return hashlib.sha256(buffer.getvalue()).hexdigest()[:24]


def run(module, inputs):
    with torch.no_grad():
        return [values_of(t) for t in tensors_of(module(*copy.deepcopy(inputs)))]


def export(module, inputs, dynamic=None, strict=True):
    """torch.export.export with strict=False, which takes a third of the time. If that fails, with strict=True."""
    try:
        return torch.export.export(module, inputs, dynamic_shapes=dynamic, strict=False)
    except Exception:
        return torch.export.export(
            module, inputs, dynamic_shapes=dynamic, strict=True
        )  # callers see the error of the strict export


def exported(module, inputs, dynamic):
    with torch.no_grad():
        return export(module, copy.deepcopy(inputs), dynamic)


def copied(module):
    try:
        return copy.deepcopy(module)
    except Exception:  # some modules of the suite cannot be copied; the module itself is run then
        return module


def user_inputs(program, inputs):
    """(names, tensors) of the tensor inputs, in the program's order."""
    flat = torch.utils._pytree.tree_flatten((copy.deepcopy(inputs), {}))[0]
    specs = [s for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    pairs = [(s.arg.name, v) for s, v in zip(specs, flat) if isinstance(v, torch.Tensor)]
    return [name for name, _ in pairs], [value for _, value in pairs]


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


def operators_of(program):
    return sorted({str(n.target) for n in program.graph.nodes if n.op == "call_function"})[:60]


def save(key, program, inputs, reference, more):
    """Writes the folder of a graph atomically: no other process sees a partial one."""
    target = cache.graph(key)
    part = target.with_name(f"{key}.{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        torch.export.save(program, part / "model.pt2")
        names, values = user_inputs(program, inputs)
        arrays = [bits_of(v) for v in values]
        for stem, list_of in (("x", arrays), ("ref", reference)):
            for i, array in enumerate(list_of):
                np.save(part / f"{stem}{i}.npy", array)
        if arrays:
            np.savez(part / "cal.npz", **dict(zip(names, arrays)))
        (part / "graph.json").write_text(
            json.dumps(
                {
                    "inputs": names,
                    "input_types": [dtype_name(v.dtype) for v in values],
                    "operators": operators_of(program),
                    **more,
                }
            )
        )
        shutil.rmtree(target, ignore_errors=True)
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return key


def capture_float(case, name):
    """The key of the case's float model."""
    key = (
        fingerprint(case.module, case.inputs, repr(case.dynamic))
        or hashlib.sha256(f"float {name}".encode()).hexdigest()[:24]
    )
    if (cache.graph(key) / "graph.json").exists():
        return key
    try:
        with torch.no_grad():
            results = tensors_of(copied(case.module)(*copy.deepcopy(case.inputs)))
        program = exported(case.module, case.inputs, case.dynamic)
        more = {"output_types": [dtype_name(t.dtype) for t in results]}
        return save(key, program, case.inputs, [values_of(t) for t in results], more)
    except Exception as error:
        raise Unable(f"{type(error).__name__}: {str(error).strip()[:250]}") from error


def parameters(q):
    return (
        None
        if q is None
        else {
            "scale": float(q.scale),
            "zp": int(q.zp),
            "qmin": int(q.qmin),
            "qmax": int(q.qmax),
            "dtype": dtype_name(q.dtype),
        }
    )


UNSETTLED = (
    "pattern_matcher",
    "compile_spec",
    "tosa_spec",
    "_graph_annotations",
)  # equal in all quantizers, or no settings


def settings(thing, depth=5):
    """A quantizer's configuration as text, without addresses. Equal texts give equal graphs."""
    if isinstance(thing, (list, tuple)):
        return "[" + ",".join(settings(item, depth) for item in thing) + "]"
    if isinstance(thing, dict):
        return (
            "{"
            + ",".join(f"{key}:{settings(value, depth)}" for key, value in thing.items() if key not in UNSETTLED)
            + "}"
        )
    if depth and "quantizer" in type(thing).__module__ and hasattr(thing, "__dict__"):
        return type(thing).__name__ + settings(vars(thing), depth - 1)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(thing))


def quantized_key(case, float_key):
    """The key of a quantized graph. Targets with the same settings share a graph, since the peer's quantizer hardly depends on the target."""
    quantizer = getattr(case.quantize_stage.args[0], "quantizer", None)
    text = f"{float_key} {settings(getattr(quantizer, 'quantizer', quantizer))}"
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def capture_quantized(case, float_key):
    """The key of the graph that the peer's quantizer makes of the case's module."""
    quantize, key = case.quantize_stage, quantized_key(case, float_key)
    if (cache.graph(key) / "graph.json").exists():
        return key
    try:
        peer_quantize.export = export
        quantize.is_called = False
        quantize()
        converted = case.pipeline.tester.stages[StageType.QUANTIZE].artifact
        reference = run(converted, case.inputs)
        program = exported(converted, case.inputs, case.dynamic)
        by_name = {q.node_name: q for q in get_input_quantization_params(program)}
        names, _ = user_inputs(program, case.inputs)
        outputs = list(get_output_quantization_params(program.graph.output_node()).values())
        more = {
            "input_parameters": [parameters(by_name.get(n)) for n in names],
            "output_parameters": [parameters(q) for q in outputs],
            "output_types": [str(a.dtype) for a in reference],
        }
        return save(key, program, case.inputs, reference, more)
    except Exception as error:
        raise Unable(f"{type(error).__name__}: {str(error).strip()[:250]}") from error
