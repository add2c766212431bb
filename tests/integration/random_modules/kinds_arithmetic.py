"""Statements that compute elements: functions of one or two tensors, comparisons, integers, bools, reductions and
matrix products."""

from random_modules.kinds import ANY_RANK, Unfit, kind, templates

templates(
    "activation",
    """
    F.relu({x}); torch.relu({x}); F.relu6({x}); F.hardtanh({x}, -0.7, 1.3); F.leaky_relu({x}, 0.2); F.elu({x})
    F.selu({x}); F.celu({x}, 1.3); F.gelu({x}); F.gelu({x}, approximate='tanh'); F.silu({x}); F.mish({x})
    F.hardswish({x}); F.hardsigmoid({x}); torch.sigmoid({x}); torch.tanh({x}); F.softplus({x}); F.softsign({x})
    F.logsigmoid({x}); F.threshold({x}, 0.1, -0.3); F.hardshrink({x}, 0.3); F.softshrink({x}, 0.3); F.tanhshrink({x} + {x}.sign())
    F.glu({x}, {a}); {x} * torch.sigmoid(1.7 * {x}); {x} * F.relu6({x} + 3) / 6
""",
    weight=5,
    ranks=ANY_RANK,
)

templates(
    "function",
    """
    torch.abs({x}); -{x}; torch.exp({x}.clamp(-4, 2)); torch.sqrt({x}.abs() + 0.1); torch.rsqrt({x}.abs() + 0.3)
    torch.log({x}.abs() + 0.5); torch.square({x}); {x} ** 3; {x}.pow(2); torch.reciprocal({x}.abs() + 0.5)
    torch.sin({x}); torch.cos({x}); torch.erf({x}); torch.atan({x}); torch.log1p({x}.abs())
    torch.expm1({x}.clamp(-2, 2)); torch.sinh({x}.clamp(-2, 2)); torch.cosh({x}.clamp(-2, 2))
    torch.pow(2.0, {x}.clamp(-3, 3)); torch.logit({x}.sigmoid(), 1e-2); torch.nan_to_num({x})
    torch.exp2({x}.clamp(-3, 3)); torch.asinh({x}); torch.tan({x}.clamp(-1, 1)); torch.erfc({x})
""",
    weight=4,
    ranks=ANY_RANK,
)

