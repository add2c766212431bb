#!/usr/bin/env python3
"""Compiles a model, compares the result with budgets and with an earlier result, and writes a summary. Standard library only.

usage: check_budget.py MODEL -t TARGET [budgets] [--base BASE.json] [-- options of `carina compile`]

The GitHub Action of this repository (action.yml) runs it, and so can any CI. Exit code 0: within all budgets; 1: a budget is
exceeded, or carina failed; 2: wrong arguments.

  --max-growth 2       no figure may be more than 2 % above that of --base
  --max-cycles N       NPU cycles per inference
  --max-sram BYTES     SRAM: 262144, or 256K as for `carina compile`
  --max-flash BYTES    flash
  --max-cpu-nodes N    nodes that stay on the CPU
  --data FILE.npz      labeled samples: `carina accuracy` counts the right answers of the program
  --min-right PERCENT  of them
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

# Figure, its name in the summary, the option that limits it. All of them get worse as they grow.
FIGURES = [
    ("cycles", "NPU cycles per inference", "max_cycles"),
    ("sram_bytes", "SRAM, bytes", "max_sram"),
    ("flash_bytes", "flash, bytes", "max_flash"),
    ("cpu_nodes", "nodes on the CPU", "max_cpu_nodes"),
]


UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def number(text):
    """A whole number, with K, M or G (powers of 1024) after it or not."""
    found = re.fullmatch(r"(\d+)([KMG]?)", text.upper())
    if found is None:
        raise argparse.ArgumentTypeError(f"expected a whole number, with K, M or G after it or not, got {text}")
    return int(found[1]) * UNITS[found[2]]


def carina(*arguments):
    """The JSON of a command. Ends the program if the command fails."""
    command = [os.environ.get("CARINA_BIN", "carina"), *map(str, arguments), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"check_budget: failed: {shlex.join(command)}")
    return json.loads(done.stdout)


def measure(arguments):
    """{figure: number} of the model: what `carina compile` and `carina accuracy` report."""
    options = ["-t", arguments.target, *arguments.options, "-o", arguments.output]
    report = carina("compile", arguments.model, *options)
    figures = {
        "cycles": report["cycles"],
        "sram_bytes": report["sram_bytes"],
        "flash_bytes": report["program_bytes"],
        "cpu_nodes": sum(node["runs_on"] == "cpu" for node in report["nodes"]),
    }
    if arguments.data:
        score = carina("accuracy", arguments.model, arguments.output, "--data", arguments.data)
        figures["right_percent"] = 100 * score["npu_right"] / score["samples"]
    return figures


def rows(now, base, arguments):
    """(name, base, now, limit, whether it is exceeded) for each figure. None: there is no such figure or limit."""
    for key, name, option in FIGURES:
        limits = [getattr(arguments, option)] if getattr(arguments, option) is not None else []
        if key in base and arguments.max_growth is not None:
            limits.append(base[key] * (1 + arguments.max_growth / 100))
        limit = min(limits, default=None)
        yield name, base.get(key), now[key], limit, limit is not None and now[key] > limit
    if "right_percent" in now:
        limit = arguments.min_right
        yield (
            "right answers, %",
            base.get("right_percent"),
            now["right_percent"],
            limit,
            limit is not None and now["right_percent"] < limit,
        )


def shown(number):
    return "" if number is None else f"{number:,.2f}".removesuffix(".00")


def change(base, now):
    return "" if not base else f"{100 * (now - base) / base:+.1f} %"


def summary(model, target, table):
    lines = [
        f"### {Path(model).name} on {target}",
        "",
        "| figure | base | now | change | limit | |",
        "|---|--:|--:|--:|--:|---|",
    ]
    for name, base, now, limit, exceeded in table:
        lines.append(
            f"| {name} | {shown(base)} | {shown(now)} | {change(base, now)} | {shown(limit)} | {'**exceeded**' if exceeded else '' if limit is None else 'ok'} |"
        )
    return "\n".join(lines) + "\n"


def parsed(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("-t", "--target", required=True)
    parser.add_argument("-o", "--output", default="model.pte", help="the compiled program")
    parser.add_argument("--base", type=Path, help="the figures of another run, which --figures wrote")
    parser.add_argument("--figures", type=Path, help="write the figures as JSON")
    parser.add_argument("--summary", type=Path, help="append the table, as Markdown, to this file")
    parser.add_argument("--data")
    parser.add_argument("--max-growth", type=float)
    parser.add_argument("--min-right", type=float)
    for _, name, option in FIGURES:
        parser.add_argument("--" + option.replace("_", "-"), type=number, help=f"the limit of: {name}")
    own, options = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    arguments = parser.parse_args(own)
    if arguments.max_growth is not None and arguments.base is None:
        parser.error("--max-growth needs --base")
    if arguments.min_right is not None and arguments.data is None:
        parser.error("--min-right needs --data")
    arguments.options = options
    return arguments


def main():
    arguments = parsed(sys.argv[1:])
    base = json.loads(arguments.base.read_text()) if arguments.base else {}
    now = measure(arguments)
    table = list(rows(now, base, arguments))
    text = summary(arguments.model, arguments.target, table)
    print(text, end="")
    if arguments.summary:
        with open(arguments.summary, "a") as file:
            file.write(text)
    if arguments.figures:
        arguments.figures.write_text(json.dumps(now, indent=2) + "\n")
    if all(limit is None for _, _, _, limit, _ in table):
        print(
            "check_budget: nothing is checked: give a budget (--max-sram 256K), or --max-growth with --base",
            file=sys.stderr,
        )
    exceeded = [name for name, _, _, _, is_exceeded in table if is_exceeded]
    if exceeded:
        sys.exit(f"check_budget: exceeded: {', '.join(exceeded)}")


if __name__ == "__main__":
    main()
