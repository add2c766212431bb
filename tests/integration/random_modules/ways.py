"""The ways in which a network is compiled: scheme, NPU, and the planner's options, drawn by the network's seed.

Each network gets every family in turn, both integer schemes, the default options for its first way and drawn options
for the others, so each optimization of the planner meets thousands of networks in `make conformance`, and some
hundreds in every `make test`.
"""

import random
from dataclasses import dataclass, field

from random_modules.engines import flags_of

FAMILIES = {"ethos-u55": (32, 64, 128, 256), "ethos-u65": (256, 512), "ethos-u85": (128, 256, 512, 1024, 2048)}
NPUS = [f"{family}-{macs}" for family, sizes in FAMILIES.items() for macs in sizes]
DEDICATED = ["Dedicated_Sram_384KB", "Shared_Sram", "Sram_Only", "Dedicated_Sram"]
MODES = {"ethos-u55": ["Shared_Sram", "Sram_Only"], "ethos-u65": DEDICATED, "ethos-u85": DEDICATED}
SCHEMES = ("int8", "int16x8")
RARE_SCHEMES = ("int8x4", "int16x16")


@dataclass(frozen=True)
class Configuration:
    target: str
    scheme: str
    options: dict = field(default_factory=dict)  # as keyword arguments of carina.compile

    def flags(self):
        """The options of `carina compile`."""
        return ["--target", self.target, "--quantize", self.scheme, *flags_of(self.options)]


def options_of(choices, family):
    """Drawn options: one or two of them differ from the defaults."""
    options = {}
    if choices.random() < 0.6:
        options["optimize"] = choices.choice(["3", "size", "size"])
    if choices.random() < 0.5:
        options["memory_mode"] = choices.choice(MODES[family])
    if choices.random() < 0.4:
        options["arena_cache_size"] = choices.choice([2048, 8192, 32768, 131072])
    if choices.random() < 0.25:
        options["sram_budget"] = choices.choice([4096, 16384, 65536])
    for flag, share in (
        ("dynamic_weights", 0.5 if family != "ethos-u85" else 0.1),
        ("legalize", 0.2),
        ("delegate_all", 0.6),
    ):
        if choices.random() < share:
            options[flag] = True
    return options


def ways_of(seed, number):
    """`number` ways: the families in turn. With 22 and more, every NPU with both schemes."""
    choices = random.Random(seed)
    ways = []
    for i in range(number):
        if number >= 2 * len(NPUS):
            target = NPUS[i % len(NPUS)]
        else:
            family = list(FAMILIES)[(seed + i) % len(FAMILIES)]
            target = f"{family}-{choices.choice(FAMILIES[family])}"
        scheme = SCHEMES[(seed + i // len(FAMILIES) + i // len(NPUS)) % 2]
        scheme = choices.choices((scheme, *RARE_SCHEMES), (90, 5, 5))[0]
        ways.append(
            Configuration(target, scheme, options_of(choices, target[:9]) if i % 2 or choices.random() < 0.3 else {})
        )
    return ways
