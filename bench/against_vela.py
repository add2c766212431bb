"""Our command streams beside Vela's for the same TOSA files: docs/against-vela.md, written by bench/run.py."""

import json
import math
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from processes import ROOT, SHARED, Cost, carina, process


@dataclass(frozen=True)
class Setting:
    """An NPU with its memories, and the geometric mean of cycles that is asked for."""

    target: str
    bar: float
    system: str
    mode: str

    @property
    def is_dedicated(self):
        return self.mode.startswith("Dedicated")

    def flags(self):
        return [f"--system-config={self.system}", f"--memory-mode={self.mode}"]


SETTINGS = [
    Setting("ethos-u55-128", 0.70, "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    Setting("ethos-u55-256", 0.70, "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    Setting("ethos-u65-256", 0.70, "Ethos_U65_High_End", "Dedicated_Sram"),
    Setting("ethos-u65-512", 0.70, "Ethos_U65_High_End", "Dedicated_Sram"),
    Setting("ethos-u85-256", 0.85, "Ethos_U85_SYS_DRAM_Mid", "Shared_Sram"),
    Setting("ethos-u85-1024", 0.85, "Ethos_U85_SYS_DRAM_Mid", "Shared_Sram"),
]
CASES = ("softmax", "kws", "resnet8", "resnet20", "ds_cnn", "lstm", "mobilenet_v2")
DEIT = {"ethos-u55-128": (0.15, 0.80), "ethos-u85-256": (0.40, 0.40)}  # bars: with dynamic weights, without


@dataclass
class Stream:
    """What a case takes; its parts, where the peer's flow has cut it, together."""

    cycles: int = 0
    sram: int = 0
    constants: int = 0
    commands: int = 0
    cost: Cost = field(default_factory=lambda: Cost(0, 0, 0))
    causes: Counter = field(default_factory=Counter)  # cycles by operation and what bounds it

    def add(self, other):
        self.cycles += other.cycles
        self.sram = max(self.sram, other.sram)
        self.constants += other.constants
        self.commands += other.commands
        self.cost = Cost(self.cost.seconds + other.cost.seconds, self.cost.wall + other.cost.wall, max(self.cost.megabytes, other.cost.megabytes))
        self.causes += other.causes


@dataclass
class Pair:
    setting: Setting
    case: str
    vela: Stream = field(default_factory=Stream)
    ours: Stream = field(default_factory=Stream)
    refused: str = ""  # why one of the two has no stream


# --- the streams ----------------------------------------------------------------------------------------------------


def parts_of(case, setting):
    """The case's TOSA files for that NPU; what U85 alone can take stands in its folder."""
    whole = SHARED / "cases" / case / "ethos-u85-256" / "out.tosa"
    if "u85" in setting.target and whole.exists():
        return [whole]
    return sorted((SHARED / "cases" / case).glob("out*.tosa"))


def measured(npz, setting, cost):
    """The stream of a raw file on the simulator."""
    arrays = np.load(npz, allow_pickle=False)
    _, text = process(carina("npu", "run", npz, "--timed", "--all", "--json", *setting.flags()))
    npu = json.loads(text)["npu"]
    causes = Counter()
    for layer in npu["layers"]:
        waited = layer["breakdown"]["dma"]
        causes["waiting for transfers"] += waited
        causes[f"{layer['operation']} by {layer['bottleneck']}"] += layer["cycles"] - waited
    sram = arrays["scratch_fast_size" if setting.is_dedicated else "scratch_size"]
    return Stream(npu["cycles"], int(sram), arrays["weight_data"].nbytes, arrays["cmd_data"].nbytes, cost, causes)


def vela_stream(tosa, setting, optimise, work):
    flags = [f"--accelerator-config={setting.target}", "--config=Arm/vela.ini", "--output-format=raw", f"--optimise={optimise}", *setting.flags()]
    cost, _ = process([sys.executable, "-m", "ethosu.vela", *flags, f"--output-dir={work}", tosa], cwd=work)
    return measured(work / f"{tosa.stem}_vela.npz", setting, cost)


def our_stream(tosa, setting, flags, work):
    dump = work / "dump"
    command = carina("compile", tosa, "--target", setting.target, *setting.flags(), *flags, "-o", work / "out.pte")
    cost, _ = process(command)
    process([*command, "--dump", dump])
    return measured(dump / "output_tag0_vela.npz", setting, cost)


def same_sram(setting, sram):
    return [f"{'--arena-cache-size' if setting.is_dedicated else '--sram-budget'}={max(sram, 16)}"]


def compare(setting, case, tosas, optimise, flags_of, work):
    """Both streams of each file. flags_of(Vela's stream): what ours is compiled with."""
    pair = Pair(setting, case)
    try:
        for tosa in tosas:
            vela = vela_stream(tosa, setting, optimise, work)
            pair.vela.add(vela)
            pair.ours.add(our_stream(tosa, setting, flags_of(vela), work))
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines() if "rror" in line]
        pair.refused = (lines or str(error).splitlines())[-1][:200]
    print(f"against-vela: {setting.target} {case} {optimise}: {pair.refused or f'{ratio(pair):.3f}'}", file=sys.stderr)
    return pair


# --- the page -------------------------------------------------------------------------------------------------------


def ratio(pair, what="cycles"):
    ours, vela = getattr(pair.ours, what), getattr(pair.vela, what)
    return ours / vela if vela else float(bool(ours))


def mean(pairs):
    ratios = [ratio(pair) for pair in pairs if not pair.refused]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def table(head, rows):
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def of_vela(pair, what):
    return f"{getattr(pair.ours, what):,} / {getattr(pair.vela, what):,}"


HEAD = ["NPU", "case", "cycles", "", "SRAM B", "", "constants B", "commands B", "CPU s", "peak MB"]


