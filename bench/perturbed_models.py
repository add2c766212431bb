"""Compares Carina's and Vela's streams under alternative assumptions of the cycle model and writes docs/against-vela-models.md.

usage: perturbed_models.py PAGE WORK

WORK stores Vela's streams, so a second run compiles only with Carina."""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from against_vela import CASES, SETTINGS, table
from processes import BUILD, carina, commit, process
from streams import parts_of, same_sram

LINES = ("ethos-u55", "ethos-u65", "ethos-u85")
GOALS = {
    "ethos-u55": (0.68, 0.72),
    "ethos-u65": (0.55, 0.62),
    "ethos-u85": (0.72, 0.78),
}  # nominal, perturbed: geometric means
WORST = (1.005, 1.03)


@dataclass
class Ratios:
    """Carina's cycles divided by Vela's for one case on one NPU, for each model."""

    setting: object
    case: str
    by_model: dict

    def worst(self):
        return max(self.by_model, key=self.by_model.get)


def cycles_by_model(npz, setting):
    _, text = process([BUILD / "perturbed_cycles", setting.system, setting.mode, npz])
    return json.loads(text)


def vela_stream(tosa, setting, work):
    folder = work / "vela" / setting.target / tosa.parent.name / tosa.parent.parent.name
    npz = folder / f"{tosa.stem}_vela.npz"
    if not npz.exists():
        folder.mkdir(parents=True, exist_ok=True)
        flags = [
            f"--accelerator-config={setting.target}",
            "--config=Arm/vela.ini",
            "--output-format=raw",
            *setting.flags(),
        ]
        process([sys.executable, "-m", "ethosu.vela", *flags, f"--output-dir={folder}", tosa], cwd=folder)
    return npz


def our_stream(tosa, setting, vela, work):
    sram = int(np.load(vela)["scratch_fast_size" if setting.is_dedicated else "scratch_size"])
    dump = work / "ours" / setting.target / tosa.parent.name / tosa.parent.parent.name / tosa.stem
    dump.mkdir(parents=True, exist_ok=True)
    flags = [*setting.flags(), *same_sram(setting, sram), "--dump", dump]
    process(carina("compile", tosa, "--target", setting.target, *flags, "-o", work / "out.pte"))
    return dump / "output_tag0_vela.npz"


def ratios(setting, case, work):
    ours, theirs = {}, {}
    for tosa in parts_of(case, setting):
        vela = vela_stream(tosa, setting, work)
        for total, npz in ((ours, our_stream(tosa, setting, vela, work)), (theirs, vela)):
            for model, cycles in cycles_by_model(npz, setting).items():
                total[model] = total.get(model, 0) + cycles
    row = Ratios(setting, case, {model: ours[model] / theirs[model] for model in ours})
    print(
        f"{setting.target} {case}: {row.by_model['nominal']:.3f}, worst {row.by_model[row.worst()]:.3f} ({row.worst()})",
        file=sys.stderr,
    )
    return row


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def means(rows):
    models = list(rows[0].by_model)
    body = []
    for model in models:
        cells = [model]
        for line in LINES:
            mine = [row.by_model[model] for row in rows if row.setting.target.startswith(line)]
            cells += [f"{geometric_mean(mine):.3f}", f"{GOALS[line][model != 'nominal']:.2f}", f"{max(mine):.3f}"]
        body.append([*cells, f"{WORST[model != 'nominal']:.3f}"])
    head = ["model"] + [cell for line in LINES for cell in (f"{line} mean", "goal", "worst case")] + ["goal"]
    return table(head, body)


def cases(rows):
    body = []
    for row in rows:
        others = [ratio for model, ratio in row.by_model.items() if model != "nominal"]
        worst = row.worst()
        body.append(
            [
                row.setting.target,
                row.case,
                f"{row.by_model['nominal']:.3f}",
                f"{geometric_mean(others):.3f}",
                f"{row.by_model[worst]:.3f}",
                worst,
            ]
        )
    return table(["NPU", "case", "nominal", "mean of the others", "worst", "model of the worst"], body)


PAGE = """# Against Vela under other assumptions

This page shows how far the comparison with Vela ([against-vela.md](against-vela.md)) depends on
what the cycle model assumes ([cycle-model.md](cycle-model.md)). `bench/perturbed_models.py` writes
it; this one is of commit {commit}.

Each value is Carina's cycles / Vela's at the same SRAM, with the same streams under every model.
Reports use the nominal model. The planner, here with `-O2`, tries several plans and takes the one
that is good under all models, if its nominal cycles are at most 1 % above the least
([plan.md](plan.md), "Assumptions"). Each of the other models changes one assumption:
- the latencies of all memories are halved or doubled
- the second memory (flash or DRAM) has half or twice its speed
- the start and end of a kernel are hidden behind the kernel before it, where BLOCKDEP permits it
- elementwise operations process whole bricks of 16 channels
- the first read and the last write of an operation take no time, or twice the time

## Geometric means
{means}
## Cases
{cases}"""


def write(path, work):
    rows = [ratios(setting, case, work) for setting in SETTINGS for case in CASES]
    Path(path).write_text(PAGE.format(commit=commit(), means=means(rows), cases=cases(rows)))


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))
