"""fp16 and bf16 models: the file of `carina tosa` gives eager PyTorch's values within the type's rounding. fp16 runs in the official TOSA
reference model. Its Python interface does not support bf16, so bf16 runs in Carina's interpreter, which test_conformance.py checks."""

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from interpreter_reference import interpret
from torch import nn
from function_as_module import Fn


MODELS = {
    "conv": (lambda: nn.Conv2d(3, 4, 3), (1, 3, 8, 8)),
    "conv_without_bias": (lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False), (1, 3, 8, 8)),
    "depthwise": (lambda: nn.Conv2d(4, 4, 3, groups=4), (1, 4, 8, 8)),
    "groups": (lambda: nn.Conv2d(4, 4, 3, groups=2), (1, 4, 8, 8)),
    "linear": (lambda: nn.Linear(8, 5), (3, 8)),
    "pad": (lambda: nn.ConstantPad1d(1, 0.5), (1, 2, 3)),
    "bmm": (lambda: Fn(lambda x: torch.bmm(x, x.transpose(1, 2))), (2, 3, 4)),
    "arithmetic": (lambda: Fn(lambda x: (x * 0.3 + x / 7 - 1) / (x * x + 1) + torch.add(x, x, alpha=0.5)), (3, 40)),
    "functions": (
        lambda: Fn(lambda x: torch.tanh(x) + torch.sqrt(x.abs()) + F.gelu(x) + torch.atan(x) + F.elu(x)),
        (3, 40),
    ),
    "softmax": (lambda: nn.Softmax(-1), (3, 40)),
    "layer_norm": (lambda: nn.LayerNorm(16), (3, 16)),
    "conv_bn_relu": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU6()), (1, 3, 8, 8)),
    "reductions": (lambda: Fn(lambda x: x.mean(-1) + x.sum(-1) + x.amax(-1) + x.var(-1)), (3, 40)),
    "casts": (lambda: Fn(lambda x: (x.float() * 1.7).to(x.dtype).clamp(-1, 1)), (3, 40)),
    "pad_one": (lambda: nn.ConstantPad2d((1, 0, 2, 1), 1.0), (1, 2, 3, 4)),
}
# Results may differ by a few roundings: some sums are accumulated in fp32, in another order.
STEP = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}


@pytest.mark.parametrize("dtype", STEP, ids=["fp16", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_values_of_eager(name, dtype, run_carina, reference_model, tmp_path):
    torch.manual_seed(len(name))
    make, shape = MODELS[name]
    model, x = make().eval().to(dtype), torch.randn(shape).to(dtype)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "model.pt2")
    run_carina(["tosa", tmp_path / "model.pt2", "-o", tmp_path / "model.tosa"])
    if dtype == torch.float16:
        (got,) = reference_model(tmp_path / "model.tosa", [x.numpy()])
    else:
        (tmp_path / "cases").mkdir()
        given = x.float().numpy().astype(ml_dtypes.bfloat16)
        ((bits,),) = interpret(tmp_path / "cases", [((tmp_path / "model.tosa").read_bytes(), [given])])
        got = bits.view(ml_dtypes.bfloat16)
    wanted = model(x).detach().float().numpy()
    np.testing.assert_allclose(np.asarray(got, np.float32), wanted, rtol=4 * STEP[dtype], atol=2 * STEP[dtype])