templates(
    "step",
    """
    torch.floor({x}); torch.round({x}); torch.ceil({x}); torch.trunc({x}); torch.sign({x}); torch.frac({x})
    torch.fmod({x}, 1.5); torch.remainder({x}, 0.7); torch.div({x}, 0.5, rounding_mode='floor')
    torch.round({x}, decimals=1)
""",
    weight=1.5,
    ranks=ANY_RANK,
)
templates(
    "scalar",
    """
    {x} + 1.5; {x} * 0.5; {x} - 3; 1 - {x}; {x} / 3; 2 * {x} + 1; 1.0 / ({x}.abs() + 1); {x} * -1.25
    torch.add({x}, 1, alpha=2); torch.rsub({x}, 2.5)
""",
    weight=3,
    ranks=ANY_RANK,
)
templates(
    "clamp",
    """
    torch.clamp({x}, -0.5, 1); torch.clamp({x}, min=0); {x}.clamp(max=0.9); {x}.clip(-1, 1)
    torch.minimum({x}, torch.tensor(0.5)); torch.clamp({x}, torch.tensor(-0.3), torch.tensor(0.8))
""",
    ranks=ANY_RANK,
)
templates(
    "binary",
    """
    {x} + {y}; {x} - {y}; {y} - {x}; {x} * {y}; {x} / ({y} * {y} + 0.5); torch.maximum({x}, {y})
    torch.minimum({x}, {y}); torch.add({x}, {y}, alpha=2); torch.addcmul({x}, {x}, {y}, value=0.5)
    torch.lerp({x}, {y}, 0.3); torch.hypot({x}, {y}); torch.atan2({x}, {y}.abs() + 0.3); ({x} + {y}) * ({x} - {y})
    F.relu({x} + {y}); ({x} - {y}).abs(); ({x} - {y}).pow(2)
""",
    weight=6,
    ranks=ANY_RANK,
)
templates(
    "constant",
    """
    {x} + torch.ones_like({x}); {x} * torch.full_like({x}, 0.25); {x} + torch.arange({x}.shape[-1])
    {x} * torch.linspace(0, 1, {x}.shape[-1]); {x} * torch.hann_window({x}.shape[-1])
    {x} + torch.zeros({x}.shape[-1]) - 1; torch.zeros_like({x}) + {y}
    {x} + torch.arange(0, {x}.shape[-1], dtype=torch.float32) * 0.1; torch.cat([{x}, torch.ones_like({x})], {a})
    {x} * torch.tensor(1.5); {x} + torch.tensor([0.5]); {x} + torch.full((), 2.0)
""",
    weight=2,
)
templates(
    "comparison",
    """
    {x} > 0; {x} > {y}; {x} <= {y}; {x} >= 0.2; {x} < {y}; {x} != {y}; {x} == {y}; torch.isnan({x})
    torch.isfinite({x})
""",
    weight=2,
    ranks=ANY_RANK,
)
templates(
    "where",
    """
    torch.where({x} > 0.1, {x}, {y}); torch.where({x} > {y}, {x}, {y} * 0.5); {x}.masked_fill({x} > 0.5, 0.25)
    {x}.masked_fill({y} < 0, -1.0); ({x} > {y}).to({x}.dtype) * {x}; torch.where({x} > 0, 1.0, 0.0); {x} * ({y} > 0)
""",
    weight=2,
    ranks=ANY_RANK,
)
templates(
    "select_by_bool",
    """
    torch.where({x}, 1.0, 0.5); {x}.float(); {x}.to(torch.int32); {x}.float() * 2 - 1; {x}.sum(); ~{x}
    torch.logical_not({x}); {x}.any({a}); {x}.all({a}); {x} & ~{x}; {x} | (torch.ones_like({x})); {x} ^ {x}.flip({a})
    {x}.float().mean({a}); {x}.any()
""",
    weight=2,
    of="bool",
)
templates(
    "integer",
    """
    {x} + 2; {x} * 3; {x} - 7; {x} // 2; {x} % 5; {x}.float() * 0.25; {x}.to(torch.float32); {x} / 3; {x}.abs(); -{x}
    {x}.clamp(-3, 5); {x} & 3; {x} | 1; {x} ^ 5; {x} << 1; {x} >> 1; ~{x}; torch.div({x}, 3, rounding_mode='trunc')
    torch.maximum({x}, torch.zeros_like({x})); {x}.sum({a}); {x} == 2; torch.where({x} > 1, {x}, {x} * 2)
    F.one_hot({x}.long().clamp(0, 4), 5); {x} + {x}.flip({a}); {x}.amax({a}); {x}.cumsum({a}); {x} * {x}
    {x}.to(torch.int8).to(torch.float32)
""",
    weight=3,
    of="integer",
)
templates(
    "cast",
    """
    ({x} * 4).to(torch.int32); ({x} * 10).to(torch.int64); {x}.to(torch.float64).to(torch.float32); {x}.half().float()
    {x}.bfloat16().float(); ({x} * 20).clamp(-128, 127).to(torch.int8); {x}.abs().clamp(0, 200).to(torch.uint8).float()
    ({x} > 0).to(torch.uint8); {x}.double(); {x}.bool(); ({x} * 3).int().float(); {x}.type_as({y})
    ({x} * 100).clamp(-32768, 32767).to(torch.int16)
""",
    weight=2,
    ranks=ANY_RANK,
)
templates(
    "mixed_types",
    """
    {x} + torch.ones(1, dtype=torch.int32); {x} * torch.tensor(2); {x} + torch.arange({x}.shape[-1]); {x} * ({x} > 0)
    {x} + True; torch.stack([{x}, {x} * 2]).sum(0, dtype=torch.float32)
""",
    weight=1,
)

templates(
    "sum",
    """
    {x}.sum({a}); {x}.sum({a}, keepdim=True); {x}.sum(); {x}.sum((0, -1)); {x}.sum({a}) / 7
""",
    weight=1.5,
)
templates(
    "mean",
    """
    {x}.mean({a}); {x}.mean({a}, keepdim=True); {x}.mean(); {x}.mean((0, -1), keepdim=True)
    {x} - {x}.mean({a}, keepdim=True); {x}.flatten(1).mean(-1)
""",
    weight=2.5,
)
templates(
    "extreme",
    """
    {x}.amax({a}); {x}.amin({a}, keepdim=True); torch.max({x}, {a})[0]; torch.min({x}, {a}, keepdim=True).values
    {x}.amax({a}, keepdim=True) - {x}; {x}.max()
""",
    weight=2,
)
templates(
    "variance",
    """
    {x}.var({a}, correction=0); {x}.std({a}, correction=0, keepdim=True); {x}.var({a}, keepdim=True)
    {x}.std((0, -1), correction=0)
    ({x} - {x}.mean({a}, keepdim=True)) / {x}.std({a}, correction=0, keepdim=True).clamp(min=0.05)
""",
    weight=1.5,
)
templates(
    "other_reduction",
    """
    {x}.clamp(-1.4, 1.4).prod({a}); {x}.logsumexp({a}); torch.linalg.vector_norm({x}, 2, {a}); {x}.norm(dim={a})
    torch.linalg.vector_norm({x}, 1, {a}, keepdim=True); ({x} > 1.0).any({a}); {x}.median({a})[0]
""",
    weight=1.5,
)
templates(
    "arg",
    """
    {x}.argmax({a}); {x}.argmin({a}); {x}.argmax({a}, keepdim=True); {x}.argmax(); torch.max({x}, {a})[1]
""",
    weight=1,
)
templates(
    "running",
    """
    {x}.cumsum({a}); {x}.clamp(-1.2, 1.2).cumprod({a}); torch.cumsum({x}, -1) * 0.1; {x}.diff(dim={a})
""",
    weight=1,
)


