"""Compares every kernel of the runtime with eager PyTorch and the official quantized kernels, on random arguments. Also compares the
official registry with Carina's, so that a missing kernel is named.

$CARINA_KERNEL_DRAWS: the number of random calls per kernel (24), $CARINA_RANDOM_SEED: their seed.
"""

import math
import operator
import os

import pytest
import torch
from kernel_calls import KernelCall, Out, kernel_names, run_calls
from kernel_draws import drawn_call, larger_capacity, moved_in_memory
from kernel_eager import difference, is_known
from kernel_samples import NAMED, Random

DRAWS = int(os.environ.get("CARINA_KERNEL_DRAWS", "24"))
SEED = int(os.environ.get("CARINA_RANDOM_SEED", "1"))


def check(pairs):
    """Runs calls and lists unexpected results."""
    results = run_calls([call for call, _ in pairs])
    problems = []
    for (call, wanted), got in zip(pairs, results):
        if isinstance(got, str):
            problems.append(f"{call.name}: {got}\n  {call.note}")
            continue
        for ours, theirs in zip(got, wanted, strict=True):
            said = difference(ours, theirs, call.name)
            if said and not is_known(call.name, ours, theirs):
                problems.append(f"{call.name}: {said}\n  {call.note}")
                break
    assert not problems, f"{len(problems)} of {len(pairs)} calls differ:\n" + "\n".join(p[:600] for p in problems[:12])


@pytest.mark.parametrize("name", [name for name, draw in NAMED.items() if draw])
def test_kernel_is_as_eager_pytorch(name):
    random = Random(f"{SEED} {name}")
    check([drawn_call(name, random) for _ in range(DRAWS)])


# The sizes of these outputs are arguments, or the output is written in place.
SIZES_FROM_OUTPUTS = {"index_put_"}


