"""Makes a failing network small, while it still fails.

In turn, until nothing helps: one output instead of several; an earlier value as the output; a value as an input, so
that the statements before it go; a statement left out, with an operand of the same shape in its place; smaller sizes
of inputs; smaller numbers in the text. A candidate counts if PyTorch runs it and `fails` holds, which a caller runs
in a child process (apart.py).
"""

import re
import time
from dataclasses import replace

import torch

from random_modules.drawing import runs
from random_modules.network import NAMESPACE, Input, Statement

NUMBER = re.compile(r"(?<![\w.'])\d+(?![\w.'])")


def shrink(network, fails, seconds=120):
    """The smallest network found. `fails(network)`."""
    until = time.monotonic() + seconds
    better = True
    while better and time.monotonic() < until:
        better = False
        for candidate in candidates(network):
            if time.monotonic() > until:
                break
            if size(candidate) < size(network) and runs(candidate) and fails(candidate):
                network, better = candidate, True
                break
    return network


def size(network):
    numbers = sum(
        int(number) for statement in network.statements for line in statement.lines for number in NUMBER.findall(line)
    )
    numbers += sum(int(number) for member in network.members for number in NUMBER.findall(member.source))
    elements = sum(torch.Size(given.shape).numel() for given in network.inputs)
    return (
        len(network.statements),
        len(network.outputs),
        len(network.inputs),
        sum(len(statement.lines) for statement in network.statements),
        elements,
        numbers,
    )


def candidates(network):
    yield from (replace(network, outputs=[output]).pruned() for output in network.outputs if len(network.outputs) > 1)
    names = [name for statement in network.statements for name in statement.results]
    yield from (replace(network, outputs=[name]).pruned() for name in names if [name] != network.outputs)
    values = values_of(network)
    if values is None:
        return
    yield from (cut(network, name, values[name]) for name in reversed(names) if name not in network.outputs)
    yield from bypassed(network, values)
    yield from smaller_inputs(network)
    yield from smaller_numbers(network)


def values_of(network):
    names = {
        **NAMESPACE,
        "self": network.module(),
        **{given.name: value for given, value in zip(network.inputs, network.sample(0), strict=True)},
    }
    try:
        with torch.no_grad():
            for statement in network.statements:
                exec("\n".join(statement.lines), names)
    except Exception:
        return None
    return {name: value for name, value in names.items() if isinstance(value, torch.Tensor)}


def cut(network, name, value):
    """The value becomes an input."""
    new = f"x{900 + int(name[1:])}"
    if value.is_floating_point():
        given = Input(new, tuple(value.shape), str(value.dtype).removeprefix("torch."), None, 1.0)
    else:
        given = Input(
            new, tuple(value.shape), str(value.dtype).removeprefix("torch."), 0, 1 if value.dtype == torch.bool else 8
        )
    statements = [
        statement if name in statement.results else renamed(statement, name, new) for statement in network.statements
    ]
    return replace(network, inputs=[*network.inputs, given], statements=statements).pruned()


def bypassed(network, values):
    """Networks without one statement: something of the same shape and type is read instead of its result."""
    for index, statement in enumerate(network.statements):
        if len(statement.results) > 1:
            continue
        result = statement.results[0]
        for name in [
            *(given.name for given in network.inputs),
            *(name for earlier in network.statements[:index] for name in earlier.results),
        ]:
            if values[name].shape == values[result].shape and values[name].dtype == values[result].dtype:
                rest = [renamed(other, result, name) for other in network.statements if other is not statement]
                outputs = [name if output == result else output for output in network.outputs]
                if not any(output in {given.name for given in network.inputs} for output in outputs):
                    yield replace(network, statements=rest, outputs=outputs).pruned()


def renamed(statement, old, new):
    return Statement(
        statement.kind, statement.results, tuple(re.sub(rf"\b{old}\b", new, line) for line in statement.lines)
    )


def smaller_inputs(network):
    for index, given in enumerate(network.inputs):
        for axis, length in enumerate(given.shape):
            for less in sorted({1, length // 2, length - 1}):
                if 0 < less < length:
                    shape = (*given.shape[:axis], less, *given.shape[axis + 1 :])
                    yield replace(
                        network,
                        inputs=[*network.inputs[:index], replace(given, shape=shape), *network.inputs[index + 1 :]],
                    )


def smaller_numbers(network):
    for index, statement in enumerate(network.statements):
        for line_index, line in enumerate(statement.lines):
            for text in smaller_texts(line):
                lines = (*statement.lines[:line_index], text, *statement.lines[line_index + 1 :])
                yield replace(
                    network,
                    statements=[
                        *network.statements[:index],
                        replace(statement, lines=lines),
                        *network.statements[index + 1 :],
                    ],
                )
    for index, member in enumerate(network.members):
        for text in smaller_texts(member.source):
            yield replace(
                network, members=[*network.members[:index], replace(member, source=text), *network.members[index + 1 :]]
            )


def smaller_texts(text):
    for match in NUMBER.finditer(text):
        value = int(match[0])
        for less in sorted({0, 1, value // 2}):
            if less < value:
                yield text[: match.start()] + str(less) + text[match.end() :]
