"""Calibration and evaluation data in the forms that PyTorch programs have: data loaders, data sets, batches, dicts, lists of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from carina import _native
from carina._models import dense, is_array, is_tensor
from carina.errors import InputError, usage_error

if TYPE_CHECKING:
    from carina._native import Diagnostic, InputType

Array = Any  # a NumPy array or a PyTorch tensor
LABELS = ("y", "label", "labels", "target")  # the names of arrays of labels, as in files (docs/guide/quantize.md)


class Item(NamedTuple):
    """What an iterable gives at one step: the arrays of one or many samples."""

    named: Mapping[str, Any]  # arrays by input; empty: in order
    ordered: list[Any]


def iterated(data: object) -> Iterator[Any] | None:
    """An iterator over a data loader, a data set or a list; None for another object. A data set of PyTorch may have only a length
    and an index."""
    if isinstance(data, (str, bytes, Mapping)):
        return None
    if isinstance(data, Iterable):
        return iter(data)
    if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        return (data[n] for n in range(len(data)))
    return None


def _leaves(value: tuple[Any, ...] | list[Any]) -> Iterator[Any]:
    """The arrays of nested tuples and lists. A list of numbers, such as the labels of a batch, is one array."""
    for each in value:
        if isinstance(each, (tuple, list)) and not all(isinstance(number, (int, float)) for number in each):
            yield from _leaves(each)
        else:
            yield each


def _numbers(value: Any, wanted: InputType) -> Array:
    """Python's numbers, and lists of them, which have no type of their own, as an array of the input's type."""
    if not isinstance(value, (int, float, list, tuple)) or wanted.is_number:
        return dense(value)
    import numpy as np

    try:
        return np.asarray(value, dtype=wanted.dtype)
    except (TypeError, ValueError):  # rows of several lengths; a type that NumPy lacks
        return dense(value)


def _label_of(value: Any, rows: int) -> Any:
    """A label, or the labels of a batch, as an array with one element along the first axis for each row; None for what is no array of
    numbers, such as the path of a file. A dict may have a label among other things: {"label": 3, "path": "a.wav"}."""
    import numpy as np

    if isinstance(value, Mapping):
        value = next((value[name] for name in LABELS if name in value), None)
    array = np.asarray(dense(value)) if is_array(value) else np.asarray(value)
    if array.dtype.kind not in "biuf":
        return None
    return array if array.shape[:1] == (rows,) else array[None]


def item_of(given: Any) -> Item:
    """The arrays of one step: of x, of (x, y), of ((a, b), y), of {"a": a, "b": b}, or of ({"a": a, "b": b}, y)."""
    if is_array(given):
        return Item({}, [given])
    if isinstance(given, Mapping):
        return Item(given, [])
    if isinstance(given, list) and given and all(isinstance(number, (int, float)) for number in given):
        return Item({}, [given])  # a row of numbers
    if isinstance(given, (tuple, list)):
        if given and isinstance(given[0], Mapping):
            return Item(given[0], list(_leaves(given[1:])))
        return Item({}, list(_leaves(given)))
    return Item({}, [given])


def _shape(array: Array) -> tuple[int, ...]:
    return tuple(int(size) for size in array.shape)


def rows_in(array: Array, wanted: InputType) -> int | None:
    """How many rows an array has for an input of shape [batch, *row]: [n, *row] has n, [row] has one, [n, batch, *row] has n * batch.
    None: another shape."""
    shape, whole = _shape(array), tuple(wanted.shape)
    if shape == whole or not whole:
        return whole[0] if whole else None
    row = whole[1:]
    if len(shape) == len(whole) and shape[1:] == row:
        return shape[0]
    if len(shape) == len(whole) + 1 and shape[1:] == whole:
        return shape[0] * whole[0]
    return 1 if shape == row else None


def _joined(arrays: list[Array]) -> Array:
    if len(arrays) == 1:
        return arrays[0]
    if is_tensor(arrays[0]):
        import torch

        return torch.cat(arrays)
    import numpy as np

    return np.concatenate(arrays)


class Samples:
    """Collects the samples of a model from the items of an iterable. `where` is their name in messages.

    The rows of a data loader's batches are put together anew in batches of the model: 20 rows are five samples of a model that takes 4 at once.
    """

    def __init__(self, inputs: Sequence[InputType], where: str, note: Callable[[Diagnostic], None]) -> None:
        self.samples: list[list[Array]] = []
        self.labels: list[Any] = []
        self._inputs = inputs
        self._where = where
        self._note = note
        self._surplus = ""  # the array that is not used, of the first item that has one
        self._pending: list[list[Array]] = [[] for _ in inputs]  # rows of an incomplete sample, per input
        self._pending_rows = 0

    def add(self, given: Any) -> None:
        """Adds the samples of one item, which may be a list of samples, as of DataLoader(..., collate_fn=list).

        Raises: InputError: no array for an input; inputs with different numbers of samples.
        """
        are_samples = isinstance(given, list) and given and all(self._is_sample(each) for each in given)
        for each in given if are_samples else [given]:
            self._add_item(each)

    def _is_sample(self, given: Any) -> bool:
        """Whether a tuple or dict has an array of the right shape for each input."""
        if not isinstance(given, (tuple, Mapping)):
            return False
        item = item_of(given)
        values = (
            [item.named.get(wanted.name) for wanted in self._inputs]
            if item.named
            else item.ordered[: len(self._inputs)]
        )
        return len(values) == len(self._inputs) and all(
            wanted.is_number or (is_array(value) and rows_in(value, wanted))
            for value, wanted in zip(values, self._inputs, strict=True)
        )

    def _add_item(self, given: Any) -> None:
        found, surplus = self._matched(item_of(given))
        arrays = [
            dense(value) if is_array(value) else _numbers(value, wanted)
            for value, wanted in zip(found, self._inputs, strict=True)
        ]
        counts = [
            None if wanted.is_number else rows_in(array, wanted)
            for array, wanted in zip(arrays, self._inputs, strict=True)
        ]
        self._add_labels(surplus[:1], next((count for count in counts if count), 1))
        batches = {tuple(wanted.shape)[0] for wanted in self._inputs if not wanted.is_number and tuple(wanted.shape)}
        if None in counts or len(set(counts)) != 1 or len(batches) != 1 or not counts[0]:
            self._add_as_they_are(arrays)
            return
        (batch,) = batches
        self._add_rows(arrays, int(counts[0]), batch)

    def _add_labels(self, values: list[Any], rows: int) -> None:
        self.labels += [label for value in values if (label := _label_of(value, rows)) is not None]

    def _add_as_they_are(self, arrays: list[Array]) -> None:
        """Adds one sample, or those that arrays of shape [n, *input] hold. The compiler says what does not fit."""
        stacked = {
            _shape(array)[0] if array.ndim and _shape(array)[1:] == tuple(wanted.shape) else None
            for array, wanted in zip(arrays, self._inputs, strict=True)
        }
        count = stacked.pop() if len(stacked) == 1 else None
        self.samples += [arrays] if count is None else [[array[n] for array in arrays] for n in range(count)]

    def _add_rows(self, arrays: list[Array], rows: int, batch: int) -> None:
        for pending, array, wanted in zip(self._pending, arrays, self._inputs, strict=True):
            pending.append(array.reshape((rows, *tuple(wanted.shape)[1:])))
        self._pending_rows += rows
        if self._pending_rows < batch:
            return
        whole = [_joined(pending) for pending in self._pending]
        used = self._pending_rows // batch * batch
        self.samples += [[array[first : first + batch] for array in whole] for first in range(0, used, batch)]
        self._pending = [[array[used:]] if used < self._pending_rows else [] for array in whole]
        self._pending_rows -= used

    def _matched(self, item: Item) -> tuple[list[Any], list[Any]]:
        """The values for the inputs, and the labels."""
        if item.named:
            return self._by_name(item)
        count, ordered = len(self._inputs), item.ordered
        if count > 1 and len(ordered) == 1 and isinstance(ordered[0], list):  # a number for each input
            ordered = ordered[0]
        if len(ordered) < count or not self._inputs:
            wanted = ", ".join(f"{wanted.name} {wanted.dtype}{list(wanted.shape)}" for wanted in self._inputs)
            raise _wrong(
                self._where, "a sample has too few arrays", expected=f"{count} ({wanted})", got=str(len(ordered))
            )
        surplus = ordered[count:]
        if surplus:
            self._ignore(
                f"array {count + 1} of each sample"
                if len(surplus) == 1
                else f"arrays {count + 1} to {len(ordered)} of each sample"
            )
        return ordered[:count], surplus

    def _by_name(self, item: Item) -> tuple[list[Any], list[Any]]:
        names = [wanted.name for wanted in self._inputs]
        found = {name: item.named[name] for name in names if name in item.named}
        others = [name for name in item.named if name not in found]
        # A model with one input takes "x", or the only array that is no label, or that has its shape.
        if len(names) == 1 and not found:
            alone = (
                ["x"]
                if "x" in others
                else [name for name in others if name not in LABELS and is_array(item.named[name])]
            )
            if len(alone) > 1:
                alone = [name for name in alone if rows_in(item.named[name], self._inputs[0])]
            if len(alone) == 1:
                found[names[0]] = item.named[alone[0]]
                others.remove(alone[0])
        missing = [name for name in names if name not in found]
        if missing:
            raise _wrong(
                self._where,
                f"a sample has no array for the input {missing[0]}",
                expected=", ".join(names),
                got=", ".join(map(str, item.named)),
            )
        if others or item.ordered:
            self._ignore(", ".join(map(str, others)) or "the second part of each sample")
        return [found[name] for name in names], [
            *(item.named[name] for name in LABELS if name in others),
            *item.ordered,
        ]

    def _ignore(self, what: str) -> None:
        if self._surplus:
            return
        self._surplus = what
        names = ", ".join(wanted.name for wanted in self._inputs)
        text = "taken for labels, not used" if self._where == "calibration" else "taken for labels"
        self._note(
            _native.Diagnostic(
                self._where,
                f"{what}: {text}; the inputs of the model are {names}",
                expected="",
                got="",
                hint="",
                fault="input",
                severity="note",
            )
        )

    def finish(self) -> list[list[Array]]:
        """All samples. Raises: InputError: there is none."""
        if self._pending_rows and self.samples:
            batch = tuple(self._inputs[0].shape)[0]
            text = f"the last {self._pending_rows} rows are not used: the model takes {batch} at once"
            self._note(
                _native.Diagnostic(self._where, text, expected="", got="", hint="", fault="input", severity="note")
            )
        elif self._pending_rows:
            batch = tuple(self._inputs[0].shape)[0]
            raise _wrong(
                self._where,
                "too few rows for one sample",
                expected=f"at least {batch}, which the model takes at once",
                got=str(self._pending_rows),
            )
        if not self.samples:
            raise _wrong(self._where, "no sample", expected="at least one", got="an empty iterable")
        return self.samples


def _wrong(where: str, what: str, *, expected: str, got: str) -> InputError:
    return InputError([_native.Diagnostic(where, what, expected=expected, got=got, hint="", fault="input")])


def collected(data: Any, inputs: Sequence[InputType], where: str, note: Callable[[Diagnostic], None]) -> Samples:
    """The samples of an iterable. Raises: InputError: data that do not fit; UsageError: no iterable."""
    items = iterated(data)
    if items is None:
        raise usage_error(
            where,
            "not a set of samples",
            expected="a path, arrays by input, an array, or an iterable of samples such as a DataLoader",
            got=type(data).__name__,
        )
    samples = Samples(inputs, where, note)
    for given in items:
        samples.add(given)
    samples.finish()
    return samples


def arrays_by_input(samples: Samples, inputs: Sequence[InputType]) -> dict[str, Any]:
    """The samples as one array per input, and their labels, as carina.accuracy() writes them to a file."""
    import numpy as np

    arrays = {
        wanted.name: np.concatenate([np.asarray(dense(sample[n])) for sample in samples.samples])
        for n, wanted in enumerate(inputs)
    }
    # Boxes of objects, for example, differ from sample to sample.
    if len({label.shape[1:] for label in samples.labels}) == 1:
        name = next(name for name in LABELS if name not in arrays)
        arrays[name] = np.concatenate(samples.labels)
    return arrays
