#!/usr/bin/env python3
"""Counts the instructions of the runtime's kernels on a Cortex-M55 in QEMU, per element or multiply-accumulate (MAC).

usage: bench/kernels.py [--only WORD]... [--json FILE] [--before FILE]         (a part of make bench)

--only    only rows that contain this word
--json    also write the rows to this file
--before  a file of --json: print its numbers beside the current ones

Needs build/release/firmware/bin/kernel_bench.elf (make build with the cross compiler) and qemu-system-arm.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / os.environ.get("CARINA_BUILD", "build")
IMAGE = BUILD / "release" / "firmware" / "bin" / "kernel_bench.elf"
NANOSECONDS = 32  # per instruction: -icount shift=5
CLOCK_HZ = 32e6
CYCLES_PER_INSTRUCTION = NANOSECONDS * CLOCK_HZ / 1e9


@dataclass
class Row:
    name: str
    kernel: str
    instructions: float  # per element or MAC
    digest: str  # of the results


def rows_of(text):
    """The rows in the output of firmware/bench."""
    rows = []
    for line in text.splitlines():
        if not line.startswith("row "):
            continue
        name, kernel, cycles, work, digest, error = (word.strip() for word in line.removeprefix("row ").split("|"))
        if int(error) != 0:
            raise RuntimeError(f"{kernel} ({name}): error {error}")
        rows.append(Row(name, kernel, int(cycles) / CYCLES_PER_INSTRUCTION / int(work), digest))
    if not rows:
        raise RuntimeError(f"no rows in: {text[-500:]}")
    return rows


def measured(image=IMAGE):
    command = [
        "qemu-system-arm",
        "-M",
        "mps3-an547",
        "-display",
        "none",
        "-serial",
        "null",
        "-monitor",
        "none",
        "-icount",
        f"shift={NANOSECONDS.bit_length() - 1}",
    ]
    command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(image)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"{image} ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}")
    return rows_of(done.stdout + done.stderr)


def numbered(rows):
    """The rows by (kernel, arguments, number of the row among those with equal names)."""
    seen = Counter()
    found = {}
    for row in rows:
        key = (row.kernel, row.name)
        found[*key, seen[key]] = row
        seen[key] += 1
    return found


def table(rows, before, words):
    lines = [f"{'kernel':52} {'arguments':28} {'instructions':>12}" + (f" {'before':>8}" if before else "")]
    for key, row in numbered(rows).items():
        if words and not any(word in row.kernel + row.name for word in words):
            continue
        old = f" {before[key].instructions:8.1f}" if key in before else ""
        lines.append(f"{row.kernel:52} {row.name:28} {row.instructions:12.1f}{old}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="WORD")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    rows = measured()
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    before = numbered(Row(**row) for row in json.loads(options.before.read_text())) if options.before else {}
    print(table(rows, before, options.only))
    return 0


if __name__ == "__main__":
    sys.exit(main())
