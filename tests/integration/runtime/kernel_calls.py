"""Calls kernels of the runtime by name with PyTorch tensors: reads and writes the format of bin/call_kernels."""

import os
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[3]
TYPES = {  # ExecuTorch's numbers of the types
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5, torch.float32: 6, torch.float64: 7,
    torch.complex32: 8, torch.complex64: 9, torch.complex128: 10, torch.bool: 11, torch.bfloat16: 15, torch.uint16: 27, torch.uint32: 28,
}  # fmt: skip
ERRORS = [
    "ok",
    "internal",
    "invalid program",
    "invalid argument",
    "out of memory",
    "operator missing",
    "backend missing",
    "data missing",
    "not supported",
    "delegate failed",
]


def program():
    carina = Path(os.environ.get("CARINA_BIN", ROOT / "build" / "release" / "bin" / "carina"))
    path = carina.parent / "call_kernels"
    assert path.exists(), f"{path} is missing: run `make build`"
    return path


def kernel_names():
    return subprocess.run([program(), "--names"], capture_output=True, text=True, check=True).stdout.split()


@dataclass
class Out:
    """An output with the type and shape of this tensor. It is planned larger if the kernel determines the size. `number`: a number in the
    table of values."""

    like: object
    order: tuple = ()  # order of its axes in memory
    capacity: tuple = ()  # upper bounds of the sizes
    start: torch.Tensor = None  # contents before the call


@dataclass
class OrderedTensor:
    """A tensor whose axes have this order in memory, outermost first."""

    tensor: torch.Tensor
    order: tuple


@dataclass
class KernelCall:
    name: str
    arguments: list
    note: str = ""
    outputs: list = field(default_factory=list)  # Out, in order


def contiguous_order(tensor):
    return tuple(range(tensor.dim()))


def raw(tensor):
    tensor = tensor.detach().reshape(-1).clone(memory_format=torch.contiguous_format)
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor).reshape(-1)
    return tensor.view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def text(content):
    return struct.pack("<I", len(content)) + content


def encoded_tensor(tensor, order, is_output=False, resizable=False):
    order = tuple(order) or contiguous_order(tensor)
    head = struct.pack("<BBBB", is_output, resizable, TYPES[tensor.dtype], tensor.dim())
    return (
        b"t" + head + struct.pack(f"<{tensor.dim()}i", *tensor.shape) + bytes(order) + text(raw(tensor.permute(order)))
    )


def encoded_output(out, call):
    call.outputs.append(out)
    if not isinstance(out.like, torch.Tensor):
        return b"v"
    start = (
        out.start if out.start is not None else torch.zeros(out.capacity or tuple(out.like.shape), dtype=out.like.dtype)
    )
    return encoded_tensor(start, out.order, is_output=True, resizable=bool(out.capacity))


def encoded(value, call):
    if value is None:
        return b"n"
    if isinstance(value, Out):
        return encoded_output(value, call)
    if isinstance(value, OrderedTensor):
        return encoded_tensor(value.tensor, value.order)
    if isinstance(value, torch.Tensor):
        return encoded_tensor(value, ())
    if isinstance(value, bool):
        return b"b" + struct.pack("<B", value)
    if isinstance(value, int):
        return b"i" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"d" + struct.pack("<d", value)
    if isinstance(value, str):
        return b"s" + text(value.encode())
    if isinstance(value, torch.dtype):
        return b"i" + struct.pack("<q", TYPES[value])
    values = list(value)
    if any(isinstance(v, (torch.Tensor, OrderedTensor, Out)) or v is None for v in values):
        return b"L" + struct.pack("<I", len(values)) + b"".join(encoded(v, call) for v in values)
    for kind, letter, form in ((int, b"I", "q"), (bool, b"B", "B"), (float, b"D", "d")):
        if all(type(v) is kind for v in values):
            return letter + struct.pack("<I", len(values)) + struct.pack(f"<{len(values)}{form}", *values)
    raise TypeError(f"{call.name}: no argument of the runtime is like {value!r}")


def encoded_call(call):
    call.outputs = []
    arguments = [encoded(value, call) for value in call.arguments]
    return text(call.name.encode()) + struct.pack("<I", len(arguments)) + b"".join(arguments)


class Reader:
    def __init__(self, content):
        self.content, self.at = content, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.content, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def tensor(self, out):
        dims = out.like.dim()
        sizes = self.take(f"{dims}i")
        (size,) = self.take("I")
        content = self.content[self.at : self.at + size]
        self.at += size
        order = tuple(out.order) or tuple(range(dims))
        kind = out.like.dtype
        in_memory = [sizes[axis] for axis in order]
        flat = torch.frombuffer(bytearray(content), dtype=kind) if size else torch.empty(0, dtype=kind)
        return flat.reshape(in_memory).permute([order.index(axis) for axis in range(dims)])

    def number(self):
        (letter,) = self.take("c")
        return self.take({b"d": "d", b"b": "q", b"i": "q"}[letter])[0]


def run_calls(calls):
    """For each call: the outputs, or the name of its error."""
    return run_calls_of([program()], calls)


def run_calls_of(command, calls):
    """The same with another program, whose errors may have other names."""
    done = subprocess.run(command, input=b"".join(encoded_call(call) for call in calls), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    reader, results = Reader(done.stdout), []
    for call in calls:
        (error,) = reader.take("B")
        if error:
            results.append(ERRORS[error] if error < len(ERRORS) else f"error {error}")
        else:
            results.append(
                [reader.tensor(out) if isinstance(out.like, torch.Tensor) else reader.number() for out in call.outputs]
            )
    return results
