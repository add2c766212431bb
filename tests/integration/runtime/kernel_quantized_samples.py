"""Random calls of ExecuTorch's quantized kernels with chosen element types: {name: draw(random, number, code) -> (arguments, outputs)}.

`number`: the type of the values before quantization or after dequantization; `code`: the type of the quantized elements. A kernel may
reject the pair.
"""

import torch

CODES = {
    torch.uint8: (0, 255),
    torch.int8: (-128, 127),
    torch.uint16: (0, 65535),
    torch.int16: (-32768, 32767),
    torch.int32: (-(2**31), 2**31 - 1),
}
NUMBERS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
NARROW = 1000  # test_kernels.py tests larger codes: a float cannot hold the values of all int32 codes


def limits(code):
    return CODES.get(code, (-128, 127))


def codes(r, shape, code):
    low, high = limits(code)
    drawn = torch.randint(
        max(low, -NARROW), min(high, NARROW) + 1, shape, generator=torch.Generator().manual_seed(r.getrandbits(40))
    )
    return drawn.to(code)


def numbers(r, shape, number):
    return r.tensor(shape, torch.float32, edges=False).to(number)


def scales(r, *shape, dtype=torch.float32):
    return (r.tensor(shape, edges=False).abs() * 0.05 + 0.01).to(dtype)


def zeros(r, *shape, low=0):
    return torch.randint(low, low + 10, shape, generator=torch.Generator().manual_seed(r.getrandbits(40)))


def per_tensor(r, number, code):
    return [numbers(r, (3, 5), number), r.uniform(0.01, 0.1), r.randint(0, 9), *limits(code), code], [
        codes(r, (3, 5), code)
    ]


def per_tensor_back(r, number, code):
    return [codes(r, (3, 5), code), r.uniform(0.01, 0.1), r.randint(0, 9), *limits(code), code, number], [
        numbers(r, (3, 5), number)
    ]


def in_tensors(arguments):
    return [
        arguments[0],
        torch.tensor([arguments[1]], dtype=torch.float64),
        torch.tensor([arguments[2]]),
        *arguments[3:],
    ]


def per_channel(r, number, code):
    axis = r.randint(-3, 2)
    x = numbers(r, (2, 3, 4), number)
    return [x, scales(r, x.shape[axis], dtype=torch.float64), zeros(r, x.shape[axis]), axis, *limits(code), code], [
        codes(r, (2, 3, 4), code)
    ]


def per_channel_back(r, number, code):
    axis = r.randint(-3, 2)
    x = codes(r, (2, 3, 4), code)
    return [
        x,
        scales(r, x.shape[axis], dtype=torch.float64),
        r.choice((zeros(r, x.shape[axis]), None)),
        axis,
        *limits(code),
        code,
        number,
    ], [numbers(r, (2, 3, 4), number)]


def per_token(r, number, code):
    return [
        numbers(r, (2, 3, 8), number),
        scales(r, 2, 3, 1, dtype=torch.float64),
        zeros(r, 2, 3, 1),
        *limits(code),
        code,
    ], [codes(r, (2, 3, 8), code)]


def per_token_back(r, number, code):
    return [
        codes(r, (2, 3, 8), code),
        scales(r, 2, 3, 1, dtype=torch.float64),
        zeros(r, 2, 3, 1),
        *limits(code),
        code,
        number,
    ], [numbers(r, (2, 3, 8), number)]


def found(r, number, code):
    return [numbers(r, (4, 7), number), *limits(code), 1e-6, code], [
        torch.zeros(1, dtype=torch.float64),
        torch.zeros(1, dtype=torch.int64),
    ]


def found_per_token(r, number, code):
    return [numbers(r, (2, 3, 8), number), code], [
        torch.zeros(2, 3, 1, dtype=torch.float64),
        torch.zeros(2, 3, 1, dtype=torch.int64),
    ]


def summed(r, number, code):
    """The kernel has no operand of type `number`, so it runs only once, for float32, with each code type."""
    if number != torch.float32:
        return None

    def quantization():
        return [r.uniform(0.01, 0.1), r.randint(0, 9), *limits(code)]

    return [codes(r, (3, 5), code), *quantization(), codes(r, (3, 5), code), *quantization(), *quantization()], [
        codes(r, (3, 5), code)
    ]


def embedded(elements_per_byte, has_type):
    low, high = {1: (-128, 127), 2: (-8, 7), 4: (-2, 1)}[elements_per_byte]

    def draw(r, number, code):
        rows, columns = r.randint(2, 5), 8
        scale = scales(r, rows, r.choice((1, 2))).to(number)
        scale = scale.squeeze(1) if scale.shape[1] == 1 else scale
        zero = r.choice((None, torch.floor(r.tensor(tuple(scale.shape), edges=False)).to(number)))
        weight = codes(r, (rows, columns // elements_per_byte), code)
        arguments = [weight, scale, zero, low, high, zeros(r, 3) % rows]
        return arguments + ([number] if has_type else []), [torch.zeros(3, columns, dtype=number)]

    return draw


def mixed_mm(r, number, code):
    return [numbers(r, (3, 8), number), codes(r, (8, 5), code), scales(r, 8).to(number), None], [
        torch.zeros(3, 5, dtype=number)
    ]


def mixed_linear(r, number, code):
    scale = scales(r, *r.choice(((5,), (5, 2)))).to(number)
    return [numbers(r, (3, 8), number), codes(r, (5, 8), code), scale, None, None], [torch.zeros(3, 5, dtype=number)]


DRAWS = {
    "add.out": summed,
    "choose_qparams.Tensor_out": found,
    "choose_qparams_per_token_asymmetric.out": found_per_token,
    "dequantize_per_channel.out": per_channel_back,
    "dequantize_per_tensor.Tensor_out": lambda r, number, code: (lambda a, outs: (in_tensors(a), outs))(
        *per_tensor_back(r, number, code)
    ),
    "dequantize_per_tensor.out": per_tensor_back,
    "dequantize_per_token.out": per_token_back,
    "embedding_2bit.dtype_out": embedded(4, True),
    "embedding_2bit.out": embedded(4, False),
    "embedding_4bit.dtype_out": embedded(2, True),
    "embedding_4bit.out": embedded(2, False),
    "embedding_byte.dtype_out": embedded(1, True),
    "embedding_byte.out": embedded(1, False),
    "mixed_linear.out": mixed_linear,
    "mixed_mm.out": mixed_mm,
    "quantize_per_channel.out": per_channel,
    "quantize_per_tensor.Tensor_out": lambda r, number, code: (lambda a, outs: (in_tensors(a), outs))(
        *per_tensor(r, number, code)
    ),
    "quantize_per_tensor.out": per_tensor,
    "quantize_per_token.out": per_token,
}
