"""Runs the Arm backend's own tests of its API against carina.arm: backends/arm/test/misc, recipes and public_api_bc of the wheel.
carina.arm.install() redirects their imports.

    api.py [--page] [FILE ...]     runs the files (default: all that apply); --page stores the outcomes (api.json) and writes docs/conformance-arm-api.md

Files for which carina.arm has no counterpart are listed with the reason and not run. There are no FVP and Vulkan devices: the suite itself
skips tests that need one, or expects them to fail.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
KEPT = FOLDER / "api.json"
PAGE = ROOT / "docs" / "conformance-arm-api.md"

# Files that test a part of the Arm backend without a counterpart in Carina, and that part.
APART = {
    "misc/test_call_operator_submodule.py": "its passes",
    "misc/test_const_shape.py": "its TOSA dialect",
    "misc/test_convolution_operator_support.py": "its checks of operators, by their classes",
    "misc/test_custom_shader_payload.py": "its custom shaders",
    "misc/test_custom_shader_payloads.py": "its custom shaders",
    "misc/test_debug_hook.py": "its debug hook, an internal class",
    "misc/test_docgen_op_support.py": "its generator of documentation",
    "misc/test_evaluate_model.py": "its script evaluate_model; needs torchvision",
    "misc/test_mixed_fp_bf16_partition.py": "its checks of operators, by their classes",
    "misc/test_model_evaluator.py": "its evaluator; needs torchvision",
    "misc/test_mxfp_conv2d_ao.py": "its MXFP modules for eager PyTorch, which remain its own",
    "misc/test_mxfp_linear_ao.py": "its MXFP modules for eager PyTorch, which remain its own",
    "misc/test_partition_cycle_detection.py": "private functions of its partitioner",
    "misc/test_pass_required_order.py": "its passes",
    "misc/test_process_node.py": "its serializer",
    "misc/test_public_api_manifest.py": "its generator of API manifests",
    "misc/test_rescale_range.py": "its TOSA dialect",
    "misc/test_runner_utils.py": "its test runner",
    "misc/test_silero_vad_example.py": "an example that is not in the wheel",
    "misc/test_symbolic_materialization_helper.py": "its passes",
    "misc/test_tosa_operator_support.py": "its checks of operators, by their classes",
    "misc/test_tosa_rescale_unsigned_split.py": "its serializer",
    "misc/test_transpose_counts.py": "how many TRANSPOSE its passes leave",
    "misc/test_validate_public_api_manifest.py": "its checker of API manifests",
    "misc/test_vgf_backend.py": "how it calls Arm's model converter, which Carina does not use",
    "misc/test_vgf_smoke.py": "how it calls Arm's model converter: it puts a mock in the place of the function that does",
    "misc/test_vgf_check_env.py": "its check of the machine, by its functions (ours: carina.vgf.check_env)",
}
# Single tests without a counterpart, in files that otherwise apply.
APART_TESTS = {
    "misc/test_external_vela_blocks.py::test_vela_compile": "how it calls Vela, which Carina does not use",
    "misc/test_external_vela_blocks.py::test_ethosu_preprocess": "how it calls Vela, which Carina does not use",
    "misc/test_extract_io_params_tosa.py::test_only_vgf_partitioner_registers": "its custom shaders, by a private attribute",
    "misc/test_high_rank_permute_view_invariants.py::test_transpose_invariants": "how many TRANSPOSE its passes leave",
}
FAST = (
    "misc/test_compile_spec.py",
    "misc/test_save_exported_model.py",
    "recipes/test_arm_recipes.py",
    "public_api_bc/test_ethosu_flow.py",
)


def tests_folder():
    import executorch

    return Path(next(iter(executorch.__path__))) / "backends" / "arm" / "test"


def files():
    """All test files, by their names below the folder of tests."""
    root = tests_folder()
    return [
        str(path.relative_to(root))
        for part in ("misc", "recipes", "public_api_bc")
        for path in sorted((root / part).glob("test_*.py"))
    ]


def file_of(report):
    """ "misc/test_compile_spec.py", wherever pytest believes that it lies."""
    return "/".join(Path(report.nodeid.split("::")[0]).parts[-2:])


def last_line(report):
    """The last line of pytest's report, without this machine's folders."""
    line = str(report).strip().splitlines()[-1]
    return re.sub(r"(?<![\w./])/(?:[\w.+-]+/)+", "", line)[:200]


class Recorder:
    """The pytest plugin that records the outcome of each test. If a test reports twice, the last outcome counts."""

    def __init__(self, output):
        self.output, self.outcomes = Path(output), {}

    def pytest_runtest_logfinish(self):
        self.output.write_text(json.dumps(self.outcomes))  # after a crash, only one outcome is missing

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.outcome == "passed":
            return
        name = file_of(report) + "::" + report.nodeid.rpartition("::")[2]
        outcome = "xfailed" if hasattr(report, "wasxfail") and report.outcome != "passed" else report.outcome
        text = last_line(report.longrepr) if report.longrepr and report.outcome != "passed" else ""
        if self.outcomes.get(name, ["passed"])[0] == "passed":
            self.outcomes[name] = [outcome, text]

    def pytest_collectreport(self, report):
        if report.failed:
            self.outcomes[file_of(report)] = ["failed", last_line(report.longrepr)]


def child(names, output):
    """Runs in its own process, because install() changes the whole process."""
    import carina.arm
    import pytest

    carina.arm.install()
    root = tests_folder()
    recorder = Recorder(output)
    empty = Path(output).with_suffix(".ini")
    empty.write_text("[pytest]\n")
    off = [f"-pno:{name}" for name in ("cacheprovider", "unraisableexception", "threadexception")]
    pytest.main(
        [
            *off,
            "--assert=plain",
            "-q",
            "-W",
            "ignore",
            "--import-mode=importlib",
            "-c",
            str(empty),
            "--rootdir",
            str(root),
            "--tb=line",
            "--show-capture=no",
            *[str(root / name) for name in names],
        ],
        plugins=[recorder],
    )
    Path(output).write_text(json.dumps(recorder.outcomes))


def run(names, package, folder, seconds=3600):
    """{test: [outcome, last line]} of the files, with the `carina` package in this folder."""
    output = Path(folder) / "outcomes.json"
    environment = {
        **os.environ,
        "PYTHONPATH": str(package),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, str(FOLDER / "api.py"), "--child", str(output), *names]
    log = Path(folder) / "log.txt"
    output.unlink(missing_ok=True)
    with log.open("w") as file:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT, timeout=seconds)
    if not output.exists():
        raise RuntimeError(f"{' '.join(names)}: no outcome\n{log.read_text()[-2000:]}")
    return json.loads(output.read_text())


def applies(test):
    return not test.startswith(tuple(APART_TESTS))


def counted(outcomes):
    """{file: Counter of passed, failed and not run (skipped or expected to fail)} of the tests that apply."""
    counts = {}
    for test, (outcome, _) in sorted(outcomes.items()):
        if applies(test):
            counts.setdefault(test.split("::")[0], Counter())[
                "not run" if outcome in ("skipped", "xfailed") else outcome
            ] += 1
    return counts


def share(outcomes):
    total = sum(counted(outcomes).values(), Counter())
    return total["passed"] / max(total["passed"] + total["failed"], 1)


def page(outcomes):
    """docs/conformance-arm-api.md"""
    counts = counted(outcomes)
    total = sum(counts.values(), Counter())
    lines = [
        "# The Arm backend's tests of its API",
        "",
        "This page lists the results of the Arm backend's tests of its API. `tests/integration/arm/api.py",
        "--page` writes it. The tests are files of `backends/arm/test` in ExecuTorch's wheel that test the",
        "API, specs, errors, quantizer and partitioner. They run with redirected imports on",
        '[`carina.arm`](guide/from-the-arm-backend.md). "Not run" are tests that the suite itself skips or',
        "expects to fail.",
        "",
        f"{total['passed']} of {total['passed'] + total['failed']} applicable tests pass ({100 * share(outcomes):.0f} %).",
        "",
        "| file | passed | failed | not run |",
        "|---|---|---|---|",
        *(f"| {name} | {count['passed']} | {count['failed']} | {count['not run']} |" for name, count in counts.items()),
        f"| all | {total['passed']} | {total['failed']} | {total['not run']} |",
        "",
        "## Failures",
        "",
        "| test | last line |",
        "|---|---|",
        *(
            f"| {test} | {cell(text)} |"
            for test, (outcome, text) in sorted(outcomes.items())
            if outcome == "failed" and applies(test)
        ),
        "",
        *left_out(outcomes),
        "## Not applicable",
        "",
        "| file or tests | it tests the Arm backend's internals: |",
        "|---|---|",
        *(f"| {name} | {why} |" for name, why in {**APART, **APART_TESTS}.items()),
    ]
    return "\n".join(lines) + "\n"


def left_out(outcomes):
    """Files that apply but have not been run. The page lists them."""
    seen = {test.split("::")[0] for test in outcomes}
    missing = [name for name in files() if name not in APART and name not in seen]
    return ["## Not run yet", "", *(f"- {name}" for name in missing), ""] if missing else []


def cell(text):
    return "`" + text.replace("|", "\\|").replace("`", "'")[-150:] + "`"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--package", default=ROOT / "build" / "release" / "python")
    parser.add_argument("--child", metavar="OUTPUT")
    options = parser.parse_args()
    if options.child:
        return child(options.files, options.child)
    folder = ROOT / "build" / "test-env" / "cache" / "arm_api"
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = {} if not options.files or not KEPT.exists() else json.loads(KEPT.read_text())
    names = options.files or sorted((name for name in files() if name not in APART), reverse=True)
    found = run(names, options.package, folder)
    outcomes = {test: outcome for test, outcome in outcomes.items() if test.split("::")[0] not in names} | found
    for test, (outcome, text) in sorted(found.items()):
        if outcome == "failed":
            print(test, text)
    print(f"{100 * share(outcomes):.1f} % of what applies")
    if options.page:
        KEPT.write_text(json.dumps(outcomes, indent=0, sort_keys=True) + "\n")
        PAGE.write_text(page(outcomes))


if __name__ == "__main__":
    main()
