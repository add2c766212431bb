"""The results of eager PyTorch for a kernel's arguments, and the error of a kernel's results."""

import warnings

import torch

TOLERANCE = {
    torch.float32: (2e-5, 2e-5),
    torch.float64: (1e-10, 1e-10),
    torch.float16: (4e-3, 4e-3),
    torch.bfloat16: (3e-2, 3e-2),
    torch.complex32: (4e-3, 4e-3),
    torch.complex64: (1e-4, 1e-4),
    torch.complex128: (1e-9, 1e-9),
}


def is_known(name, got, wanted):
    """Whether this is a known difference from eager PyTorch; the comments give the reasons."""
    if name == "aten::sign.out":  # NaN stays NaN, as in ExecuTorch's kernel
        return difference(torch.where(got.isnan(), wanted, got), wanted, name) is None
    # The mean of an infinity is an infinity; PyTorch's running mean loses it.
    if name == "aten::var_mean.correction_out":
        return difference(torch.where(wanted.isnan(), wanted, got), wanted, name) is None
    return False


def operator_of(name):
    """(the functional overload in PyTorch, the schema of the out variant) for an ATen kernel's name."""
    base, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, base)
    out = getattr(packet, overload or "default")
    wanted = [(a.name, str(a.type)) for a in out._schema.arguments if not a.is_out]
    for candidate in packet.overloads():
        plain = getattr(packet, candidate)
        if [
            (a.name, str(a.type)) for a in plain._schema.arguments if not a.kwarg_only or a.name in dict(wanted)
        ] == wanted and not any(a.is_out for a in plain._schema.arguments):
            return plain, out._schema
    return out, out._schema


def evaluated(operator_, schema, arguments):
    """PyTorch's results as a list, and the arguments after the call; None if PyTorch rejects the call."""
    kept = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    inputs = [a for a in schema.arguments if not a.is_out]
    positional = [value for value, a in zip(kept, inputs) if not a.kwarg_only]
    keyword = {a.name: value for value, a in zip(kept, inputs) if a.kwarg_only}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = operator_(*positional, **keyword)
    except (RuntimeError, IndexError, NotImplementedError, ValueError, TypeError, OverflowError):
        return None
    flat = [result] if isinstance(result, torch.Tensor) else list(result)
    return flat, kept


def difference(got, wanted, name):
    if tuple(got.shape) != tuple(wanted.shape):
        return f"sizes {tuple(got.shape)}, expected {tuple(wanted.shape)}"
    if wanted.dtype in TOLERANCE:
        relative, absolute = TOLERANCE[wanted.dtype]
        kind = torch.complex128 if wanted.is_complex() else torch.float64
        finite = wanted.to(kind).abs()
        finite = finite[torch.isfinite(finite)]
        # When numbers cancel in a sum, the error is relative to the largest of them.
        absolute *= max(1.0, float(finite.max()) if finite.numel() else 1.0)
        close = torch.isclose(got.to(kind), wanted.to(kind), rtol=relative, atol=absolute, equal_nan=True)
    else:
        close = got == wanted
    if bool(close.all()):
        return None
    return f"got {got[~close][:4].tolist()}, expected {wanted[~close][:4].tolist()}"
