"""Random graphs of test_plan.py by number, for on_cluster.py. Each is compiled, simulated and compared with the official TOSA reference
model.

    graphs.py --version | --identity | --job=FILE
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parents[1]
BUILD = Path(os.environ.get("CARINA_BUILD", ROOT / "build"))
PLAN_TOOL = BUILD / "release" / "bin" / "plan_tool"
VERSION = "of this repository"


def write_row(line):
    print(json.dumps(line), flush=True)


def digest():
    """The digest of the tested program and of the graph generator."""
    found = hashlib.sha256(PLAN_TOOL.read_bytes())
    for name in ("test_plan.py", "plan_graphs.py", "vela_graphs.py", "operator_graphs.py"):
        found.update((TESTS / "plan" / name).read_bytes())
    return found.hexdigest()


def verdict(number, folder):
    """The result for one graph."""
    import test_plan

    sample, choice = test_plan.sample_of(number)
    line = test_plan.line_of(folder, f"{sample.kind}_{number}", sample.tosa, sample.inputs, sample.config, choice)
    if line is None:
        return {"graph": number, "status": "rejected", "text": "by the reference model"}
    (folder / "list").write_text(f"{line}\n")
    done = subprocess.run(
        [PLAN_TOOL, "--batch", folder / "list", "verify=1"], capture_output=True, text=True, check=False
    )
    if done.returncode < 0:  # a signal counts as a fault of the machine, any other exit code as one of Carina
        raise OSError(f"plan_tool was killed by signal {-done.returncode}")
    same = done.returncode == 0 and done.stdout.startswith("ok ")
    return {
        "graph": number,
        "status": "same" if same else "differs",
        "text": "" if same else f"{choice}: {done.stdout}{done.stderr[-500:]}",
    }


def main(words):
    if words == ["--version"]:
        print(f"carina-graphs {VERSION}")
    elif words == ["--identity"]:
        write_row({"version": VERSION, "program_sha256": digest()})
    else:
        [job] = [word.removeprefix("--job=") for word in words]
        sys.path[:0] = [str(TESTS / folder) for folder in ("", "support", "plan")]
        os.environ.setdefault("CARINA_BIN", str(PLAN_TOOL.with_name("carina")))
        for first, last in json.loads(Path(job).read_text(encoding="utf-8"))["combinations"]:
            for number in range(first, last + 1):
                write_row({"started": number})
                with tempfile.TemporaryDirectory() as folder:
                    write_row(verdict(number, Path(folder)))


if __name__ == "__main__":
    main(sys.argv[1:])
