"""Compiles TOSA files with Carina and Vela and measures the command streams on the simulator."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from processes import ROOT, SHARED, Cost, carina, process


@dataclass(frozen=True)
class Setting:
    """An NPU with its memories."""

    target: str
    system: str
    mode: str

    @property
    def is_dedicated(self):
        return self.mode.startswith("Dedicated")

    def flags(self):
        return [f"--system-config={self.system}", f"--memory-mode={self.mode}"]


@dataclass
class Stream:
    """The measurements of a case. If the peer's flow divided its graph, the parts are added up."""

    cycles: int = 0
    sram: int = 0
    constants: int = 0
    commands: int = 0
    cost: Cost = field(default_factory=lambda: Cost(0, 0, 0))
    causes: Counter = field(default_factory=Counter)  # cycles by operation and by its bottleneck

    def add(self, other):
        self.cycles += other.cycles
        self.sram = max(self.sram, other.sram)
        self.constants += other.constants
        self.commands += other.commands
        self.cost = Cost(
            self.cost.seconds + other.cost.seconds,
            self.cost.wall + other.cost.wall,
            max(self.cost.megabytes, other.cost.megabytes),
        )
        self.causes += other.causes


@dataclass
class Pair:
    setting: Setting
    case: str
    vela: Stream = field(default_factory=Stream)
    ours: Stream = field(default_factory=Stream)
    rejected: str = ""  # why Carina or Vela has no stream

    def ratio(self, what="cycles"):
        ours, vela = getattr(self.ours, what), getattr(self.vela, what)
        return ours / vela if vela else float(bool(ours))


def parts_of(case, setting):
    """The case's TOSA files for this NPU. Files that only U85 supports are in its folder."""
    whole = SHARED / "cases" / case / "ethos-u85-256" / "out.tosa"
    if "u85" in setting.target and whole.exists():
        return [whole]
    return sorted((SHARED / "cases" / case).glob("out*.tosa"))


def measured(npz, setting, cost):
    """Measures the stream of a raw file on the simulator."""
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


def vela_stream(tosa, setting, optimize, work):
    flags = [
        f"--accelerator-config={setting.target}",
        "--config=Arm/vela.ini",
        "--output-format=raw",
        f"--optimise={optimize}",
        *setting.flags(),
    ]
    cost, _ = process([sys.executable, "-m", "ethosu.vela", *flags, f"--output-dir={work}", tosa], cwd=work)
    return measured(work / f"{tosa.stem}_vela.npz", setting, cost)


def our_stream(tosa, setting, flags, work):
    """Compiles with Vela's SRAM as the limit. If that is too little, compiles without a limit, and the table shows a loss."""
    dump = work / "dump"
    compiling = carina("compile", tosa, "--target", setting.target, *setting.flags(), "-o", work / "out.pte")
    try:
        command = [*compiling, *flags]
        cost, _ = process(command)
    except RuntimeError as error:
        if "does not fit" not in str(error):
            raise
        command = [*compiling, *(flag for flag in flags if not flag.startswith(LIMITS))]
        cost, _ = process(command)
    process([*command, "--dump", dump])
    return measured(dump / "output_tag0_vela.npz", setting, cost)


LIMITS = ("--arena-cache-size", "--arena-budget")


def same_sram(setting, sram):
    return [f"{LIMITS[0] if setting.is_dedicated else LIMITS[1]}={max(sram, 16)}"]


def compare(setting, case, tosas, optimize, flags_of, work):
    """Measures both streams of each file. flags_of(Vela's stream): Carina's flags for it."""
    pair = Pair(setting, case)
    try:
        for tosa in tosas:
            vela = vela_stream(tosa, setting, optimize, work)
            pair.vela.add(vela)
            pair.ours.add(our_stream(tosa, setting, flags_of(vela), work))
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines() if "rror" in line]
        pair.rejected = (lines or str(error).splitlines())[-1][:200]
    print(
        f"against-vela: {setting.target} {case} {optimize}: {pair.rejected or f'{pair.ratio():.3f}'}", file=sys.stderr
    )
    return pair


DEIT_PACKAGES = ["timm==1.0.31", "torchvision==0.28.0", "pillow", "safetensors", "huggingface_hub"]


def deit_tiny(work):
    """deit_tiny_patch16_224 as a .pt2, and an image: (paths)."""
    packages = ROOT / "build" / "bench" / "timm"
    if not packages.exists():
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", packages, *DEIT_PACKAGES],
            check=True,
        )
    model, image = work / "deit_tiny.pt2", work / "deit_tiny.npy"
    process([sys.executable, ROOT / "bench" / "deit_tiny.py", packages, model, image])
    return model, image


def deit_tosa(work):
    """deit_tiny_patch16_224, quantized by Carina. Transposes stay where the model has them, because Vela rejects the other graph."""
    (model, image), dump = deit_tiny(work), work / "deit_dump"
    quantized = ["--quantize", "int8", "--calibrate", image, "--disable-pass", "sink-transposes"]
    process(carina("compile", model, "--target", "ethos-u55-128", *quantized, "--dump", dump, "-o", work / "deit.pte"))
    return next(dump.glob("*.tosa")).rename(work / "deit_tiny.tosa")
