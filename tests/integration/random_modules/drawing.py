"""Draws a random network: inputs, then 3 to 12 statements, then an ending.

Each statement is executed on the network's first sample as soon as it is drawn, so its shapes are known to the next
one, and what PyTorch rejects is dropped. A statement reads the newest value in two of three cases, so that chains are
long and every kind follows every other.

The last statement is what bugs depend on: the compiler writes the results of a network in another layout than values
inside. So the kind of the last statement is not random but taken in turn, by the seed, and so is the ending:

    seed   0          1            ...  80        81 ...
    last   activation adaptive_pool     where     activation
    ending plain      plain             plain     permuted        then nhwc, flattened, several outputs
"""

import math
import random

import torch

from random_modules import kinds_arithmetic, kinds_layers, kinds_layout  # noqa: F401  fill KINDS
from random_modules.kinds import KINDS, Unfit
from random_modules.network import NAMESPACE, Input, Member, Network, Statement

ENDINGS = ("plain", "permuted", "nhwc", "flattened", "several")
MAX_ELEMENTS = 20_000  # of a value; more in one of eight networks, for stripes and slices
MAX_ELEMENTS_OF_LARGE = 120_000
NAMES = sorted(KINDS)
WEIGHTS = [KINDS[name].weight for name in NAMES]


