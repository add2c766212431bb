"""Divides items into parts. A group is the items that need the same preparation: those of one quantization scheme. A block is one NPU
with all its memory modes; it is divided only if it takes long, or for another attempt."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_MAX_OVERHEAD = 0.12  # maximum ratio of preparation to other work in a part
_PARTS_PER_THREAD = 3
_PART_SECONDS = (
    2.0  # maximum time of a part if possible, because its lines are lost when its worker dies; see on_worker.py
)

Ranges = list[list[int]]


def ranges_of(items: Sequence[int]) -> Ranges:
    """[3, 4, 5, 9] -> [[3, 5], [9, 9]]."""
    found: Ranges = []
    for item in items:
        if found and found[-1][1] + 1 == item:
            found[-1][1] = item
        else:
            found.append([item, item])
    return found


def items_of(ranges: Sequence[Sequence[int]]) -> Iterator[int]:
    for first, last in ranges:
        yield from range(first, last + 1)


@dataclass
class _Group:
    blocks: list[list[int]] = field(default_factory=list)  # in the order of their items
    given: int = 0  # number of submitted parts
    open_probe: bool = False
    prepare_seconds: float = 0.0
    block_seconds: float = 0.0


class Parts:
    """Divides a work. The first part of each group is one block, and measures the cost of the preparation. Later parts are large enough to
    keep the share of the preparation small, but small enough to occupy all threads."""

    def __init__(self, missing: Sequence[Sequence[int]], per_group: int, per_block: int) -> None:
        self._per_group, self._per_block = per_group, per_block
        self._groups: dict[int, _Group] = {}
        last = -1
        for item in items_of(missing):
            group = self._groups.setdefault(item // per_group, _Group())
            if item // per_block != last or not group.blocks:
                group.blocks.append([])
                last = item // per_block
            group.blocks[-1].append(item)

    def give_back(self, items: Sequence[int]) -> None:
        """Takes the items of one group back that a part did not reach."""
        blocks: dict[int, list[int]] = {}
        for item in items:
            blocks.setdefault(item // self._per_block, []).append(item)
        self._groups[items[0] // self._per_group].blocks[:0] = blocks.values()

    def empty(self) -> bool:
        return not any(group.blocks for group in self._groups.values())

    def take(self, threads: int) -> list[int] | None:
        """Returns the items of the next part. None: all items are submitted, or the size of the next part is not known yet."""
        for group in self._groups.values():
            if not group.blocks or group.open_probe:
                continue
            taken = self._taken(group, threads)
            group.open_probe = group.given == 0
            group.given += 1
            return taken
        return None

    def _taken(self, group: _Group, threads: int) -> list[int]:
        count = self._count(group, threads)
        taken, group.blocks = group.blocks[:count], group.blocks[count:]
        most = self._most_items(group)
        if count == 1 and len(taken[0]) > most:  # the block takes too long
            group.blocks.insert(0, taken[0][most:])
            return taken[0][:most]
        return [item for block in taken for item in block]

    def _most_items(self, group: _Group) -> int:
        """Maximum number of items of a part, from _PART_SECONDS and _MAX_OVERHEAD."""
        if not group.block_seconds:
            return self._per_block
        seconds = max(_PART_SECONDS, group.prepare_seconds / _MAX_OVERHEAD)
        return max(1, int(seconds * self._per_block / group.block_seconds))

    def measured(self, item: int, count: int, prepare_seconds: float, seconds: float) -> None:
        """Records the times of a part of `count` items: the preparation and the total. After a fault, the total is 0."""
        group = self._groups[item // self._per_group]
        group.open_probe = False
        if seconds > 0:
            group.prepare_seconds = prepare_seconds
            group.block_seconds = max(seconds - prepare_seconds, 1e-6) * self._per_block / count

    def _count(self, group: _Group, threads: int) -> int:
        if group.given == 0:
            return 1
        cheap = math.ceil(group.prepare_seconds / (_MAX_OVERHEAD * group.block_seconds)) if group.block_seconds else 1
        left = len(group.blocks)
        even = math.ceil(left / max(1, left // cheap))  # parts of equal size, none smaller than `cheap`
        blocks = sum(len(one.blocks) for one in self._groups.values())
        shared = math.ceil(blocks / (max(threads, 1) * _PARTS_PER_THREAD))
        shared = min(shared, max(1, self._most_items(group) // self._per_block)) if group.block_seconds else shared
        return max(1, min(max(even, shared), left))
