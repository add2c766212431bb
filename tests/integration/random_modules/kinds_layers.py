"""Statements with weights, windows and attention: what the layers of a network are made of."""

from random_modules.kinds import Unfit, kind, templates

IMAGES = (3, 4, 5)  # ranks with a batch, channels and one to three axes of a window


def windows(draw, x, largest=5):
    """Kernel, stride, padding and dilation for each spatial axis."""
    spatial = draw.shape(x)[2:]
    largest = largest if len(spatial) < 3 else 3
    kernel = [draw.randint(1, largest) for _ in spatial]
    if draw.chance(0.6):
        kernel = [kernel[0]] * len(spatial)
    stride = [draw.choice([1, 1, 1, 2, 2, 3]) for _ in spatial]
    dilation = [draw.choice([1, 1, 1, 1, 2, 3]) for _ in spatial]
    return kernel, stride, [draw.randint(0, size // 2) for size in kernel], dilation


def groups_of(draw, channels):
    return draw.choice([divisor for divisor in range(1, channels + 1) if channels % divisor == 0])


@kind("conv", weight=5, ranks=IMAGES)
def conv(draw, x):
    channels, kernel, stride, padding, dilation = draw.shape(x)[1], *windows(draw, x)
    groups = draw.choice([1, 1, 1, groups_of(draw, channels)])
    out = groups * draw.randint(1, max(1, draw.choice([8, 24, 48]) // groups))
    given = f"{channels}, {out}, {kernel}, dilation={dilation}, groups={groups}, bias={draw.chance(0.8)}"
    if draw.chance(0.15):
        given += ", padding='same'"
    else:
        given += f", stride={stride}, padding={padding}"
        if draw.chance(0.12):
            given += f", padding_mode='{draw.choice(['reflect', 'replicate', 'circular'])}'"
    return f"{draw.member('conv', f'nn.Conv{len(kernel)}d({given})')}({x})"


@kind("conv_long", weight=1, ranks=(3, 4))
def conv_long(draw, x):
    """A kernel that is long in one axis, with any stride: a first layer on raw audio, which an NPU rejects as it is."""
    channels, *spatial = draw.shape(x)[1:]
    axis = max(range(len(spatial)), key=lambda i: spatial[i])
    kernel, stride, padding = [1] * len(spatial), [1] * len(spatial), [0] * len(spatial)
    kernel[axis] = draw.randint(max(1, spatial[axis] // 2), spatial[axis] + 80)
    padding[axis] = max(kernel[axis] - spatial[axis] + 1, draw.choice([0, 1, kernel[axis] // 2]))
    stride[axis] = draw.choice([1, 2, 4, draw.randint(3, 16)])
    groups = draw.choice([1, 1, channels, groups_of(draw, channels)])
    given = f"{channels}, {groups * draw.randint(1, 3)}, {kernel}, {stride}, {padding}, groups={groups}"
    return f"{draw.member('conv', f'nn.Conv{len(kernel)}d({given})')}({x})"


@kind("conv_1x1", weight=2, ranks=IMAGES)
def conv_1x1(draw, x):
    return f"{draw.member('conv', f'nn.Conv{draw.rank(x) - 2}d({draw.shape(x)[1]}, {draw.choice([1, 3, 8, 16, 17, 21, 40])}, 1)')}({x})"


@kind("depthwise", weight=3, ranks=IMAGES)
def depthwise(draw, x):
    channels, kernel, stride, padding, dilation = draw.shape(x)[1], *windows(draw, x)
    given = f"{channels}, {channels * draw.choice([1, 1, 1, 2, 3])}, {kernel}, {stride}, {padding}, {dilation}, groups={channels}"
    return f"{draw.member('conv', f'nn.Conv{len(kernel)}d({given})')}({x})"


@kind("conv_transpose", weight=3, ranks=IMAGES)
def conv_transpose(draw, x):
    channels, kernel, stride, _, dilation = draw.shape(x)[1], *windows(draw, x)
    groups = draw.choice([1, 1, 1, groups_of(draw, channels)])
    padding = [draw.randint(0, size - 1) for size in kernel]
    extra = [
        draw.randint(0, max(step, gap) - 1) if draw.chance(0.4) else 0
        for step, gap in zip(stride, dilation, strict=True)
    ]
    given = f"{channels}, {groups * draw.randint(1, 8)}, {kernel}, {stride}, {padding}, {extra}, groups={groups}, bias={draw.chance(0.8)}, dilation={dilation}"
    return f"{draw.member('conv', f'nn.ConvTranspose{len(kernel)}d({given})')}({x})"


@kind("max_pool", weight=2, ranks=IMAGES)
def max_pool(draw, x):
    kernel, stride, padding, dilation = windows(draw, x, 4)
    return f"F.max_pool{len(kernel)}d({x}, {kernel}, {stride}, {padding}, {dilation if draw.chance(0.3) else 1}, ceil_mode={draw.chance(0.3)})"


@kind("avg_pool", weight=2, ranks=IMAGES)
def avg_pool(draw, x):
    kernel, stride, padding, _ = windows(draw, x, 4)
    divisor = f", divisor_override={draw.randint(1, 9)}" if len(kernel) > 1 and draw.chance(0.15) else ""
    return f"F.avg_pool{len(kernel)}d({x}, {kernel}, {stride}, {padding}, ceil_mode={draw.chance(0.3)}, count_include_pad={draw.chance(0.6)}{divisor})"


@kind("adaptive_pool", weight=2, ranks=IMAGES)
def adaptive_pool(draw, x):
    sizes = [draw.choice([1, 1, 2, 3, size]) for size in draw.shape(x)[2:]]
    return f"F.adaptive_{draw.choice(['avg', 'avg', 'max'])}_pool{len(sizes)}d({x}, {sizes})"


@kind("resize", weight=4, ranks=IMAGES)
def resize(draw, x):
    spatial = draw.shape(x)[2:]
    smooth = {1: "linear", 2: "bilinear", 3: "trilinear"}[len(spatial)]
    mode = draw.choice(["nearest", "nearest-exact", smooth, smooth, smooth])
    corners = f", align_corners={draw.chance(0.4)}" if mode == smooth else ""
    if draw.chance(0.6):
        return f"F.interpolate({x}, scale_factor={draw.choice([2, 2, 2, 3, 4, 0.5, 1.5])}, mode='{mode}'{corners})"
    return f"F.interpolate({x}, size={[draw.choice([1, 2 * size, draw.randint(1, 20)]) for size in spatial]}, mode='{mode}'{corners})"


@kind("pixel_shuffle", weight=1, ranks=(4,))
def pixel_shuffle(draw, x):
    _, channels, height, width = draw.shape(x)
    if channels % 4 == 0 and draw.chance(0.6):
        return f"F.pixel_shuffle({x}, 2)"
    if height % 2 == 0 and width % 2 == 0:
        return f"F.pixel_unshuffle({x}, 2)"
    return f"F.channel_shuffle({x}, {groups_of(draw, channels)})"


@kind("linear", weight=3)
def linear(draw, x):
    return f"{draw.member('linear', f'nn.Linear({draw.shape(x)[-1]}, {draw.choice([1, 2, 5, 8, 10, 16, 17, 33])}, bias={draw.chance(0.7)})')}({x})"


@kind("batch_norm", weight=2, ranks=(2, 3, 4, 5))
def batch_norm(draw, x):
    axes = max(1, draw.rank(x) - 2)
    return f"{draw.member('norm', f'nn.BatchNorm{axes}d({draw.shape(x)[1]}, affine={draw.chance(0.8)})')}({x})"


@kind("layer_norm", weight=2)
def layer_norm(draw, x):
    shape = list(draw.shape(x)[-draw.randint(1, min(2, draw.rank(x))) :])
    return f"{draw.member('norm', f'nn.LayerNorm({shape}, elementwise_affine={draw.chance(0.8)})')}({x})"


@kind("group_norm", weight=1, ranks=IMAGES)
def group_norm(draw, x):
    channels = draw.shape(x)[1]
    if draw.chance(0.3):
        return f"F.instance_norm({x})"
    return f"{draw.member('norm', f'nn.GroupNorm({groups_of(draw, channels)}, {channels})')}({x})"


templates(
    "rms_norm",
    """
    F.rms_norm({x}, [{x}.shape[-1]]); {x} * torch.rsqrt({x}.pow(2).mean(-1, keepdim=True) + 1e-5)
""",
    weight=1,
)
templates(
    "normalize",
    """
    F.normalize({x}, dim={a}); F.normalize({x}, dim=0); F.normalize({x}, p=1.0, dim={a})
    {x} / {x}.norm(dim={a}, keepdim=True).clamp(min=1e-3)
""",
    weight=2,
)
templates(
    "softmax",
    """
    F.softmax({x}, {a}); F.softmax({x}, -1); F.log_softmax({x}, {a}); F.softmin({x}, {a}); F.softmax({x} * 5, {a})
""",
    weight=2,
)


@kind("prelu", weight=1, ranks=(2, 3, 4, 5))
def prelu(draw, x):
    return f"{draw.member('prelu', f'nn.PReLU({draw.choice([1, draw.shape(x)[1]])})')}({x})"


@kind("shared_module", weight=2)
def shared_module(draw, x):
    """A module that is called twice: by another statement, or here."""
    if draw.called_modules() and draw.chance(0.7):
        return f"self.{draw.choice(draw.called_modules())}({x})"
    size = draw.shape(x)[-1]
    module = draw.member("linear", f"nn.Linear({size}, {size})")
    return [f"$0 = {module}({x})", f"$1 = {module}(F.relu($0))"]


def mask_of(draw, rows, columns):
    """The text of a mask for `rows` queries and `columns` keys, as people write them. The last key of no row is
    hidden everywhere."""
    ones = f"torch.ones({rows}, {columns})"
    bools = [
        f"torch.tril({ones}).bool()",
        f"{ones}.tril().bool()",
        f"torch.arange({columns}) >= torch.arange({rows})[:, None] - 1",
        f"{ones}.bool()",
    ]
    bools += (
        [f"({draw.tensor('float', [(rows, columns)])} > -1) | torch.eye({rows}, {columns}).bool()"]
        if draw.has("float", [(rows, columns)])
        else []
    )
    hidden = draw.choice(["float('-inf')", "-torch.inf", "torch.finfo(torch.float32).min", "-10000.0", "-1e4"])
    added = [
        f"torch.triu(torch.full(({rows}, {columns}), {hidden}), diagonal=1)",
        f"torch.zeros({rows}, {columns}).masked_fill({ones}.triu(1).bool(), {hidden})",
        f"(1.0 - {ones}.tril()) * -10000.0",
    ]
    return draw.choice(bools), draw.choice(added), hidden


@kind("attention", weight=3, ranks=(3, 4))
def attention(draw, x):
    q, k, v = x, *(draw.same_shape(x) if draw.chance(0.4) else x for _ in range(2))
    rows = draw.shape(x)[-2]
    boolean, added, _ = mask_of(draw, rows, rows)
    # PyTorch reads a mask of another type than the query's as if it had the query's (seen in float64).
    masks = ["", "", ", is_causal=True", f", attn_mask={boolean}", f", attn_mask=({added}).to({q}.dtype)"]
    return f"F.scaled_dot_product_attention({q}, {k}, {v}{draw.choice(masks)})"


@kind("attention_by_hand", weight=3, ranks=(2, 3, 4))
def attention_by_hand(draw, x):
    rows, depth = draw.shape(x)[-2:]
    boolean, added, hidden = mask_of(draw, rows, rows)
    scores = f"{x} @ {x}.transpose(-2, -1) / math.sqrt({depth})"
    masked = draw.choice(
        [
            scores,
            f"{scores} + {added}",
            f"({scores}).masked_fill(~({boolean}), {hidden})",
            f"torch.where({boolean}, {scores}, {hidden})",
        ]
    )
    return [f"$0 = {masked}", f"$1 = F.softmax($0, dim=-1) @ {x}"]


@kind("heads", weight=2, ranks=(3,))
def heads(draw, x):
    """Projections, heads, attention, heads together: a transformer's block without its module."""
    batch, rows, depth = draw.shape(x)
    heads, size = draw.choice([1, 2, 4]), draw.choice([2, 4, 8])
    project = draw.member("linear", f"nn.Linear({depth}, {3 * heads * size})")
    split = draw.choice(
        [
            [f"$1, $2, $3 = $0.view({batch}, {rows}, 3, {heads}, {size}).permute(2, 0, 3, 1, 4)"],
            [
                f"$1, $2, $3 = [part.reshape({batch}, {rows}, {heads}, {size}).transpose(1, 2) for part in $0.chunk(3, -1)]"
            ],
        ]
    )
    boolean, added, _ = mask_of(draw, rows, rows)
    mask = draw.choice(["", ", is_causal=True", f", attn_mask={boolean}", f", attn_mask={added}"])
    return [
        f"$0 = {project}({x})",
        *split,
        f"$4 = F.scaled_dot_product_attention($1, $2, $3{mask})",
        f"$5 = $4.transpose(1, 2).reshape({batch}, {rows}, {heads * size})",
    ]


@kind("multihead", weight=1, ranks=(3,))
def multihead(draw, x):
    _, rows, depth = draw.shape(x)
    heads = draw.choice([h for h in (1, 2, 4) if depth % h == 0])
    module = draw.member("attention", f"nn.MultiheadAttention({depth}, {heads}, batch_first=True)")
    mask = draw.choice(
        [
            "",
            "",
            f", attn_mask=torch.triu(torch.ones({rows}, {rows}), 1).bool()",
            f", attn_mask=torch.triu(torch.full(({rows}, {rows}), float('-inf')), 1)",
        ]
    )
    return f"{module}({x}, {x}, {x}, need_weights={draw.chance(0.3)}{mask})[0]"


@kind("encoder_layer", weight=0.5, ranks=(3,))
def encoder_layer(draw, x):
    depth = draw.shape(x)[-1]
    heads = draw.choice([h for h in (1, 2) if depth % h == 0])
    return f"{draw.member('block_norm', f'nn.TransformerEncoderLayer({depth}, {heads}, {draw.choice([4, 16])}, batch_first=True, norm_first={draw.chance(0.5)})')}({x})"


@kind("recurrent", weight=1, ranks=(3,))
def recurrent(draw, x):
    if draw.shape(x)[0] * draw.shape(x)[1] > 24:
        raise Unfit
    name = draw.choice(["LSTM", "GRU", "RNN"])
    module = draw.member(
        "recurrent",
        f"nn.{name}({draw.shape(x)[2]}, {draw.randint(1, 8)}, batch_first={draw.chance(0.6)}, bidirectional={draw.chance(0.3)})",
    )
    return f"{module}({x})[0]"


@kind("cells", weight=0.5, ranks=(3,))
def cells(draw, x):
    """A loop in the user's code over the steps of axis 1."""
    batch, steps, depth = draw.shape(x)
    if batch * steps > 24:
        raise Unfit
    size = draw.randint(1, 8)
    cell = draw.member("cell", f"nn.{draw.choice(['GRUCell', 'RNNCell'])}({depth}, {size})")
    return (
        f"torch.stack((lambda h: [h := {cell}({x}[:, t], h) for t in range({steps})])(torch.zeros({batch}, {size})), 1)"
    )


@kind("embedding", weight=1, of="integer", ranks=(0, 1, 2, 3))
def embedding(draw, x):
    return f"{draw.member('embedding', f'nn.Embedding(9, {draw.choice([1, 3, 8, 16])})')}({x}.long().clamp(0, 8))"