def row_of(pair):
    name = [pair.setting.target, pair.case]
    if pair.refused:
        return [*name, pair.refused, *["-"] * (len(HEAD) - 3)]
    cost, peer = pair.ours.cost, pair.vela.cost
    speed = [f"{cost.seconds:.2f} / {peer.seconds:.2f}", f"{cost.megabytes:.0f} / {peer.megabytes:.0f}"]
    judged = [cell for what in ("cycles", "sram") for cell in (of_vela(pair, what), f"{ratio(pair, what):.3f}")]
    return [*name, *judged, of_vela(pair, "constants"), of_vela(pair, "commands"), *speed]


def means(pairs):
    rows = []
    for setting in SETTINGS:
        mine = [pair for pair in pairs if pair.setting == setting]
        worst = max((pair for pair in mine if not pair.refused), key=ratio, default=None)
        shown = f"{worst.case} {ratio(worst):.3f}" if worst else "-"
        rows.append([setting.target, setting.mode, f"{mean(mine):.3f}" if worst else "-", f"{setting.bar:.2f}", shown])
    return table(["NPU", "memory mode", "geometric mean", "asked for", "worst case"], rows)


# Above these, a ratio is a loss.
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
        if ratio(pair, what) > limit:
            yield [pair.setting.target, pair.case, what, f"{ratio(pair, what):.3f}", reason(pair, what)]
    for what in ("seconds", "megabytes"):
        ours, vela = getattr(pair.ours.cost, what), getattr(pair.vela.cost, what)
        if ours > vela:
            yield [pair.setting.target, pair.case, f"compiler's {what}", f"{ours / vela:.2f}", f"{ours - vela:.2f} more"]


def losses(pairs, limits):
    rows = [row for pair in pairs if not pair.refused for row in losses_of(pair, limits)]
    return table(["NPU", "case", "what", "ratio", "where (cycles: by operation and what bounds it)"], rows) if rows else "None.\n"


# --- DeiT-tiny ------------------------------------------------------------------------------------------------------

DEIT_PACKAGES = ["timm==1.0.31", "torchvision==0.28.0", "pillow", "safetensors", "huggingface_hub"]


def deit_tosa(work):
    """deit_tiny_patch16_224, quantized by our front end. Transpositions stay where the model has them: Vela refuses the other graph."""
    packages = ROOT / "build" / "bench" / "timm"
    if not packages.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", packages, *DEIT_PACKAGES], check=True)
    model, image, dump = work / "deit_tiny.pt2", work / "deit_tiny.npy", work / "deit_dump"
    process([sys.executable, ROOT / "bench" / "deit_tiny.py", packages, model, image])
    quantized = ["--quantize", "int8", "--calibrate", image, "--disable-pass", "sink-transposes"]
    process(carina("compile", model, "--target", "ethos-u55-128", *quantized, "--dump", dump, "-o", work / "deit.pte"))
    return next(dump.glob("*.tosa")).rename(work / "deit_tiny.tosa")


def deit_pairs(work):
    tosa = deit_tosa(work)
    for setting in SETTINGS:
        for bar, flags in zip(DEIT.get(setting.target, ()), (["--dynamic-weights"], [])):
            pair = compare(setting, " ".join(["deit_tiny", *flags]), [tosa], "Performance", lambda vela, flags=flags: [*same_sram(setting, vela.sram), *flags], work)
            yield bar, pair


PAGE = """# Against Vela

Written by `make bench` (`bench/run.py --only against-vela`), with Vela beside it in the same run; {machine}. Both compile the same TOSA files with the same system
configuration and memory mode, both streams run on Carina's simulator ([cycle-model.md](cycle-model.md)): `a / b` is ours / Vela's, a ratio below 1 is ours. SRAM is the arena,
in Dedicated_Sram the fast scratch; constants are encoded weights, scales and tables. CPU time and peak memory are those of the whole process, `carina compile` (which
also writes the `.pte` and estimates its cycles) and `vela`. Networks that the peer's flow has cut in two count together.

## Cycles at the same SRAM
Vela with `--optimise Performance`; ours with `-O2` and Vela's SRAM as the limit. The last row allows ours 2 MB.

{means}
{cycles}
## Least SRAM
Vela with `--optimise Size`; ours with `-Os`.

{size}
## DeiT-tiny
timm's `deit_tiny_patch16_224`, untrained, quantized by Carina; at Vela's SRAM. With `--dynamic-weights`, matrix products of two activations run as convolutions.

{deit}
## Losses
At the same SRAM:

{speed_losses}
For size:

{size_losses}"""


def write(path, work, machine):
    """Compiles and runs everything; writes the page."""
    speed = [compare(s, c, parts_of(c, s), "Performance", lambda vela, s=s: same_sram(s, vela.sram), work) for s in SETTINGS for c in CASES]
    roomy = compare(SETTINGS[0], "mobilenet_v2", parts_of("mobilenet_v2", SETTINGS[0]), "Performance", lambda vela: ["--sram-budget=2M"], work)
    size = [compare(s, c, parts_of(c, s), "Size", lambda vela: ["-O", "size"], work) for s in SETTINGS for c in CASES]
    deit = list(deit_pairs(work))
    page = PAGE.format(
        machine=machine,
        means=means(speed),
        cycles=table(HEAD, map(row_of, [*speed, roomy])),
        size=table(HEAD, map(row_of, size)),
        deit=table([*HEAD, "asked for"], ([*row_of(pair), f"{bar:.2f}"] for bar, pair in deit)),
        speed_losses=losses(speed, AT_THE_SAME_SRAM),
        size_losses=losses(size, FOR_SIZE),
    )
    Path(path).write_text(page)
