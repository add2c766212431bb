"""Models with every kind of layer, for comparisons of programs without delegates: name -> (module, inputs)."""

import torch
from torch import nn
from torch.nn import functional


class _Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *values):
        return self.function(*values)


def _functions():
    x, image = torch.randn(3, 8), torch.randn(1, 3, 8, 8)
    rows = {
        "softmax": (lambda v: functional.softmax(v, -1), (torch.randn(2, 2),)),
        "softmax_of_channels": (lambda v: functional.softmax(v, 1), (torch.randn(1, 4, 5, 6),)),
        "log_softmax": (lambda v: functional.log_softmax(v, -1), (x,)),
        "add_of_integers": (lambda v: v + v, (torch.ones(5, dtype=torch.int32),)),
        "add": (lambda v, w: v + w, (x, x)),
        "sub": (lambda v, w: v - w, (x, x)),
        "mul": (lambda v, w: v * w, (x, x)),
        "div": (lambda v, w: v / w, (x, x)),
        "neg": (lambda v: -v, (x,)),
        "exp": (torch.exp, (x,)),
        "floor": (torch.floor, (x,)),
        "square": (lambda v: v**2, (x,)),
        "cube": (lambda v: v**3, (x,)),
        "sqrt": (lambda v: v.abs().sqrt(), (x,)),
        "clamp": (lambda v: v.clamp(0, 1), (x,)),
        "minimum": (torch.minimum, (x, x)),
        "mean": (lambda v: v.mean((2, 3)), (image,)),
        "sum": (lambda v: v.sum(1), (x,)),
        "var": (lambda v: v.var(1), (x,)),
        "amax": (lambda v: v.amax(1), (x,)),
        "max": (lambda v: v.max(1)[0], (x,)),
        "argmax": (lambda v: v.argmax(1), (x,)),
        "topk": (lambda v: v.topk(2)[0], (x,)),
        "cumsum": (lambda v: v.cumsum(1), (x,)),
        "cat": (lambda v, w: torch.cat([v, w], 1), (x, x)),
        "slice": (lambda v: v[:, 1:4], (x,)),
        "select": (lambda v: v[:, 1], (x,)),
        "permute": (lambda v: v.permute(1, 0), (x,)),
        "view": (lambda v: v.view(4, 6), (x,)),
        "flatten": (lambda v: torch.flatten(v, 1), (image,)),
        "squeeze": (lambda v: v.squeeze(1), (torch.randn(3, 1, 2),)),
        "unsqueeze": (lambda v: v.unsqueeze(1), (x,)),
        "expand": (lambda v: v.expand(3, 4, 5), (torch.randn(4, 5),)),
        "repeat": (lambda v: v.repeat(2, 3), (x,)),
        "pad": (lambda v: functional.pad(v, (1, 1)), (x,)),
        "mm": (lambda v, w: v @ w, (torch.randn(4, 5), torch.randn(5, 6))),
        "bmm": (lambda v, w: v @ w, (torch.randn(2, 4, 5), torch.randn(2, 5, 6))),
        "addmm": (torch.addmm, (torch.randn(6), torch.randn(4, 5), torch.randn(5, 6))),
        "gather": (lambda v, i: v.gather(1, i), (x, torch.zeros(3, 2, dtype=torch.int64))),
        "interpolate": (lambda v: functional.interpolate(v, scale_factor=2), (image,)),
        "attention": (functional.scaled_dot_product_attention, tuple(torch.randn(3, 1, 2, 4, 8))),
    }
    return {name: (_Function(function), inputs) for name, (function, inputs) in rows.items()}


def _modules():
    x, image, row = torch.randn(3, 8), torch.randn(1, 4, 8, 8), torch.randn(1, 4, 8)
    return {
        "linear": (nn.Linear(8, 5), (x,)),
        "conv": (nn.Conv2d(4, 3, 3), (image,)),
        "depthwise": (nn.Conv2d(4, 4, 3, groups=4), (image,)),
        "conv_transpose": (nn.ConvTranspose2d(4, 3, 3), (image,)),
        "relu": (nn.ReLU(), (x,)),
        "hardswish": (nn.Hardswish(), (x,)),
        "silu": (nn.SiLU(), (x,)),
        "gelu": (nn.GELU(), (x,)),
        "elu": (nn.ELU(), (x,)),
        "leaky_relu": (nn.LeakyReLU(), (x,)),
        "tanh": (nn.Tanh(), (x,)),
        "sigmoid": (nn.Sigmoid(), (x,)),
        "layer_norm": (nn.LayerNorm(8), (x,)),
        "group_norm": (nn.GroupNorm(2, 4), (image,)),
        "max_pool": (nn.MaxPool2d(2), (image,)),
        "avg_pool": (nn.AvgPool2d(2), (image,)),
        "adaptive_avg_pool": (nn.AdaptiveAvgPool2d(2), (image,)),
        "adaptive_avg_pool_of_parts": (nn.AdaptiveAvgPool2d(3), (image,)),
        "embedding": (nn.Embedding(10, 4), (torch.tensor([[1, 2]]),)),
        "encoder": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (row,)),
        "network": (
            nn.Sequential(
                nn.Conv2d(4, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5), nn.Softmax(1)
            ),
            (image,),
        ),
    }


def undelegated_models():
    """More than 60 models in evaluation mode; the same weights and inputs each time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        models = {**_functions(), **_modules()}
    return {name: (module.eval(), inputs) for name, (module, inputs) in models.items()}
