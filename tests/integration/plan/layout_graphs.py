"""A Builder whose inputs are read, and whose outputs are written, in other layouts: transposed, concatenated, stacked, reshaped, sliced,
padded, reversed. Its RESCALEs also have multipliers of few bits.

With it, each generator of operator_graphs and plan_graphs draws its operator before and after every kind of view.
"""

import numpy as np
from vela_graphs import OP, Builder, D

STORED = (D.BOOL, D.INT8, D.INT16, D.INT32)
MAX_RANK = 5
MAX_ELEMENTS = 60_000  # of an output


class LayoutBuilder(Builder):
    def input(self, shape, dtype, low=None, high=None):
        shape = [int(size) for size in shape]
        if dtype not in STORED or len(shape) < 2 or self.chance(0.5):
            return super().input(shape, dtype, low, high)
        if self.chance(0.6):
            perms = self.permutation(len(shape))
            stored = super().input([shape[perms.index(i)] for i in range(len(shape))], dtype, low, high)
            return self.transposed(stored, perms)
        axis, before, after = self.int(0, len(shape) - 1), self.int(0, 2), self.int(0, 2)
        stored = super().input(
            [size + (before + after if i == axis else 0) for i, size in enumerate(shape)], dtype, low, high
        )
        start = [before if i == axis else 0 for i in range(len(shape))]
        return self.op(OP.SLICE, [stored, self.shape(start), self.shape(shape)], shape, dtype, "SliceAttribute")

    def multiplier_bits(self, most):
        return most if self.chance(0.7) else self.int(0, most)

    def finish(self, *outputs):
        moved = [self.moved(y) for y in outputs]
        kept = [y for y, m in zip(outputs, moved, strict=True) if y is not m and y not in moved and self.chance(0.15)]
        return super().finish(*moved, *kept)

    def moved(self, y):
        """Up to two operators that only move elements, after `y`."""
        for _ in range(self.choice([0, 1, 1, 1, 2])):
            if y.dtype not in STORED or not 1 <= len(y.shape) <= MAX_RANK or np.prod(y.shape) > MAX_ELEMENTS:
                break
            y = getattr(
                self, self.choice(["permuted", "permuted", "joined", "stacked", "merged", "padded", "turned", "cut"])
            )(y)
        return y

    def permutation(self, rank):
        """The channels of images come first or last more often than anywhere else."""
        if rank == 4 and self.chance(0.5):
            return self.choice([[0, 3, 1, 2], [0, 2, 3, 1]])
        return [int(p) for p in self.random.permutation(rank)]

    def transposed(self, y, perms):
        return self.op(OP.TRANSPOSE, [y], [y.shape[p] for p in perms], y.dtype, "TransposeAttribute", perms)

    def permuted(self, y):
        return self.transposed(y, self.permutation(len(y.shape)))

    def reshaped(self, y, shape):
        return self.op(OP.RESHAPE, [y, self.shape(shape)], shape, y.dtype, "ReshapeAttribute")

    def joined(self, y):
        axis, parts = self.int(0, len(y.shape) - 1), [y]
        for _ in range(self.int(1, 3)):
            other = [self.int(1, 4) if i == axis else size for i, size in enumerate(y.shape)]
            parts.append(y if self.chance(0.3) else super().input(other, y.dtype))
        self.random.shuffle(parts)
        shape = [sum(part.shape[axis] for part in parts) if i == axis else size for i, size in enumerate(y.shape)]
        return self.op(OP.CONCAT, parts, shape, y.dtype, "ConcatAttribute", axis)

    def stacked(self, y):
        """Beside other tensors of its shape, along a new axis."""
        axis = self.choice([len(y.shape), self.int(0, len(y.shape))])
        one = [*y.shape[:axis], 1, *y.shape[axis:]]
        parts = [self.reshaped(y, one)]
        for _ in range(self.int(1, 3)):
            parts.append(super().input(one, y.dtype))
        self.random.shuffle(parts)
        shape = [len(parts) if i == axis else size for i, size in enumerate(one)]
        return self.op(OP.CONCAT, parts, shape, y.dtype, "ConcatAttribute", axis)

    def merged(self, y):
        if len(y.shape) < 2:
            return y
        axis = self.int(0, len(y.shape) - 2)
        return self.reshaped(y, [*y.shape[:axis], y.shape[axis] * y.shape[axis + 1], *y.shape[axis + 2 :]])

    def padded(self, y):
        padding = [self.int(0, 2) for _ in range(2 * len(y.shape))]
        shape = [size + padding[2 * i] + padding[2 * i + 1] for i, size in enumerate(y.shape)]
        return self.op(
            OP.PAD,
            [y, self.shape(padding), self.const(self.values([1], y.dtype), y.dtype)],
            shape,
            y.dtype,
            "PadAttribute",
        )

    def turned(self, y):
        return self.op(OP.REVERSE, [y], y.shape, y.dtype, "ReverseAttribute", self.int(0, len(y.shape) - 1))

    def cut(self, y):
        start = [self.int(0, (size - 1) // 2) for size in y.shape]
        size = [self.int(1, s - b) for s, b in zip(y.shape, start, strict=True)]
        return self.op(OP.SLICE, [y, self.shape(start), self.shape(size)], size, y.dtype, "SliceAttribute")
