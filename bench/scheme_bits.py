"""Checks that the NPU's bits are the integer graph's, and that `auto` is never beaten by a plain scheme, on the networks of range_networks.py.

usage: scheme_bits.py WORK [--networks prelu,denoiser] [--targets ethos-u55-128,...] [--samples N] [--carina PATH]

For each network, target and scheme: cycles with those of the CPU, the SQNR of the program's outputs for samples that neither training nor
calibration has seen, and how many samples have the integer graph's bits on the NPU. For auto also the SQNR that its note promised. The exit
code is 1 if a bit differs, or if a plain scheme of at most as many cycles as auto is 0.5 dB better."""

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np
from processes import BUILD
from range_networks import NETWORKS
from range_rules import compiled, prepare, run

SCHEMES = ("int8", "int8+minmax", "int8+rounded-for-inputs", "int8x4", "int16x8", "int16x8+rounded-for-inputs", "auto")


def measured(carina, name, scheme, target, work, test):
    """(cycles, SQNR in dB, samples, of these with equal bits, promised SQNR or None)"""
    dump = work / f"{name}_bits"
    program, report, notes = compiled(carina, name, scheme, work, target, "--dump", dump)
    accuracy = json.loads(
        run(carina, "accuracy", work / f"{name}.pt2", program, "--dump", dump, "--data", test, "--json").stdout
    )
    promised = re.search(r"cycles \(.*?\), SQNR ([\d.]+) dB", notes)
    cycles = report["cycles"] + sum(node["cpu_cycles"] for node in report["nodes"])
    return (
        cycles,
        accuracy["sqnr_db"],
        accuracy["samples"],
        accuracy["npu_equals_integer"],
        float(promised[1]) if promised else None,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--targets", default="ethos-u55-128,ethos-u65-256,ethos-u85-256")
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--carina", default=str(BUILD / "carina"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| network | target | scheme | cycles | SQNR dB | promised | equal bits |\n|---|---|---|---|---|---|---|")
    wrong = []
    for name in options.networks.split(","):
        prepare(name, options.work)
        test = options.work / f"{name}_bits_test.npz"
        np.savez(test, x=np.load(options.work / f"{name}_test.npz")["x"][: options.samples])
        for target in options.targets.split(","):
            rows = {scheme: measured(options.carina, name, scheme, target, options.work, test) for scheme in SCHEMES}
            for scheme, (cycles, sqnr, samples, equal, promised) in rows.items():
                print(
                    f"| {name} | {target} | {scheme} | {cycles} | {sqnr:.1f} | {promised or ''} | {equal} of {samples} |",
                    flush=True,
                )
                if equal != samples:
                    wrong.append(f"{name} {target} {scheme}: {samples - equal} samples differ")
                if scheme != "auto" and cycles <= rows["auto"][0] and sqnr > rows["auto"][1] + 0.5:
                    wrong.append(f"{name} {target}: auto {rows['auto'][1]:.1f} dB, {scheme} {sqnr:.1f} dB")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
