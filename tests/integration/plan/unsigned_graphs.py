"""A Builder whose int8 inputs and outputs are unsigned bytes outside, as those of LiteRT's uint8 networks.

With it, each generator of operator_graphs and plan_graphs draws its operator between two RESCALEs that only change the type.
"""

from vela_graphs import OP, ROUND, Builder, D


class UnsignedBuilder(Builder):
    def input(self, shape, dtype, low=None, high=None):
        stored = super().input(shape, dtype, low, high)
        return self.converted(stored, False) if dtype == D.INT8 and self.chance(0.8) else stored

    def finish(self, *outputs):
        return super().finish(
            *[self.converted(y, True) if y.dtype == D.INT8 and self.chance(0.8) else y for y in outputs]
        )

    def converted(self, x, to_unsigned):
        zero_points = [0, -128] if to_unsigned else [-128, 0]  # the bits of 128
        inputs = [
            x,
            self.const([1 << 30], D.INT32),
            self.const([30], D.INT8),
            *(self.const([zero], D.INT8) for zero in zero_points),
        ]
        return self.op(
            OP.RESCALE,
            inputs,
            x.shape,
            D.INT8,
            "RescaleAttribute",
            True,
            ROUND.SINGLE_ROUND,
            False,
            not to_unsigned,
            to_unsigned,
        )
