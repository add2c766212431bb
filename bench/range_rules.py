"""Measures each range rule of int8 on small networks that are trained in seconds: how many points it loses to the float model.

usage: range_rules.py WORK [--rules int8,int8+mse] [--networks prelu,denoiser] [--target ethos-u55-128] [--carina PATH]

Networks and data are those of range_networks.py. They stay in WORK, and are trained only once. 64 of the training samples are for
calibration. The program runs on the simulated NPU with samples that neither training nor calibration has seen. The first rule is the
default. --sqnr prints the SQNR of the outputs instead, the lowest of several; it may name other schemes too: --rules int8,int16x8,auto."""

import argparse
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import torch
from processes import BUILD
from range_networks import NETWORKS, UNITS, loss_in_points, trained

RULES = "int8,int8+histogram,int8+mse,int8+percentile,int8+minmax"
CALIBRATED = 64


def run(carina, *args):
    done = subprocess.run([carina, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, args))}\n{done.stderr}")
    return done


def compiled(carina, name, scheme, work, target, *more):
    """The program, the report of the compilation, and its notes."""
    program = work / f"{name}.pte"
    done = run(
        carina,
        "compile",
        work / f"{name}.pt2",
        "--target",
        target,
        "--quantize",
        scheme,
        "--calibrate",
        work / f"{name}_calibration.npz",
        "-o",
        program,
        "--json",
        *more,
    )
    return program, json.loads(done.stdout), done.stderr


def decibels(wanted, error):
    return 10 * np.log10((wanted.astype(np.float64) ** 2).sum() / max((error.astype(np.float64) ** 2).sum(), 1e-30))


def prepare(name, work):
    """The truth and the float model's outputs for the test samples."""
    kept = work / f"{name}_float.npz"
    if not kept.exists():
        module, x, y = trained(name)
        torch.export.save(torch.export.export(module, (torch.from_numpy(x[:1]),)), work / f"{name}.pt2")
        np.savez(work / f"{name}_calibration.npz", x=x[:CALIBRATED])
        x, y = x[NETWORKS[name].trained :], y[NETWORKS[name].trained :]
        np.savez(work / f"{name}_test.npz", x=x)
        with torch.no_grad():
            outputs = module(torch.from_numpy(x))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        np.savez(kept, truth=y, **{f"output_{i}": output.numpy() for i, output in enumerate(outputs)})
    arrays = np.load(kept)
    return arrays["truth"], [arrays[f"output_{i}"] for i in range(len(arrays.files) - 1)]


def measured(carina, name, rule, work, target, wanted):
    """The report of the compilation, and the program's outputs."""
    out = work / f"{name}_out"
    program, report, _ = compiled(carina, name, rule, work, target)
    shutil.rmtree(out, ignore_errors=True)
    run(carina, "run", program, "-i", work / f"{name}_test.npz", "-o", out)
    return report, [
        np.load(file).reshape(one.shape) for file, one in zip(sorted(out.glob("*.npy")), wanted, strict=True)
    ]


def row_of(carina, name, rules, work, target, is_sqnr):
    """The float model's figure and that of each rule: points lost, or dB."""
    truth, wanted = prepare(name, work)
    metric = NETWORKS[name].metric
    figure, numbers = metric(wanted, truth), []
    for rule in rules:
        _, got = measured(carina, name, rule, work, target, wanted)
        nearness = min(decibels(one, other - one) for one, other in zip(wanted, got, strict=True))
        numbers.append(nearness if is_sqnr else loss_in_points(metric, figure, metric(got, truth)))
    return f"{figure:.2f} {UNITS[metric]}", numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rules", default=RULES)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--target", default="ethos-u55-128")
    parser.add_argument("--carina", default=str(BUILD / "carina"))
    parser.add_argument("--sqnr", action="store_true")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rules = options.rules.split(",")
    print(f"| network | float | {' | '.join(rules)} |\n|---|---|{'---|' * len(rules)}")
    table = []
    for name in options.networks.split(","):
        figure, numbers = row_of(options.carina, name, rules, options.work, options.target, options.sqnr)
        table.append(numbers)
        print(f"| {name} | {figure} | {' | '.join(f'{number:.2f}' for number in numbers)} |", flush=True)
    table = np.array(table)
    print(f"| mean | | {' | '.join(f'{number:.2f}' for number in table.mean(0))} |")
    if not options.sqnr:
        behind = (table - table.min(1, keepdims=True)).max(0)
        print(f"| farthest behind the best rule | | {' | '.join(f'{number:.2f}' for number in behind)} |")


if __name__ == "__main__":
    main()
