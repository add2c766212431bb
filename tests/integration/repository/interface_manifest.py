"""What programs of users may rely on (docs/stability.md): commands with their options, keys of JSON, public headers, Python names.

`python tests/integration/repository/interface_manifest.py` writes interface_manifest.json anew after a change on purpose; test_manifest.py compares. A name that is
gone breaks scripts of users: keep it for one more minor version, with a note, and say so in the changelog.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FILE = Path(__file__).with_name("interface_manifest.json")
DIGITS = ROOT / "models" / "digits"
SIGNATURES = """
import inspect, json, carina
def arguments(value):
    callables = inspect.isfunction(value) or inspect.isclass(value)
    return [str(p.replace(annotation=inspect.Parameter.empty)) for p in inspect.signature(value).parameters.values()] if callables else None
def members(value):
    return sorted(n for n in vars(value) if not n.startswith("_")) if inspect.isclass(value) else None
names = {}
for name in carina.__all__:
    value = getattr(carina, name)
    try: names[name] = {"arguments": arguments(value), "members": members(value)}
    except ValueError: names[name] = {"members": members(value)}
print(json.dumps(names))
"""


def keys(value, path=""):
    """The paths of all keys of a JSON document: {"a": [{"b": 1}]} is "a", "a[].b"."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}".removeprefix(".")
            yield from keys(inner, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path}[]")


def manifest(carina, python):
    def printed(*words):
        return subprocess.run(
            [str(word) for word in (carina, *words)],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ).stdout

    options = re.findall(r'^    (\S+)\) options="([^"]*)"', printed("completion", "bash"), flags=re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "digits.pte"
        compiled = printed(
            "compile",
            DIGITS / "digits.pt2",
            "-t",
            "ethos-u55-128",
            "--calibrate",
            DIGITS / "calibration.npz",
            "-o",
            program,
            "--json",
        )
        score = printed("accuracy", DIGITS / "digits.pt2", program, "--data", DIGITS / "test.npz", "--json")
    environment = {**os.environ, "PYTHONPATH": str(Path(carina).parents[1] / "python")}
    names = subprocess.run(
        [python, "-W", "ignore", "-c", SIGNATURES], check=True, stdout=subprocess.PIPE, text=True, env=environment
    ).stdout
    return {
        # Scripts in Python list their options when they run (docs/guide/script-options.md).
        "commands": {command: sorted(listed.split()) for command, listed in options if "$(" not in listed},
        "json": {"compile": sorted(set(keys(json.loads(compiled)))), "accuracy": sorted(set(keys(json.loads(score))))},
        "headers": sorted(path.name for path in (ROOT / "include" / "carina").iterdir()),
        "python": json.loads(names),
    }


def text_of(content):
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    build = ROOT / os.environ.get("CARINA_BUILD", "build") / "release"
    FILE.write_text(text_of(manifest(build / "bin" / "carina", sys.executable)))
