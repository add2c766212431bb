"""The kinds of statements, one function each, in a table.

    @kind("flip", weight=2, ranks=(1, 2, 3, 4, 5))
    def flip(draw, x):
        return f"{x}.flip({draw.axis(x)})"

The function gets a Drawing (drawing.py) and the name of a tensor that fits `ranks` and `of`. It returns the text of
an expression, or lines in which $0, $1 ... are the results: ["$0 = x1.clone()", "$0.relu_()"]. It raises Unfit if no
such statement is possible. Whether PyTorch takes the statement is found by running it, so a kind may try what is
often, not always, legal.
"""

from dataclasses import dataclass


class Unfit(Exception):
    """There is no statement of this kind for these tensors."""


@dataclass(frozen=True)
class Kind:
    name: str
    weight: float
    ranks: tuple
    of: str  # "float", "integer", "bool", "any"
    make: object


KINDS = {}
ANY_RANK = (0, 1, 2, 3, 4, 5)
SOME_RANK = (1, 2, 3, 4, 5)


def kind(name, weight=2.0, ranks=SOME_RANK, of="float"):
    def register(make):
        assert name not in KINDS
        KINDS[name] = Kind(name, weight, ranks, of, make)
        return make

    return register


def texts_of(block):
    """Texts that end with a semicolon or the line, as a list."""
    return [text.strip() for text in block.replace(";", "\n").splitlines() if text.strip()]


def templates(name, texts, weight=2.0, ranks=SOME_RANK, of="float"):
    """A kind whose statement is one of `texts`: {x} is the tensor, {y} one that broadcasts with it, {a} an axis."""
    choices = texts_of(texts)

    @kind(name, weight, ranks, of)
    def make(draw, x):
        text = draw.choice(choices)
        values = {"x": x, "a": draw.axis(x)}
        if "{y}" in text:
            values["y"] = draw.broadcasting(x)
        return text.format(**values)
