#!/usr/bin/env -S python3 -I -S
"""Prints the output of `carina sweep` without compiling, so that bench/cluster.py measures only the overhead of dividing the work.

STUB_TARGETS, STUB_MODES: their numbers. STUB_SECONDS: the time of a combination. STUB_ROW_BYTES: the length of its row.
"""

import json
import os
import sys
import time

TARGETS = [f"npu-{index}" for index in range(int(os.environ.get("STUB_TARGETS", "11")))]
MODES = [f"mode-{index}" for index in range(int(os.environ.get("STUB_MODES", "6")))]
SECONDS = float(os.environ.get("STUB_SECONDS", "0"))
PADDING = "-" * int(os.environ.get("STUB_ROW_BYTES", "0"))
DIGEST = "0" * 64


def options():
    words = iter(sys.argv[2:])
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not word.startswith("--"):
            name, value = "model", word
        elif not equals and name in ("--scheduler", "--state", "--wait", "--timeout", "--progress"):
            value = next(words)
        found[name] = value
    return found


def row(index):
    target, mode = TARGETS[index // len(MODES)], MODES[index % len(MODES)]
    figures = {
        "quantization": "int8",
        "target": target,
        "system_config": "s",
        "memory_mode": mode,
        "status": "compiled",
        "reason": "",
        "notes": [PADDING],
        "cycles": index,
    }
    return {"scheme": "int8", "target": target, "memory_mode": mode, "row": figures}


def say(line):
    sys.stdout.write(json.dumps(line) + "\n")


def main():
    if sys.argv[1] == "--version":
        return print("carina 0.0.0")
    given = options()
    if "--identity" in given:
        return say({"version": "0.0.0", "program_sha256": DIGEST})
    if "--job" in given:
        with open(given["--job"], encoding="utf-8") as file:
            job = json.load(file)
        for first, last in job["combinations"]:
            for index in range(first, last + 1):
                say({"started": index})
                time.sleep(SECONDS)
                say(row(index))
        return None
    lines = os.path.join(given["--state"], "key.jsonl")
    if "--describe" in given:
        known = sum(1 for _ in open(lines, encoding="utf-8")) if os.path.exists(lines) else 0
        missing = [[known, len(TARGETS) * len(MODES) - 1]] if known < len(TARGETS) * len(MODES) else []
        sweep = {
            "model": "m",
            "key": "key",
            "options": [],
            "files": [],
            "schemes": ["int8"],
            "targets": TARGETS,
            "memory_modes": MODES,
            "missing": missing,
        }
        here = [
            {"name": name, "values": [value] if value else []} for name, value in given.items() if name.startswith("--")
        ]
        return say({"version": "0.0.0", "program_sha256": DIGEST, "here": here, "sweeps": [sweep]})
    with open(lines, encoding="utf-8") as file:
        print(f"{sum(1 for _ in file)} rows")
    return None


if __name__ == "__main__":
    main()