@pytest.mark.parametrize("name", [name for name, draw in NAMED.items() if draw and name not in SIZES_FROM_OUTPUTS])
def test_outputs_planned_larger_get_the_sizes_of_the_inputs(name):
    """Sizes are known only at run time, so memory is planned for the largest."""
    random = Random(f"{SEED} {name} larger")
    check([drawn_call(name, random, capacity=larger_capacity(random)) for _ in range(max(DRAWS // 4, 1))])


# --- kernels whose arguments or results differ from an ATen operator's ---------------------------------------------


def like(*sizes, dtype=torch.float32, capacity=()):
    return Out(torch.empty(sizes, dtype=dtype), capacity=capacity)


def test_copies_convert_between_all_types():
    random = Random(f"{SEED} copies")
    calls = []
    for kernel, extra in (
        ("aten::_to_copy.out", (False, None)),
        ("dim_order_ops::_to_dim_order_copy.out", (False, None)),
        ("dim_order_ops::_clone_dim_order.out", (False, None)),
        ("et_copy::_h2d_copy.out", ()),
        ("et_copy::_d2h_copy.out", ()),
    ):
        for _ in range(DRAWS):
            x = random.tensor(random.shape(), random.dtype(), edges=False)
            wanted = x.to(random.dtype()) if "to_" in kernel else x.clone()
            if wanted.dtype == torch.uint8 and x.is_floating_point():
                x = x.abs()  # PyTorch does not define the conversion of negative floats to bytes
                wanted = x.to(torch.uint8)
            order = (0, 2, 3, 1) if x.dim() == 4 else ()
            calls.append(
                (KernelCall(kernel, [moved_in_memory(random, x), *extra, Out(wanted, order=order)], repr(x)), [wanted])
            )
    check(calls)


def test_fills_leave_what_they_should():
    shape = (3, 2, 4)
    empty = KernelCall("aten::empty.out", [list(shape), None, like(*shape)])
    ordered = KernelCall(
        "dim_order_ops::_empty_dim_order.out", [list(shape), [0, 1, 2], like(*shape, capacity=(4, 2, 4))]
    )
    for got in run_calls([empty, ordered]):
        assert got[0].shape == shape and not got[0].any()


def test_random_numbers_are_even_normal_and_the_same_in_each_run():
    shape = (100, 100)
    calls = [
        KernelCall("aten::rand.out", [list(shape), like(*shape)]),
        KernelCall("aten::randn.out", [list(shape), like(*shape)]),
    ]
    (even,), (normal,) = run_calls(calls)
    assert 0 <= even.min() and even.max() < 1 and abs(even.mean() - 0.5) < 0.02 and abs(even.var() - 1 / 12) < 0.01
    assert abs(normal.mean()) < 0.05 and abs(normal.std() - 1) < 0.05 and normal.abs().max() > 3
    again = run_calls(calls)
    assert torch.equal(again[0][0], even) and torch.equal(again[1][0], normal)
    assert not torch.equal(*(result[0] for result in run_calls([calls[0], calls[0]])))


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout(p):
    x = torch.randn(50, 40)
    outs = [like(50, 40), like(50, 40, dtype=torch.bool)]
    (kept, mask), (same, all_of_it) = run_calls(
        [KernelCall("aten::native_dropout.out", [x, p, train, *outs]) for train in (True, False)]
    )
    assert torch.equal(same, x) and bool(all_of_it.all())
    assert abs(mask.float().mean() - (1 - p)) < 0.05
    torch.testing.assert_close(kept, torch.where(mask, x / (1 - p) if p < 1 else x, torch.zeros(())))


def test_allclose():
    x = torch.tensor([1.0, math.inf, math.nan])
    near = x.clone()
    near[0] += 5e-6
    cases = [
        (x, x, False),
        (x, x, True),
        (x, near, True),
        (x, x + 1, True),
        (x[:2], near[:2], False),
        (x[:1], -x[:1], False),
    ]
    calls = [
        KernelCall("aten::allclose.out", [a, b, 1e-5, 1e-8, nan, False, like(1, dtype=torch.bool)])
        for a, b, nan in cases
    ]
    assert [bool(got[0]) for got in run_calls(calls)] == [torch.allclose(a, b, equal_nan=nan) for a, b, nan in cases]


NUMBERS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "truediv": operator.truediv, "mod": operator.mod,
    "eq": operator.eq, "ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt, "sym_max": max, "sym_min": min,
}  # fmt: skip
ONE_NUMBER = {
    "neg": operator.neg,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
    "sym_float": float,
    "sym_int": int,
    "sym_not": operator.not_,
}


def test_numbers_of_a_program_are_computed_as_in_python():
    calls, wanted = [], []
    for a, b in ((7, 2), (-7, 2), (7, -2), (6, 3), (2.5, 2), (7, 0.5), (-3.5, 1.25), (0, 5)):
        for name, function in NUMBERS.items():
            calls.append(KernelCall(f"executorch_prim::{name}.Scalar", [a, b, Out(0)], f"{a} {b}"))
            wanted.append(function(a, b))
        for name, function in ONE_NUMBER.items():
            calls.append(KernelCall(f"executorch_prim::{name}.Scalar", [a, Out(0)], f"{a}"))
            wanted.append(function(a))
        for name, function in (("floordiv", operator.floordiv), ("mod", operator.mod)):
            calls.append(KernelCall(f"executorch_prim::{name}.int", [int(a), int(b) or 3, Out(0)]))
            wanted.append(function(int(a), int(b) or 3))
        calls.append(KernelCall("executorch_prim::sym_ite.Scalar", [a > b, a, b, Out(0)]))
        wanted.append(a if a > b else b)
    x = torch.tensor([[1.5, 2.0]])
    calls += [KernelCall("aten::sym_size.int", [x, -1, Out(0)]), KernelCall("aten::sym_numel", [x, Out(0)])]
    calls += [
        KernelCall("aten::_local_scalar_dense", [v, Out(0)])
        for v in (torch.tensor([2.5]), torch.tensor(7), torch.tensor(True))
    ]
    wanted += [2, 2, 2.5, 7, True]
    for call, got, want in zip(calls, run_calls(calls), wanted, strict=True):
        assert got[0] == (want if isinstance(want, bool) else pytest.approx(want)), (call.name, call.note, got, want)
    assert run_calls([KernelCall("executorch_prim::floordiv.Scalar", [1, 0, Out(0)])]) == ["invalid argument"]


def test_rows_are_filled_one_by_one():
    rows = torch.zeros(4, 2, 3)
    to = Out(rows[:3], capacity=(4, 2, 3), start=rows)
    (got,), *_ = run_calls([KernelCall("executorch_prim::et_copy_index.tensor", [to, torch.ones(2, 3), 2])])
    assert got.shape == (3, 2, 3) and torch.equal(got[2], torch.ones(2, 3)) and not got[:2].any()


def test_outputs_are_resized_and_too_small_ones_rejected():
    x = torch.tensor([[1, 0, 2], [0, 0, 3]])
    fits, too_small = (
        KernelCall("aten::nonzero.out", [x, like(0, 2, dtype=torch.int64, capacity=(n, 2))]) for n in (6, 2)
    )
    found, rejected = run_calls([fits, too_small])
    assert torch.equal(found[0], x.nonzero()) and rejected == "invalid argument"
    relu = KernelCall("aten::relu.out", [torch.randn(2, 3), like(0, 0, capacity=(5, 4))])
    assert run_calls([relu])[0][0].shape == (2, 3)


# --- ExecuTorch's quantized kernels; the reference is the official library's functions ----------------------------------

CODES = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int16: (-32768, 32767)}


def official(name):
    import executorch.kernels.quantized  # noqa: F401  registers them

    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.quantized_decomposed, base), overload)


