"""Statements that move elements: orders of axes, shapes, slices, joins, indices, writes in place, and empty tensors."""

import math

from random_modules.kinds import ANY_RANK, Unfit, kind, templates, texts_of


@kind("permute", weight=3, of="any", ranks=(2, 3, 4, 5))
def permute(draw, x):
    return f"{x}.permute({draw.shuffled(range(draw.rank(x)))})"


templates(
    "transpose",
    """
    {x}.transpose(0, -1); {x}.transpose(1, -1); {x}.transpose(-2, -1); {x}.mT; torch.swapaxes({x}, 0, 1)
    torch.movedim({x}, 1, -1); torch.movedim({x}, -1, 1)
""",
    weight=2,
    ranks=(2, 3, 4, 5),
    of="any",
)
templates(
    "memory_format",
    """
    {x}.contiguous(memory_format=torch.channels_last); {x}.to(memory_format=torch.channels_last)
    {x}.permute(0, 2, 3, 1); {x}.permute(0, 3, 1, 2); {x}.permute(0, 2, 3, 1).contiguous()
""",
    weight=2,
    ranks=(4,),
)


@kind("reshape", weight=3, of="any")
def reshape(draw, x):
    count, factors = math.prod(draw.shape(x)), []
    while count > 1 and len(factors) < 4:
        factor = draw.choice([divisor for divisor in range(2, min(count, 40) + 1) if count % divisor == 0] or [count])
        factors.append(factor)
        count //= factor
    factors = draw.shuffled([*factors, count] if count > 1 or not factors else factors)
    if draw.chance(0.4):
        factors[draw.randint(0, len(factors) - 1)] = -1
    return f"{x}.reshape({factors})"


templates(
    "flatten",
    """
    {x}.flatten(); torch.flatten({x}, 1); {x}.flatten(-2); {x}.flatten(0, 1); {x}.view(-1); {x}.unflatten(0, (1, -1))
    {x}.reshape({x}.shape[0], -1)
""",
    weight=2,
    of="any",
)
templates(
    "rank",
    """
    {x}.unsqueeze(0); {x}.unsqueeze(-1); {x}.unsqueeze({a}); {x}.squeeze(); {x}.squeeze({a}); {x}[None]
    {x}[..., None]
""",
    weight=2,
    of="any",
)
templates(
    "expand",
    """
    {x}.expand(2, *{x}.shape)
    {x}.unsqueeze({a}).expand(*[-1 if i != {a} % ({x}.dim() + 1) else 3 for i in range({x}.dim() + 1)])
    {x}[None].expand(3, *{x}.shape) * 1.0
""",
    weight=1,
)


@kind("repeat", weight=1.5, of="any")
def repeat(draw, x):
    times = [draw.choice([1, 1, 2, 3]) for _ in range(draw.rank(x) + draw.choice([0, 0, 1]))]
    return draw.choice(
        [
            f"{x}.repeat({times})",
            f"torch.tile({x}, {tuple(times)})",
            f"{x}.repeat_interleave({draw.randint(1, 3)}, {draw.axis(x)})",
        ]
    )


@kind("unfold", weight=3)
def unfold(draw, x):
    axis = draw.axis(x)
    return f"{x}.unfold({axis}, {draw.randint(1, max(1, draw.shape(x)[axis]))}, {draw.randint(1, 3)})"


@kind("im2col", weight=0.7, ranks=(4,))
def im2col(draw, x):
    return f"F.unfold({x}, {draw.randint(1, 3)}, padding={draw.randint(0, 1)}, stride={draw.randint(1, 2)})"


@kind("pad", weight=2)
def pad(draw, x):
    shape = draw.shape(x)
    axes = draw.randint(1, min(len(shape), 3))
    amounts = [draw.randint(-1 if draw.chance(0.2) else 0, 3) for _ in range(2 * axes)]
    return f"F.pad({x}, {amounts}, value={draw.choice([0.0, 0.0, 1.0, -0.5])})"


