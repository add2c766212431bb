"""Random calls of ATen kernels: the arguments of kernel_samples.py, some with other memory layouts, and the results of eager PyTorch."""

import torch
from kernel_calls import KernelCall, OrderedTensor, Out
from kernel_eager import evaluated, operator_of
from kernel_samples import NAMED


def as_schema_says(value, argument):
    """A number whose schema type is float, as a Python float. The official runtime distinguishes integers from floats."""
    kind = str(argument.type)
    if "float" in kind and type(value) in (int, bool):
        return float(value)
    if "float" in kind and isinstance(value, (list, tuple)):
        return [float(v) for v in value]
    return value


def larger_capacity(random):
    return lambda sizes: tuple(n + random.randint(0, 2) for n in sizes)


def moved_in_memory(random, tensor):
    """Moves some tensors to channels-last memory."""
    if isinstance(tensor, torch.Tensor) and tensor.dim() == 4 and random.random() < 0.25:
        return OrderedTensor(tensor, (0, 2, 3, 1))
    return tensor


# Kernels that take only contiguous tensors, as ExecuTorch's do.
CONTIGUOUS = {
    "native_layer_norm.out",
    "native_group_norm.out",
    "embedding.out",
    "linear.out",
    "as_strided_copy.out",
    "allclose.out",
}
DYNAMIC = {"masked_select.out", "nonzero.out", "repeat_interleave.Tensor_out", "index.Tensor_out"}


def made_call(name, arguments, random, capacity=None):
    """(call, expected tensors) of an ATen kernel with these arguments; None if PyTorch rejects them. `capacity`: see drawn_call()."""
    operator_, schema = operator_of(name)
    arguments = [as_schema_says(value, a) for value, a in zip(arguments, schema.arguments, strict=False)]
    done = evaluated(operator_, schema, arguments)
    if done is None:
        return None
    wanted, kept = done
    call = KernelCall(f"aten::{name}", [])
    in_place = [
        i for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write and not a.is_out
    ]
    training = name == "_native_batch_norm_legit.out" and arguments[5]
    for i, value in enumerate(arguments):
        if i in in_place and (training or len(in_place) == 1):
            call.arguments.append(Out(kept[i], start=value))
        else:
            call.arguments.append(value if name in CONTIGUOUS else moved_in_memory(random, value))
    changed = [kept[i] for i in in_place] if training else []
    if any(a.is_out for a in schema.arguments):
        planned = capacity or (larger_capacity(random) if name in DYNAMIC else lambda sizes: ())
        outs = [Out(w, capacity=planned(w.shape)) for w in wanted]
        is_list = any(str(a.type) == "List[Tensor]" and a.is_out for a in schema.arguments)
        call.arguments += [outs] if is_list else outs
    call.note = repr(arguments)
    return call, changed + wanted


def drawn_call(name, random, capacity=None):
    """(call, expected tensors) of an ATen kernel. `capacity`: the sizes for which an output is planned, if larger than its own."""
    for _ in range(200):
        try:
            arguments = NAMED[name](random)
        except (IndexError, ValueError, RuntimeError):  # the random shape lacks the axis that the draw needs
            continue
        made = made_call(name, arguments, random, capacity)
        if made is not None:
            return made
    raise AssertionError(f"{name}: PyTorch rejects every draw")