@kind("order", weight=1)
def order(draw, x):
    axis = draw.axis(x)
    size = draw.shape(x)[axis]
    if draw.chance(0.5):
        return [f"$0 = torch.topk({x}, {draw.randint(1, max(1, size))}, dim={axis})[0]"]  # ties: any index is right
    return [f"$0, $1 = torch.sort({x}, dim={axis}, descending={draw.chance(0.5)}, stable=True)"]


@kind("matmul", weight=4, ranks=(2, 3, 4, 5))
def matmul(draw, x):
    shape = draw.shape(x)
    other = (
        draw.tensor("float", [(*shape[:-2], shape[-1], None), (shape[-1], None)], default=None)
        if draw.chance(0.4)
        else None
    )
    return f"{x} @ {other}" if other else f"torch.matmul({x}, {x}.transpose(-1, -2))"


@kind("matmul_of_two", weight=4, ranks=(2, 3, 4))
def matmul_of_two(draw, x):
    """A product of two tensors that are computed before it: scaled, activated, or projections of one."""
    depth = draw.shape(x)[-1]
    size = draw.choice([3, 4, 8, 16])
    linear = f"nn.Linear({depth}, {size}, bias={draw.chance(0.7)})"
    operands = [
        "{m}({x})",
        "{m}({x})",
        "F.relu({m}({x}))",
        "{m}({x}) * 0.5",
        "torch.tanh({m}({x}))",
        "{m}({x}) + 1",
        "-{m}({x})",
    ]
    a, b = (draw.choice(operands).format(m=draw.member("linear", linear), x=x) for _ in range(2))
    return [
        f"$0 = {a}",
        f"$1 = {b}",
        draw.choice(["$2 = $0 @ $1.transpose(-2, -1)", "$2 = torch.matmul($0.transpose(-2, -1), $1)"]),
    ]


@kind("matmul_by_constant", weight=2)
def matmul_by_constant(draw, x):
    shape = draw.shape(x)
    batch = list(shape[:-2]) if draw.chance(0.4) else []
    weight = draw.parameter([*batch, shape[-1], draw.randint(1, 17)])
    return draw.choice(
        [
            f"{x} @ {weight}",
            f"torch.matmul({x}, {weight})",
            f"{weight}.transpose(-1, -2) @ {x}.transpose(-1, -2)" if len(shape) > 1 else f"{x} @ {weight}",
        ]
    )


templates(
    "bmm",
    """
    torch.bmm({x}, {x}.transpose(1, 2)); torch.bmm({x}.transpose(1, 2), {x})
    torch.bmm({x} * 0.5, {x}.transpose(1, 2) + 1)
    torch.baddbmm({x} @ {x}.transpose(1, 2), {x}, {x}.transpose(1, 2), beta=0.5, alpha=0.3)
    torch.einsum('bij,bkj->bik', {x}, {x}); torch.einsum('bij,bik->bjk', {x}, {x}); torch.einsum('bij->bji', {x})
    torch.einsum('bij,bij->bi', {x}, {x})
""",
    weight=2,
    ranks=(3,),
)
templates(
    "product_2d",
    """
    torch.mm({x}, {x}.t()); torch.mm({x}.t(), {x}); torch.addmm({x} @ {x}.t(), {x}, {x}.t())
    torch.einsum('ij,kj->ik', {x}, {x}); torch.outer({x}[:, 0], {x}[0]); {x} @ {x}[0]; torch.mv({x}, {x}[0])
""",
    weight=1.5,
    ranks=(2,),
)


@kind("cosine", weight=0.7, ranks=(2, 3, 4))
def cosine(draw, x):
    other = draw.same_shape(x)
    if other == x:
        raise Unfit
    return draw.choice(
        [
            f"F.cosine_similarity({x}, {other}, dim={draw.axis(x)})",
            f"F.pairwise_distance({x}, {other})",
            f"F.mse_loss({x}, {other})",
            f"F.l1_loss({x}, {other}, reduction='none')",
        ]
    )
