"""Compares the official runtime's kernels with Carina's and with eager PyTorch on random calls. Lists known differences of the official
ones."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from kernel_calls import KernelCall, OrderedTensor, Out, run_calls, run_calls_of
from kernel_draws import drawn_call, made_call
from kernel_eager import difference, evaluated, is_known, operator_of
from kernel_samples import NAMED, Random


def official_program(folder):
    """Builds the official runtime's counterpart of bin/call_kernels in the folder."""
    from pathlib import Path

    import executorch

    package, path = Path(executorch.__path__[0]), folder / "official_kernels"
    includes = [
        "-isystem",
        package / "include",
        "-isystem",
        package / "include/executorch/runtime/core/portable_type/c10",
    ]
    libraries = [
        f"-L{package}/lib",
        "-Wl,--no-as-needed",
        *(f"-lexecutorch{name}" for name in ("", "_kernels_optimized", "_kernels_quantized", "_threadpool")),
        f"-Wl,-rpath,{package}/lib",
    ]
    source = Path(__file__).with_name("official_kernels.cpp")
    subprocess.run(
        [
            os.environ.get("CXX", "g++"),
            "-std=c++17",
            "-O1",
            "-DC10_USING_CUSTOM_GENERATED_MACROS",
            *includes,
            source,
            "-o",
            path,
            *libraries,
        ],
        check=True,
    )
    return path


@dataclass
class Compared:
    """One call with the results of eager PyTorch, the official kernel and Carina's kernel. The latter two may be the name of an error."""

    name: str
    call: KernelCall
    wanted: list
    official: object
    ours: object
    is_eager: bool = (
        True  # False: PyTorch rejects the call's types; `wanted` is its result for floats, converted to this type
    )

    def tensors(self):
        def flat(values):
            for value in values:
                if isinstance(value, (list, tuple)):
                    yield from flat(value)
                elif isinstance(value, OrderedTensor):
                    yield value.tensor
                elif isinstance(value, Out):
                    yield value.like
                else:
                    yield value

        return [value for value in flat(self.call.arguments) if isinstance(value, torch.Tensor)]

    def is_moved(self):
        def any_ordered(values):
            return any(any_ordered(v) if isinstance(v, (list, tuple)) else isinstance(v, OrderedTensor) for v in values)

        return any_ordered(self.call.arguments)

    def has(self, *kinds):
        return any(tensor.dtype in kinds for tensor in self.tensors())


WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)
COMPLEX = (torch.complex32, torch.complex64, torch.complex128)
REAL = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclass(frozen=True)
class Deviation:
    """Calls for which an official kernel differs from eager PyTorch. Carina's kernel must agree with PyTorch."""

    kernels: tuple
    reason: str
    when: Callable = field(default=lambda compared: True)
    as_floats: bool = False  # the values are equal within float32 precision
    by_floats: bool = False  # PyTorch's result for floats also applies to other types, because elements are only moved
    undefined: bool = False  # PyTorch rejects the call; Carina's result is harmless
    agrees: Callable = None  # checks Carina's result instead of comparing it with PyTorch's

    def covers(self, compared):
        return compared.name in self.kernels and self.when(compared)


def as_doubles(compared):
    """Whether Carina's result equals PyTorch's result for the same arguments as doubles."""
    operator_, schema = operator_of(compared.name)
    arguments = [
        v.double() if isinstance(v, torch.Tensor) else v
        for v in compared.call.arguments[: len(schema.arguments) - len(compared.wanted)]
    ]
    wanted, _ = evaluated(operator_, schema, arguments)
    return all(
        difference(ours, exact.to(ours.dtype), compared.name) is None for ours, exact in zip(compared.ours, wanted)
    )


def same_elements(compared):
    """Whether Carina's values equal the official ones and are the input's elements at Carina's indices."""
    x, _, dim = compared.call.arguments[:3]
    values, places = compared.ours
    return torch.equal(values, compared.official[0]) and torch.equal(x.gather(dim, places), values)