class Drawing:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.network = Network(seed)
        self.values = {}
        self.members = torch.nn.Module()
        self.large = self.chance(1 / 8)

    # --- what kinds ask for ---

    def choice(self, options):
        if not options:
            raise Unfit
        return self.random.choice(options)

    def chance(self, share):
        return self.random.random() < share

    def randint(self, low, high):
        if high < low:
            raise Unfit  # an index into an empty value
        return self.random.randint(low, high)

    def shuffled(self, values):
        values = list(values)
        self.random.shuffle(values)
        return values

    def shape(self, name):
        return tuple(self.values[name].shape)

    def rank(self, name):
        return self.values[name].dim()

    def axis(self, name):
        rank = self.rank(name)
        return self.randint(-rank, rank - 1) if rank else 0

    def tensor(self, of, shapes, default=None):
        """A value of this type with one of these shapes (None in a shape: any size; None: any shape)."""
        names = [
            name
            for name, value in self.values.items()
            if is_of(value, of)
            and value.numel()
            and (shapes is None or any(fits(value.shape, shape) for shape in shapes))
        ]
        return self.choice(names) if names else default

    def has(self, of, shapes):
        return self.tensor(of, shapes) is not None

    def same_shape(self, x):
        return self.tensor("any" if not is_of(self.values[x], "float") else "float", [self.shape(x)], default=x)

    def broadcasting(self, x):
        """A float tensor that broadcasts with x: a value, or a parameter."""
        shape, names = self.shape(x), []
        for name, value in self.values.items():
            if is_of(value, "float") and broadcasts(value.shape, shape):
                names.append(name)
        if names and self.chance(0.7):
            return self.choice(names)
        kept = [size if self.chance(0.5) else 1 for size in shape]
        return self.parameter(kept[self.randint(0, len(kept)) :] if self.chance(0.3) else kept)

    def member(self, prefix, source):
        name = f"{prefix}_{len(self.network.members)}"
        try:
            value = eval(source, dict(NAMESPACE))
        except (RuntimeError, ValueError, TypeError, AssertionError) as error:
            raise Unfit from error
        setattr(self.members, name, value.eval() if isinstance(value, torch.nn.Module) else value)
        self.network.members.append(Member(name, source))
        return f"self.{name}"

    def parameter(self, shape):
        return self.member("weight", f"nn.Parameter(torch.randn({list(shape)}))")

    def buffer(self, prefix, source):
        name = f"{prefix}_{len(self.network.members)}"
        self.members.register_buffer(name, eval(source, dict(NAMESPACE)))
        self.network.members.append(Member(name, f"buffer:{source}"))
        return f"self.{name}"

    def called_modules(self):
        return [member.name for member in self.network.members if member.name.startswith(("conv", "linear", "norm"))]

    # --- statements ---

    def fitting(self, kind):
        """A value that statements of this kind can read: the newest in two of three cases; None if there is none."""
        names = [
            name
            for name, value in self.values.items()
            if value.dim() in kind.ranks and is_of(value, kind.of) and (value.numel() or self.chance(0.2))
        ]
        if not names:
            return None
        return names[-1] if self.chance(0.66) else self.choice(names[-4:])

    def add(self, kind_name):
        """Adds a statement of this kind. Gives False if none is found."""
        kind = KINDS[kind_name]
        for _ in range(6):
            members = len(self.network.members)
            x = self.fitting(kind)
            try:
                if x is None:
                    return False
                made = kind.make(self, x)
                if self.accept(kind_name, made if isinstance(made, list) else [f"$0 = {made}"]):
                    return True
            except (Unfit, IndexError, ZeroDivisionError):
                pass
            for member in self.network.members[members:]:
                delattr(self.members, member.name)
            del self.network.members[members:]
        return False

    def accept(self, kind_name, lines):
        """Executes the statement, and keeps it if the results are usable."""
        count = 1 + max(int(digit) for line in lines for digit in digits_after_dollar(line))
        first = sum(len(statement.results) for statement in self.network.statements)
        results = tuple(f"v{first + number}" for number in range(count))
        lines = tuple(numbered(line, results) for line in lines)
        names = {**NAMESPACE, **{name: value.clone() for name, value in self.values.items()}, "self": self.members}
        try:
            with torch.no_grad():
                exec("\n".join(lines), names)
        except (
            RuntimeError,
            IndexError,
            TypeError,
            ValueError,
            AssertionError,
            NotImplementedError,
            AttributeError,
            KeyError,
        ):
            return False
        made = {name: names[name] for name in results}
        if not all(isinstance(value, torch.Tensor) and self.usable(value) for value in made.values()):
            return False
        if any(
            not torch.equal(names[name].nan_to_num(), value.nan_to_num())
            for name, value in self.values.items()
            if value.numel()
        ):
            return False  # a write into an operand: exported programs may not change their inputs
        self.values.update(made)
        self.network.statements.append(Statement(kind_name, results, lines))
        return True

    def usable(self, value):
        if (
            value.dim() > 5
            or value.numel() > (MAX_ELEMENTS_OF_LARGE if self.large else MAX_ELEMENTS)
            or value.is_complex()
        ):
            return False
        if value.numel() == 0:
            return self.chance(0.5)
        return not value.is_floating_point() or bool(value.isfinite().all() and value.abs().max() < 1e4)

    def adapt(self, kind_name):
        """Adds the statement that makes the newest value fit this kind."""
        kind = KINDS[kind_name]
        names = [name for name, value in self.values.items() if value.numel()]
        x = names[-1]
        if not is_of(self.values[x], kind.of):
            source = self.tensor("float", None, default=x)
            text = {"float": f"{x}.float()", "integer": f"({source} * 4).to(torch.int32)", "bool": f"{source} > 0"}[
                kind.of
            ]
            self.accept("cast", [f"$0 = {text}"])
            x = list(self.values)[-1]
        rank, wanted = self.rank(x), self.choice([r for r in kind.ranks if r])
        if rank in kind.ranks:
            return
        if rank > wanted:
            self.accept("flatten", [f"$0 = {x}.flatten(0, {rank - wanted})"])
        else:
            self.accept(
                "rank",
                [
                    f"$0 = {x}.reshape({[*self.shape(x), *[1] * (wanted - rank)] if self.chance(0.3) else [*[1] * (wanted - rank), *self.shape(x)]})"
                ],
            )

    def add_any(self):
        name = self.random.choices(NAMES, WEIGHTS)[0]
        if self.fitting(KINDS[name]) is None and self.chance(0.5):
            self.adapt(name)
        return self.add(name)

    def add_last(self, name):
        if self.add(name):
            return True
        self.adapt(name)
        return self.add(name)

    # --- the network ---

    def draw_inputs(self):
        count = self.random.choices([1, 2, 3], [6, 3, 1])[0]
        base = self.draw_shape(self.random.choices([1, 2, 3, 4, 5], [1, 3, 4, 10, 2])[0])
        for number in range(count):
            shape = base
            if number:
                shape = (
                    self.draw_shape(self.randint(1, 4))
                    if self.chance(0.3)
                    else tuple(size if self.chance(0.75) else 1 for size in base)
                )
            of = "float" if number == 0 else self.random.choices(["float", "integer", "bool"], [6, 2, 1])[0]
            self.network.inputs.append(self.draw_input(f"x{number}", shape, of))
        for given, value in zip(self.network.inputs, self.network.sample(0), strict=True):
            self.values[given.name] = value

    def draw_input(self, name, shape, of):
        if of == "bool":
            return Input(name, shape, "bool", 0, 1)
        if of == "integer":
            dtype, low = self.choice(
                [("int64", 0), ("int64", 0), ("int32", 0), ("int32", -9), ("int8", -9), ("uint8", 0)]
            )
            return Input(name, shape, dtype, low, self.choice([1, 8, 40]))
        low, high = self.choice([(None, 1.0), (None, 1.0), (0.0, 1.0), (-1.0, 3.0)])
        return Input(name, shape, "float32", low, high)

    def use_inputs(self):
        """Statements that read every input but the first: most others read the newest value only."""
        for given in self.network.inputs[1:]:
            newest = self.network.statements[-1].results[-1] if self.network.statements else "x0"
            if given.dtype == "bool":
                self.add("select_by_bool") if self.chance(0.5) else self.accept(
                    "where", [f"$0 = torch.where({given.name}, {newest}, 0.5)"]
                )
            elif given.dtype != "float32":
                self.add(self.choice(["integer", "embedding"]))
            elif broadcasts(self.values[newest].shape, self.values[given.name].shape):
                self.accept("binary", [f"$0 = {self.choice(['x0', newest])} {self.choice('+-*')} {given.name}"])
            else:
                self.add(self.choice(["activation", "linear", "scalar"]))

    def draw_shape(self, rank):
        batch, channels = self.choice([1, 1, 1, 2, 3]), self.choice([1, 2, 3, 3, 4, 6, 8, 16, 17, 24])
        space = [
            self.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16] if rank < 5 else [1, 2, 3, 4, 5])
            for _ in range(max(0, rank - 2))
        ]
        if self.large:
            space = [size * self.choice([1, 2, 3]) for size in space]
        elif self.chance(0.5):
            space = [space[0]] * len(space) if space else space
        return (batch, channels, *space) if rank > 1 else (channels * self.choice([1, 1, 2]),)

    def end(self, ending):
        """Chooses the outputs, and adds the statement that orders the last value."""
        newest = list(self.network.statements[-1].results)
        last = newest[-1]
        rank = self.rank(last)
        if ending == "permuted" and rank > 1:
            self.accept("ending", [f"$0 = {last}.permute({self.shuffled(range(rank))})"])
        elif ending == "nhwc" and rank > 2:
            self.accept("ending", [f"$0 = {last}.permute({[0, *range(2, rank), 1]})"])
        elif ending == "flattened":
            self.accept(
                "ending",
                [f"$0 = {self.choice([f'{last}.flatten()', f'{last}.unsqueeze(0)', f'{last}.reshape(-1, 1)'])}"],
            )
        read = set().union(*(statement.operands for statement in self.network.statements))
        unread = [name for statement in self.network.statements for name in statement.results if name not in read]
        final = list(self.network.statements[-1].results)
        if ending == "several":
            others = [name for statement in self.network.statements[:-1] for name in statement.results]
            self.network.outputs = [*dict.fromkeys([*self.shuffled(others)[: self.randint(1, 3)], *final])]
        elif self.chance(0.6):
            self.network.outputs = unread[-4:]
        else:
            self.network.outputs = final

    def draw(self):
        last, ending = NAMES[self.network.seed % len(NAMES)], ENDINGS[self.network.seed // len(NAMES) % len(ENDINGS)]
        self.draw_inputs()
        self.use_inputs()
        wanted = self.randint(3, 12)
        for _ in range(60):
            if len(self.network.statements) >= wanted - 1:
                break
            self.add_any()
        if not self.add_last(last):
            self.add_any()
        if not self.network.statements:
            return None
        self.end(ending)
        return self.network.pruned()


def draw(seed):
    """The network of a seed, the same each time. None: the seed has no network that PyTorch can run."""
    for attempt in range(8):
        drawing = Drawing(seed)
        drawing.random.seed(f"{seed}.{attempt}")
        network = drawing.draw()
        if network is not None and runs(network):
            return with_precision(network, drawing.random)
    return None


def with_precision(network, choices):
    """One of eight networks in another float type, if PyTorch can run it so."""
    precision = choices.choices(["float32", "float16", "float64"], [21, 1, 1])[0]
    if precision == "float32":
        return network
    inputs = [
        Input(given.name, given.shape, precision, given.low, given.high) if given.dtype == "float32" else given
        for given in network.inputs
    ]
    other = Network(network.seed, inputs, network.members, network.statements, network.outputs, precision)
    return other if runs(other) else network


def runs(network):
    """Whether eager PyTorch gives finite results for some samples."""
    try:
        module = network.module()
        with torch.no_grad():
            for number in range(3):
                for value in outputs_of(module(*network.sample(number))):
                    if (
                        value.is_floating_point()
                        and value.numel()
                        and not bool(value.isfinite().all() and value.abs().max() < 1e4)
                    ):
                        return False
    except Exception:  # whatever PyTorch raises for what it does not take
        return False
    return True


def outputs_of(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def is_of(value, of):
    if of == "any":
        return True
    if of == "float":
        return value.dtype == torch.float32
    return value.dtype == torch.bool if of == "bool" else not value.is_floating_point() and value.dtype != torch.bool


def fits(shape, wanted):
    return len(shape) == len(wanted) and all(b is None or a == b for a, b in zip(shape, wanted, strict=True))


def broadcasts(a, b):
    try:
        return math.prod(torch.broadcast_shapes(a, b)) <= 4 * max(1, math.prod(b))
    except RuntimeError:
        return False


def digits_after_dollar(line):
    return [line[i + 1] for i, letter in enumerate(line[:-1]) if letter == "$"]


def numbered(line, results):
    for number, name in enumerate(results):
        line = line.replace(f"${number}", name)
    return line
