"""Runs ExecuTorch's generic backend suite (executorch/backends/test/suite in its wheel) on Carina.

    generic.py [--flows arm_ethos_u55,arm_ethos_u85] [--every N] [--offset K] [--models] [FILE ...]

FILE is "operators/test_add.py"; default: all of operators. The suite quantizes, lowers and serializes each model, runs the program and compares
the results with PyTorch. Names of executorch.backends.arm come from Carina (carina.arm.pytest_plugin, without limits of the partitions).
Programs for an Ethos-U run on Carina's simulator in place of Arm's FVP, so the suite's own tolerances hold for the command streams. `--every N`
runs one test in N.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from tier_plugin import export_quickly  # noqa: E402

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
FLOWS = ("arm_ethos_u55", "arm_ethos_u85", "arm_tosa_int", "arm_tosa_fp")


def suite_folder():
    import importlib.util

    spec = importlib.util.find_spec("executorch.backends.test.suite")
    return Path(next(iter(spec.submodule_search_locations)))


class Recorder:
    """The pytest plugin that selects tests and records their outcomes: {test: [outcome, results of its parts, error]}."""

    def __init__(self, output, flows, every, offset):
        self.output, self.flows, self.every, self.offset, self.outcomes = Path(output), flows, every, offset, {}

    def pytest_configure(self):
        simulate()

    def pytest_collection_modifyitems(self, config, items):
        chosen = [item for item in items if self._is_chosen(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen

    def _is_chosen(self, item):
        flow = str(getattr(getattr(item, "callspec", None), "params", {}).get("test_runner", ""))
        return flow in self.flows and zlib.crc32(name_of(item.nodeid).encode()) % self.every == self.offset % self.every

    def pytest_runtest_logfinish(self):
        self.output.write_text(json.dumps(self.outcomes))  # after a crash, only one outcome is missing

    def pytest_runtest_makereport(self, item, call):
        if call.when != "call":
            return
        runner = item.funcargs.get("test_runner")
        results = [record.result.name for record in getattr(runner, "_results", ())]
        errors = [str(record.error) for record in getattr(runner, "_results", ()) if record.error is not None]
        if call.excinfo is None:
            outcome = "passed"
        else:
            outcome = "skipped" if call.excinfo.typename == "Skipped" else "failed"
            errors = errors or [str(call.excinfo.value)]
        self.outcomes[name_of(item.nodeid)] = [outcome, results, " ".join(errors[0].split())[:200] if errors else ""]


def name_of(nodeid):
    path, _, test = nodeid.partition("::")
    return "/".join(Path(path).parts[-2:]) + "::" + test


def simulate():
    """Replaces the FVP by Carina's simulator."""
    import carina
    import torch
    from executorch.backends.arm.test.tester import serialize
    from torch.utils._pytree import tree_flatten

    def run_artifact(self, inputs):
        arrays = [torch.as_tensor(value).numpy() for value in tree_flatten(inputs)[0]]
        return tuple(torch.as_tensor(output) for output in carina.run(self.executorch_program_manager.buffer, arrays))

    serialize.Serialize.run_artifact = run_artifact


def child(tests, output, flows, every, offset):
    import pytest
    import torch.export  # noqa: F401

    export_quickly()
    recorder = Recorder(output, flows, every, offset)
    empty = Path(output).with_suffix(".ini")
    empty.write_text("[pytest]\n")
    off = [f"-pno:{name}" for name in ("cacheprovider", "unraisableexception", "threadexception")]
    folder = suite_folder()
    pytest.main([*off, "-q", "-W", "ignore", "--import-mode=importlib", "-c", str(empty), "--rootdir", str(folder), "--tb=short", "--show-capture=no",
                 *[str(folder / test) for test in tests]], plugins=[recorder])  # fmt: skip
    recorder.pytest_runtest_logfinish()


def run(tests, output, package, flows=FLOWS, every=1, offset=0, seconds=7200):
    """{test: [outcome, results, error]} of files of the suite. `package`: the folder of Carina's Python packages."""
    output = Path(output).resolve()
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
                   "PYTHONPATH": str(package), "PYTEST_PLUGINS": "carina.arm.pytest_plugin", "CARINA_ARM_PARTITION": "0"}  # fmt: skip
    command = [
        sys.executable,
        str(FOLDER / "generic.py"),
        *tests,
        "--child",
        str(output),
        "--flows",
        ",".join(flows),
        "--every",
        str(every),
        "--offset",
        str(offset),
    ]
    with output.with_suffix(".log").open("w") as log, contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command, cwd=output.parent, env=environment, stdout=log, stderr=subprocess.STDOUT, timeout=seconds
        )
    return json.loads(output.read_text()) if output.exists() else {}


def flow_of(test):
    return next(flow for flow in FLOWS if f"[{flow}" in test or f"-{flow}" in test)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", default=["operators"])
    parser.add_argument("--flows", default=",".join(FLOWS))
    parser.add_argument("--every", metavar="N", type=int, default=1)
    parser.add_argument("--offset", metavar="K", type=int, default=0)
    parser.add_argument("--package", default=ROOT / "build" / "release" / "python")
    parser.add_argument("--child", metavar="OUTPUT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    flows = options.flows.split(",")
    if options.child:
        return child(options.files, options.child, flows, options.every, options.offset)
    outcomes = run(
        options.files,
        ROOT / "build" / "test-env" / "cache" / "generic" / "outcomes.json",
        options.package,
        flows,
        options.every,
        options.offset,
    )
    for test, (outcome, results, error) in sorted(outcomes.items()):
        if outcome == "failed":
            print(f"{test}: {', '.join(results)}: {error}")
    print(
        Counter(outcome for outcome, _, _ in outcomes.values()),
        Counter(result for _, results, _ in outcomes.values() for result in results),
    )


if __name__ == "__main__":
    main()