DEVIATIONS = (
    Deviation(
        ("_adaptive_avg_pool2d.out", "_upsample_bilinear2d_aa.out", "_native_batch_norm_legit.no_stats_out", "native_group_norm.out", "native_layer_norm.out", "remainder.Scalar_out", "remainder.Tensor_out", "sum.IntList_out", "upsample_bilinear2d.vec_out"),
        "computes doubles in floats",
        lambda compared: compared.has(torch.float64),
        as_floats=True,
    ),
    Deviation(
        ("_log_softmax.out", "_softmax.out", "_upsample_bilinear2d_aa.out", "convolution_backward.out", "copy.out", "exp.out", "gather.out", "gelu.out", "max_pool2d_with_indices_backward.grad_input", "nonzero.out",
         "narrow_copy.out", "pixel_unshuffle.out", "replication_pad2d.out", "replication_pad3d.out", "scatter.src_out", "scatter.value_out", "slice_scatter.out", "topk.values", "unsqueeze_copy.out"),
        "reads a tensor of another order of axes than its output's as if it had the output's",
        Compared.is_moved,
    ),  # fmt: skip
    Deviation(("add.out",), "exchanges its operands where the first is broadcast, so that `alpha` multiplies the first", lambda c: c.tensors()[0].shape != c.tensors()[-1].shape),
    Deviation(("fmod.Scalar_out", "remainder.Scalar_out", "remainder.Tensor_out"), "divides before it converts operands to the result's type (-1 beside bytes is 255), and takes the sign of integers from a quotient of floats"),
    Deviation(("fmod.Tensor_out",), "divides integers by zero, which PyTorch rejects; ours gives 0", lambda c: c.has(*WHOLE), undefined=True),
    Deviation(("ceil.out", "floor.out", "trunc.out", "div.out_mode", "div.Scalar_mode_out"), "takes large integers through floats", lambda c: c.has(torch.int32, torch.int64)),
    Deviation(("pow.Tensor_Scalar_out", "pow.Scalar_out"), "takes powers of integers through floats, and no roots where PyTorch does, so that those of -inf are numbers"),
    Deviation(("sum.IntList_out",), "adds integers in floats", lambda c: c.has(torch.int64)),
    Deviation(("div.Scalar_mode_out", "div.out_mode", "floor_divide.out"), "gives infinities of another sign, or none, where it divides by zero or infinity", lambda c: c.has(*REAL)),
    Deviation(("native_layer_norm.out",), "takes the variance from squares, which cancel", lambda c: c.has(torch.float32, torch.float64)),
    Deviation(("_log_softmax.out",), "loses NaN", lambda c: any(t.isnan().any() for t in c.tensors())),
    Deviation(("_upsample_bilinear2d_aa.out", "upsample_bilinear2d.vec_out"), "cuts bytes off where PyTorch rounds them, along each axis", lambda c: c.has(torch.uint8)),
    Deviation(("upsample_nearest2d.vec_out",), "multiplies by the factor also where the size doubles, and PyTorch takes every element twice", by_floats=True),
    Deviation(("grid_sampler_2d.out",), "computes bicubic weights of halves in halves, as PyTorch does; ours are PyTorch's of doubles", lambda c: c.has(torch.float16, torch.bfloat16), agrees=as_doubles),
    Deviation(("var.correction_out", "var_mean.correction_out"), "has no number, of the mean too, where the correction leaves no degree of freedom"),
    Deviation(("topk.values",), "keeps no order of equal elements", agrees=same_elements),
    Deviation(("cat.out",), "writes no complex numbers where a part is empty", lambda c: c.has(*COMPLEX)),
    Deviation(("div.out", "div.out_mode"), "does not broadcast complex numbers", lambda c: c.has(*COMPLEX)),
)  # fmt: skip


# Calls that rows are about and that are seldom drawn: (kernel, arguments).
EXAMPLES = (
    ("sum.IntList_out", [torch.tensor([2**63 - 1, -5, -20, -17, -(2**63)]), [0], True, None]),
    ("native_layer_norm.out", [torch.tensor([[1000.0, 1000.01]]), [2], None, None, 1e-5]),
)


def compared_calls(command, names, draws, seed):
    """Compared, for the examples of these kernels and for `draws` random calls of each. `command`: from official_program()."""
    drawn = [(name, *made_call(name, arguments, Random(seed))) for name, arguments in EXAMPLES if name in names]
    for name in names:
        random = Random(f"{seed} {name} official")
        drawn += [(name, *drawn_call(name, random)) for _ in range(draws)]
    calls = [call for _, call, _ in drawn]
    theirs, ours = run_calls_of(command, calls), run_calls(calls)
    return [Compared(*row, official, own) for row, official, own in zip(drawn, theirs, ours, strict=True)]


def drawn_names():
    return [name for name, draw in NAMED.items() if draw]


def differs(name, a, b, as_floats=False):
    """The difference in the first tensor that differs, or None."""
    pairs = [(x, y) for x, y in zip(a, b) if isinstance(y, torch.Tensor)]
    if as_floats:
        pairs = [(x.float(), y.float()) if y.dtype == torch.float64 else (x, y) for x, y in pairs]
    return next((said for x, y in pairs if (said := difference(x, y, name))), None)


def verdict_of(compared, fired):
    """The error of a call, or None. Carina's result must equal the official one, or a row explains the difference and Carina's equals
    PyTorch's. Rows that apply are added to `fired`."""
    if isinstance(compared.official, str):
        return None
    if isinstance(compared.ours, str):
        return f"{compared.ours}, where the official kernel gives values"
    said = differs(compared.name, compared.ours, compared.official)
    if said is None:
        return None
    for row in DEVIATIONS:
        if not row.covers(compared) or (
            row.as_floats and differs(compared.name, compared.ours, compared.official, as_floats=True)
        ):
            continue
        fired.add(row.reason)
        full = f"aten::{compared.name}"
        if row.agrees is not None:
            return None if row.agrees(compared) else f"{said}; and ours is not what the row says"
        if row.undefined and not compared.is_eager:
            return None
        if not compared.is_eager and not row.by_floats:
            return f"{said}; and PyTorch has no such kernel that could say who is right"
        as_eager = all(
            difference(x, y, full) is None or is_known(full, x, y) for x, y in zip(compared.ours, compared.wanted)
        )
        return None if as_eager else f"{said}; and ours is not PyTorch's either"
    return said
