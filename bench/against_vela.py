"""Compares Carina's and Vela's command streams for the same TOSA files. bench/run.py calls it to write docs/against-vela.md."""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from streams import Pair, Setting, compare, deit_tosa, parts_of, same_sram

SETTINGS = [
    Setting("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    Setting("ethos-u55-256", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    Setting("ethos-u65-256", "Ethos_U65_High_End", "Dedicated_Sram"),
    Setting("ethos-u65-512", "Ethos_U65_High_End", "Dedicated_Sram"),
    Setting("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Shared_Sram"),
    Setting("ethos-u85-1024", "Ethos_U85_SYS_DRAM_Mid", "Shared_Sram"),
]
BARS = {"ethos-u55": 0.68, "ethos-u65": 0.55, "ethos-u85": 0.72}  # goals: geometric means of cycles at the same SRAM
CASES = ("softmax", "kws", "resnet8", "resnet20", "ds_cnn", "lstm", "mobilenet_v2")


@dataclass(frozen=True)
class DeitBar:
    """Goals for DeiT-tiny, as shares of Vela's cycles for the graph of ExecuTorch's Arm flow (whose quantization takes 20 minutes)."""

    peers_cycles: int
    shares: dict  # share for each of Carina's optimization flags


DEIT = {
    "ethos-u55-128": DeitBar(342_000_000, {"--dynamic-weights": 0.15, "": 0.80}),
    "ethos-u85-256": DeitBar(37_500_000, {"": 0.40}),
}


# --- the page -------------------------------------------------------------------------------------------------------


def mean(pairs):
    ratios = [pair.ratio() for pair in pairs if not pair.rejected]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def table(head, rows):
    return (
        "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)])
        + "\n"
    )


def of_vela(pair, what):
    return f"{getattr(pair.ours, what):,} / {getattr(pair.vela, what):,}"


HEAD = ["NPU", "case", "cycles", "", "SRAM B", "", "constants B", "commands B", "CPU s", "peak MB"]


def row_of(pair):
    name = [pair.setting.target, pair.case]
    if pair.rejected:
        return [*name, pair.rejected, *["-"] * (len(HEAD) - 3)]
    cost, peer = pair.ours.cost, pair.vela.cost
    speed = [f"{cost.seconds:.2f} / {peer.seconds:.2f}", f"{cost.megabytes:.0f} / {peer.megabytes:.0f}"]
    compared = [cell for what in ("cycles", "sram") for cell in (of_vela(pair, what), f"{pair.ratio(what):.3f}")]
    return [*name, *compared, of_vela(pair, "constants"), of_vela(pair, "commands"), *speed]


def means(pairs):
    """A row for each NPU, and one with the goal for all NPUs of each family."""
    rows = []
    for family, goal in BARS.items():
        settings = [setting for setting in SETTINGS if setting.target.startswith(family)]
        groups = [(s.target, s.mode, [pair for pair in pairs if pair.setting == s], "") for s in settings]
        groups.append((family, "all", [pair for pair in pairs if pair.setting in settings], f"{goal:.2f}"))
        for name, mode, mine, shown_goal in groups:
            worst = max((pair for pair in mine if not pair.rejected), key=Pair.ratio, default=None)
            shown = f"{worst.case} {worst.ratio():.3f}" if worst else "-"
            rows.append([name, mode, f"{mean(mine):.3f}" if worst else "-", shown_goal, shown])
    return table(["NPU", "memory mode", "geometric mean", "goal", "worst case"], rows)


# A ratio above these limits is a loss.
AT_THE_SAME_SRAM = {"cycles": 1.005, "sram": 1.0, "constants": 1.0}
FOR_SIZE = {"cycles": 1.05, "sram": 1.0, "constants": 1.0}


def reason(pair, what):
    if what != "cycles":
        return f"{getattr(pair.ours, what) - getattr(pair.vela, what):,} bytes more"
    more = Counter(pair.ours.causes)
    more.subtract(pair.vela.causes)
    return ", ".join(f"{cause} {cycles:+,}" for cause, cycles in more.most_common(3) if cycles > 0)


def losses_of(pair, limits):
    for what, limit in limits.items():
        if pair.ratio(what) > limit:
            yield [pair.setting.target, pair.case, what, f"{pair.ratio(what):.3f}", reason(pair, what)]
    for what in ("seconds", "megabytes"):
        ours, vela = getattr(pair.ours.cost, what), getattr(pair.vela.cost, what)
        if ours > vela:
            yield [
                pair.setting.target,
                pair.case,
                f"compiler's {what}",
                f"{ours / vela:.2f}",
                f"{ours - vela:.2f} more",
            ]


def losses(pairs, limits):
    rows = [row for pair in pairs if not pair.rejected for row in losses_of(pair, limits)]
    return (
        table(["NPU", "case", "what", "ratio", "where (cycles: by operation and what bounds it)"], rows)
        if rows
        else "None.\n"
    )


# --- DeiT-tiny ------------------------------------------------------------------------------------------------------


def deit_pairs(work):
    tosa = deit_tosa(work)
    for setting in SETTINGS:
        bar = DEIT.get(setting.target)
        for flag, share in bar.shares.items() if bar else ():
            flags = flag.split()
            pair = compare(
                setting,
                f"deit_tiny {flag}",
                [tosa],
                "Performance",
                lambda vela, s=setting, flags=flags: [*same_sram(s, vela.sram), *flags],
                work,
            )
            yield [*row_of(pair), f"{pair.ours.cycles / bar.peers_cycles:.3f}", f"{share:.2f}"]


PAGE = """# Against Vela

This page compares the command streams of Carina and of Vela for the same networks.
`make bench` (`bench/run.py --only against-vela`) writes it, and runs both compilers on one machine:
{machine}.

Both compile the same TOSA files with the same system configuration and memory mode. Both streams
run on Carina's simulator ([cycle-model.md](cycle-model.md)). In the tables:
- `a / b` is Carina's value / Vela's. A ratio below 1 means that Carina needs less.
- SRAM is the arena; in Dedicated_Sram it is the fast scratch.
- Constants are encoded weights, scales and tables.
- CPU time and peak memory are those of the whole process: `carina compile` (which also writes the
  `.pte` and estimates its cycles) and `vela`.
- If ExecuTorch's Arm flow divides a network into two parts, both parts count together.
- "Goal" is the project's target for the value beside it.

## Cycles at the same SRAM
Vela runs with `--optimise Performance`. Carina runs with `-O2` and Vela's SRAM as the limit. The
last row gives Carina 2 MB.

{means}
{cycles}
## Least SRAM
Vela runs with `--optimise Size`, Carina with `-Os`.

{size}
## DeiT-tiny
The network is timm's `deit_tiny_patch16_224`, untrained, quantized by Carina, at Vela's SRAM. With
`--dynamic-weights`, matrix products of two activations run as convolutions. For the graph of
ExecuTorch's Arm flow, Vela's stream takes {u55:,} cycles on ethos-u55-128 and {u85:,} on
ethos-u85-256. The last two columns are shares of these.

{deit}
## Cases where Carina needs more
At the same SRAM:

{speed_losses}
For size:

{size_losses}"""


def write(path, work, machine):
    """Compiles and runs all cases and writes the page."""
    speed = [
        compare(s, c, parts_of(c, s), "Performance", lambda vela, s=s: same_sram(s, vela.sram), work)
        for s in SETTINGS
        for c in CASES
    ]
    roomy = compare(
        SETTINGS[0],
        "mobilenet_v2",
        parts_of("mobilenet_v2", SETTINGS[0]),
        "Performance",
        lambda vela: ["--arena-budget=2M"],
        work,
    )
    size = [compare(s, c, parts_of(c, s), "Size", lambda vela: ["-O", "size"], work) for s in SETTINGS for c in CASES]
    deit = list(deit_pairs(work))
    page = PAGE.format(
        machine=machine,
        means=means(speed),
        cycles=table(HEAD, map(row_of, [*speed, roomy])),
        size=table(HEAD, map(row_of, size)),
        u55=DEIT["ethos-u55-128"].peers_cycles,
        u85=DEIT["ethos-u85-256"].peers_cycles,
        deit=table([*HEAD, "of the Arm flow's cycles", "goal"], deit),
        speed_losses=losses(speed, AT_THE_SAME_SRAM),
        size_losses=losses(size, FOR_SIZE),
    )
    Path(path).write_text(page)