def quantized_call(name, arguments, outs):
    """(Carina's call, the outputs of the official kernel)."""
    wanted = [torch.zeros_like(out) for out in outs]
    schema = official(name)._schema.arguments
    positional = [value for value, a in zip(arguments, schema) if not a.kwarg_only]
    keyword = {a.name: value for value, a in zip(arguments, schema) if a.kwarg_only}
    keyword |= {a.name: out for a, out in zip([a for a in schema if a.is_out], wanted)}
    official(name)(*positional, **keyword)
    return KernelCall(
        f"quantized_decomposed::{name}", [*arguments, *(Out(out) for out in outs)], repr(arguments)
    ), wanted


def scales_of(random, *shape, dtype=torch.float32):
    return (random.tensor(shape, edges=False).abs() * 0.05 + 0.01).to(dtype)


def codes_of(random, shape, dtype):
    low, high = CODES[dtype]
    return torch.randint(low, high + 1, shape, generator=torch.Generator().manual_seed(random.getrandbits(40))).to(
        dtype
    )


def finite(random, *shape):
    return random.tensor(shape, edges=False)


def by_tensors(random):
    kind = random.choice(tuple(CODES))
    low, high = CODES[kind]
    scale, zero = scales_of(random, 1, dtype=torch.float64), torch.tensor([random.randint(0, 9)])
    x = finite(random, 3, 5)
    yield quantized_call("quantize_per_tensor.Tensor_out", [x, scale, zero, low, high, kind], [x.to(kind)])
    yield quantized_call(
        "dequantize_per_tensor.Tensor_out",
        [codes_of(random, (3, 5), kind), scale, zero, low, high, kind, torch.float32],
        [x],
    )


def by_channels(random):
    kind, axis = random.choice((torch.int8, torch.uint8)), random.randint(-3, 2)
    low, high = CODES[kind]
    x = finite(random, 2, 3, 4)
    scale, zero = scales_of(random, x.shape[axis], dtype=torch.float64), codes_of(random, (x.shape[axis],), kind).long()
    yield quantized_call("quantize_per_channel.out", [x, scale, zero, axis, low, high, kind], [x.to(kind)])
    yield quantized_call(
        "dequantize_per_channel.out",
        [codes_of(random, x.shape, kind), scale, random.choice((zero, None)), axis, low, high, kind, torch.float32],
        [x],
    )


def by_tokens(random):
    x = finite(random, 2, 3, 8)
    scale, zero = torch.zeros(2, 3, 1, dtype=torch.float64), torch.zeros(2, 3, 1, dtype=torch.int64)
    yield quantized_call("choose_qparams_per_token_asymmetric.out", [x, torch.int8], [scale, zero])
    scale, zero = scales_of(random, 2, 3, 1, dtype=torch.float64), torch.full((2, 3, 1), 4)
    yield quantized_call("quantize_per_token.out", [x, scale, zero, -128, 127, torch.int8], [x.to(torch.int8)])
    yield quantized_call(
        "dequantize_per_token.out",
        [codes_of(random, x.shape, torch.int8), scale, zero, -128, 127, torch.int8, torch.float32],
        [x],
    )


def parameters(random):
    x = finite(random, 4, 7) * random.choice((1, 1e-6, 1e-9, 100)) + random.choice((0, 0, 5, -20))
    low, high = random.choice(((0, 255), (-128, 127)))
    kind = torch.uint8 if low == 0 else torch.int8
    yield quantized_call(
        "choose_qparams.Tensor_out",
        [x, low, high, 1e-6, kind],
        [torch.zeros(1, dtype=torch.float64), torch.zeros(1, dtype=torch.int64)],
    )


