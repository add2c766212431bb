"""Users' checks of a partitioner divide a network where they say. arm_checks.py has the networks and runs in its own processes."""

import pytest
from arm_programs import run_programs
from tier_plugin import sampled

OPERATORS = (
    "sigmoid",
    "tanh",
    "relu",
    "add",
    "mul",
    "max_pool2d",
    "avg_pool2d",
    "hardswish",
    "gelu",
    "exp",
    "view",
    "softmax",
)
MORE = ("abs", "neg", "sub", "clamp", "hardtanh", "leaky_relu", "elu", "cat", "permute", "slice", "sin", "cos", "atan", "sinh", "cosh",
        "tan", "asinh", "erf", "expm1", "floor", "ceil", "sign", "round", "pow", "cumsum", "log_softmax", "hardsigmoid", "silu", "prelu",
        "flip", "repeat", "constant_pad_nd", "upsample_nearest2d", "upsample_bilinear2d", "index_select", "asin", "acos", "atanh",
        "acosh", "log", "log1p", "rsqrt", "reciprocal", "maximum", "minimum", "where", "mean", "sum", "amax", "amin", "bmm", "unsqueeze",
        "select", "expand", "layer_norm")  # fmt: skip


@pytest.fixture(scope="module")
def outcome(carina, tmp_path_factory):
    return run_programs(carina, tmp_path_factory, "arm_checks.py", sampled("sample", "all"), seconds=7200)


@pytest.mark.parametrize("operator", sampled(OPERATORS[::4], OPERATORS + MORE))
def test_checks_divide_the_network(outcome, operator):
    passed, errors = outcome
    wrong = [line for line in errors.splitlines() if line.startswith(operator + " ")]
    assert operator in passed, "\n".join(wrong) or errors[-4000:]