@kind("pad_mode", weight=1, ranks=(2, 3, 4, 5))
def pad_mode(draw, x):
    shape = draw.shape(x)
    amounts = [
        draw.randint(0, max(0, min(3, shape[-1 - i // 2] - 1))) for i in range(2 * max(1, min(2, len(shape) - 1)))
    ]
    return f"F.pad({x}, {amounts}, mode='{draw.choice(['reflect', 'replicate', 'circular'])}')"


@kind("cat", weight=5, of="any")
def cat(draw, x):
    shape, axis = draw.shape(x), draw.axis(x)
    wanted = tuple(None if i == axis % len(shape) else size for i, size in enumerate(shape))
    parts = draw.shuffled([x, *(draw.tensor("any", [wanted], default=x) for _ in range(draw.randint(1, 3)))])
    return f"torch.cat([{', '.join(parts)}], dim={axis})"


@kind("stack", weight=3, of="any", ranks=(0, 1, 2, 3, 4))
def stack(draw, x):
    parts = draw.shuffled([x, *(draw.same_shape(x) for _ in range(draw.randint(1, 2)))])
    return f"torch.stack([{', '.join(parts)}], dim={draw.randint(-1, draw.rank(x))})"


@kind("split", weight=2, of="any")
def split(draw, x):
    axis = draw.axis(x)
    size = draw.shape(x)[axis]
    parts = draw.randint(2, 3)
    if size < parts:
        raise Unfit
    names = ", ".join(f"${i}" for i in range(parts))
    per = -(-size // parts)
    sizes = [per] * (size // per) + [size % per] * (size % per > 0)
    if len(sizes) != parts:
        return f"{x}.split({draw.randint(1, size)}, dim={axis})[{draw.choice([0, -1])}]"
    return [
        f"{names} = {draw.choice([f'torch.chunk({x}, {parts}, dim={axis})', f'{x}.split({sizes}, dim={axis})', f'torch.split({x}, {per}, {axis})'])}"
    ]


templates(
    "unbind",
    """
    {x}.unbind({a})[0]; {x}.unbind({a})[-1] * 2; torch.unbind({x})[-1]
""",
    weight=1,
    of="any",
)


@kind("slice", weight=5, of="any")
def slices(draw, x):
    """x[:, 1:3, ::2, -1], with steps, negative bounds, picked elements and new axes."""
    texts = []
    for size in draw.shape(x):
        first = draw.randint(0, max(0, size - 1))
        texts.append(
            draw.choice(
                [
                    ":",
                    ":",
                    ":",
                    f"{first}:",
                    f"{first}:{draw.randint(first + 1, max(size, first + 1))}",
                    f"::{draw.randint(1, 3)}",
                    f"1::{draw.randint(1, 2)}",
                    f"-{draw.randint(1, max(1, size))}:",
                    ":-1",
                    f"{first}",
                ]
            )
        )
    if draw.chance(0.1):
        texts.insert(draw.randint(0, len(texts)), "None")
    return f"{x}[{', '.join(texts)}]"


templates(
    "select",
    """
    {x}[0]; {x}[-1]; {x}.select({a}, 0); {x}[..., 0]; {x}.narrow({a}, 0, 1); {x}[:, -1]; {x}[:, 0]
""",
    weight=2,
    of="any",
)
templates(
    "flip",
    """
    {x}.flip({a}); {x}.flip(0, -1); torch.roll({x}, 1, {a}); torch.roll({x}, -2, -1); torch.roll({x}, 3)
    torch.rot90({x}, 1, (0, 1))
""",
    weight=2,
    of="any",
)
templates(
    "triangle",
    """
    torch.tril({x}); torch.triu({x}, 1); {x} * torch.eye({x}.shape[-2], {x}.shape[-1]); torch.diagonal({x}, 0, -2, -1)
""",
    weight=1,
    ranks=(2, 3, 4),
)


@kind("index", weight=3, of="any")
def index(draw, x):
    shape, axis = draw.shape(x), draw.axis(x)
    size = shape[axis]
    if size == 0:
        raise Unfit
    axis %= len(shape)
    picked = [draw.randint(0, size - 1) for _ in range(draw.randint(1, 6))]
    before = ":, " * axis
    ways = [
        f"{x}.index_select({axis}, torch.tensor({picked}))",
        f"{x}[{before}torch.tensor({picked})]",
        f"{x}[{before}{picked}]",
    ]
    chosen = [True, *(draw.chance(0.6) for _ in range(size - 1))]
    ways.append(f"{x}[{before}torch.tensor({[i for i, taken in enumerate(chosen) if taken]})]")
    if draw.has("integer", None):
        ways.append(f"{x}.index_select({axis}, {draw.tensor('integer', None)}.reshape(-1).long().clamp(0, {size - 1}))")
    if len(shape) > 1:
        ways.append(
            f"{x}[torch.tensor({[draw.randint(0, shape[0] - 1) for _ in picked]}), torch.tensor({[draw.randint(0, shape[1] - 1) for _ in picked]})]"
        )
    return draw.choice(ways)


@kind("gather", weight=1)
def gather(draw, x):
    shape, axis = list(draw.shape(x)), draw.axis(x)
    size, shape[axis] = shape[axis], draw.randint(1, 4)
    places = draw.buffer(
        "places", f"torch.randint(0, {size}, {shape}, generator=torch.Generator().manual_seed({draw.randint(0, 99)}))"
    )
    return draw.choice(
        [
            f"{x}.gather({axis}, {places})",
            f"torch.take_along_dim({x}, {places}, {axis})",
            f"{x}.scatter({axis}, {places}, 0.5)",
            f"{x}.scatter_add({axis}, {places}, {x}.narrow({axis}, 0, 1).expand({shape}))",
        ]
    )


WRITES = """
    $0[{s}] = 0.5; $0[{s}] = {x}[{s}] * 2; $0[{s}] += 1; $0[{s}] *= 0.25; $0.add_({y}); $0.mul_(0.5); $0.relu_()
    $0.clamp_(-1, 1); $0.sub_({x}); $0[{s}].mul_(3); $0.masked_fill_($0 > 0.5, 0.25); $0.transpose(0, -1).add_(1)
    $0.view(-1)[::2].mul_(2); torch.sigmoid_($0); F.relu($0, inplace=True); $0.copy_({x} + 1); $0.fill_(0.3)
    $0.index_add_({a}, torch.tensor([0]), {x}.narrow({a}, 0, 1)); $0.narrow({a}, 0, 1).copy_({x}.narrow({a}, 0, 1))
    $0[$0 < 0] = 0; $0.select({a}, 0).zero_(); $0.index_copy_({a}, torch.tensor([0]), {x}.narrow({a}, 0, 1))
    $0.flatten()[0] = 2.0; $0 += {x}; $0 -= {y}; F.leaky_relu_($0, 0.1); $0.squeeze(0).add_(0.5)
"""


@kind("in_place", weight=3)
def in_place(draw, x):
    """A copy, a write into it or into a view of it, and what reads it afterwards."""
    axis = draw.axis(x) % draw.rank(x)
    size = draw.shape(x)[axis]
    first = draw.randint(0, max(0, size - 1))
    part = ":, " * axis + f"{first}:{draw.randint(first + 1, max(size, first + 1))}{draw.choice(['', '', ':2'])}"
    start = draw.choice([f"$0 = {x}.clone()", f"$0 = {x} * 1.5", f"$0 = torch.zeros_like({x})"])
    writes = [
        draw.choice(texts_of(WRITES)).format(s=part, x=x, y=draw.broadcasting(x), a=axis)
        for _ in range(draw.choice([1, 1, 2]))
    ]
    if draw.chance(0.25):
        return [start, "$1 = $0.view(-1)", *writes, "$2 = $1 * 2"]
    return [start, *writes]


@kind("empty", weight=1)
def empty(draw, x):
    axis = draw.axis(x)
    return draw.choice(
        [
            f"{x}.narrow({axis}, 0, 0)",
            f"torch.cat([{x}.narrow({axis}, 0, 0), {x}], {axis})",
            f"{x}.narrow({axis}, 0, 0).sum({axis})",
            f"torch.cat([{x}, torch.zeros(0)])" if draw.rank(x) == 1 else f"{x}[0:0] * 2",
        ]
    )


templates(
    "copy",
    """
    {x}.clone(); {x}.contiguous(); {x}.detach(); F.dropout({x}, 0.5, training=False); nn.Identity()({x})
    {x}.to({x}.dtype)
""",
    weight=1,
    ranks=ANY_RANK,
    of="any",
)
templates(
    "meshgrid",
    """
    torch.meshgrid({x}.flatten()[:4], {x}.flatten()[:3], indexing='ij')[1]
    torch.cartesian_prod({x}.flatten()[:3], {x}.flatten()[:2])
    torch.broadcast_tensors({x}.flatten()[:3], torch.ones(2, 3))[0]
    torch.block_diag({x}.flatten()[None, :3], {x}.flatten()[None, :2]); torch.atleast_3d({x}.flatten())
    torch.hstack([{x}, {x}]); torch.vstack([{x}, {x}])
""",
    weight=0.7,
)