def sums(random):
    kind = torch.uint8  # the official kernel ends the process for other types
    low, high = CODES[kind]

    def quantization():
        return [random.uniform(0.01, 0.1), random.randint(0, 9), low, high]

    a, b = codes_of(random, (3, 5), kind), codes_of(random, (3, 5), kind)
    yield quantized_call("add.out", [a, *quantization(), b, *quantization(), *quantization()], [a])


def official_embedding(word):
    import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401  registers them

    return getattr(torch.ops.quantized_decomposed, f"embedding_{word}").default


def embeddings(random):
    rows, columns, groups = random.randint(2, 5), 8, random.choice((1, 2, 4))
    indices = torch.randint(
        0, rows, (random.randint(1, 4),), generator=torch.Generator().manual_seed(random.getrandbits(40))
    )
    scale = scales_of(random, *((rows, groups) if groups > 1 else (rows,)))
    zero = random.choice((None, torch.floor(finite(random, *scale.shape))))
    for word, weight, low, high in (
        ("byte", codes_of(random, (rows, columns), torch.int8), -128, 127),
        ("4bit", codes_of(random, (rows, columns // 2), torch.uint8), -8, 7),
        ("2bit", codes_of(random, (rows, columns // 4), torch.uint8), -2, 1),
    ):
        arguments = [weight, scale, zero, low, high, indices]
        wanted = official_embedding(word)(*arguments)
        yield (
            KernelCall(f"quantized_decomposed::embedding_{word}.out", [*arguments, Out(wanted)], repr(arguments)),
            [wanted],
        )
        half = wanted.half()
        yield (
            KernelCall(
                f"quantized_decomposed::embedding_{word}.dtype_out",
                [*arguments, torch.float16, Out(half)],
                repr(arguments),
            ),
            [half],
        )


def mixed_products(random):
    m, k, n = random.randint(1, 4), 8, random.randint(1, 5)
    x = finite(random, m, k)
    scale = scales_of(random, *random.choice(((n,), (n, 2))))
    yield quantized_call(
        "mixed_mm.out", [x, codes_of(random, (k, n), torch.int8), scales_of(random, k), None], [torch.zeros(m, n)]
    )
    yield quantized_call(
        "mixed_linear.out", [x, codes_of(random, (n, k), torch.int8), scale, None, None], [torch.zeros(m, n)]
    )


@pytest.mark.parametrize("draw", [by_tensors, by_channels, by_tokens, parameters, sums, embeddings, mixed_products])
def test_quantized_kernel_equals_the_official_one(draw):
    random = Random(f"{SEED} {draw.__name__}")
    check([pair for _ in range(DRAWS) for pair in draw(random)])


# --- the official registry -------------------------------------------------------------------------------------------


def yaml_names(path):
    import yaml

    for entry in yaml.safe_load(path.read_text()):
        name = entry.get("op") or entry["func"].split("(")[0]
        yield name if "::" in name else f"aten::{name}"


def test_no_kernel_of_the_official_libraries_is_missing():
    """The kernels that the official runtime has registered, and the tables from which its portable and quantized libraries are built."""
    from pathlib import Path

    import executorch
    from executorch.extension.pybindings import portable_lib

    names = set(portable_lib._get_operator_names())
    folder = Path(executorch.__path__[0]) / "kernels"
    for table in (
        "portable/functions.yaml",
        "portable/custom_ops.yaml",
        "portable/et_copy_ops.yaml",
        "quantized/quantized.yaml",
    ):
        names |= set(yaml_names(folder / table))
    names -= {"aten::allclose.Tensor"}  # returns a new tensor, which no .pte can call
    assert len(names) >= 250
    missing = sorted(names - set(kernel_names()))
    assert not missing, "no kernel for " + ", ".join(missing)


def test_every_aten_kernel_is_drawn_for():
    ours = {name.removeprefix("aten::") for name in kernel_names() if name.startswith("aten::")}
    elsewhere = {"_local_scalar_dense", "sym_numel", "sym_size.int", "allclose.out", "copy_", "empty.out"}
    assert ours - set(NAMED) - elsewhere == set() and set(NAMED) - ours == set()
