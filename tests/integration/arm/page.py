"""The page conformance-arm.md: the results of the Arm backend's own tests on Carina, and the reason of each failure."""

import re
import sys
from collections import defaultdict
from pathlib import Path

import report
from backend_tests import without_folders

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import format_markdown  # noqa: E402
import generated_pages  # noqa: E402

COMMAND = "make conformance"
KINDS = [
    ("FP", "the float graph in the interpreter, compared with eager PyTorch in the test's own tolerance"),
    (
        "INT",
        "Carina's int8 quantizer, in the interpreter, compared with the float model by the suite's rule for floats",
    ),
    (
        "U55, U65, U85",
        "as INT, compiled for ethos-u55-128, ethos-u65-256, ethos-u85-128 and run on the simulated NPU; the number of delegates is that of the test",
    ),
    (
        "PT2E",
        "the backend's quantizer makes the graph, and Carina lowers it; compared with that graph, with as many steps of difference as the test allows (one)",
    ),
    (
        "-A16W8, -A8W4, -Q32",
        "16-bit activations, 4-bit weights, 32-bit activations: the backend's quantizer, compared as PT2E",
    ),
    ("NS-", "tests of what the backend does not support; a rejection is no failure, a wrong number is"),
    (
        "VGF",
        "compiled for `--target vgf` and run, with the delegates in the interpreter; INT with Carina's quantizer in the test's widths, compared as INT; floats in the FP test's tolerance if the test itself compares none",
    ),
]
EXPECTED_REJECTION = "NS-"
CLASSES = [
    ("pass", "correct, with the delegates of the test"),
    (
        "as_peer",
        "misses the suite's rule for floats, as the backend's own quantized model does, and is at most 1 dB below it",
    ),
    ("partial", "the numbers are correct, but not everything is on the NPU, or not everything is integer"),
    ("rejected", "exit code 1 with a reason"),
    ("wrong, crash", "wrong numbers, or a crash"),
    (
        "na",
        "PyTorch cannot run or export the test, a package or a download is missing, or the backend's quantizer fails",
    ),
    (
        "counted",
        "not run, and not in the tables: tests of the backend's passes, of types beyond TOSA 1.0, without a pipeline",
    ),
]


BARS = [  # (the last part or the name of a kind, the minimum share in percent of the cases that the peer passes)
    (("FP",), 98),
    (("INT",), 98),
    (("PT2E",), 98),
    (("U55",), 95),
    (("U85",), 95),
    (("INT-A16W8", "U55-A16W8", "U85-A16W8"), 95),
    (("INT-A8W4", "U55-A8W4", "U85-A8W4"), 95),
]
CAUSES = [  # (text in the reason, its cause)
    ("aten.nonzero", "the number of results depends on the data, so the shape is unknown at compile time"),
    ("less than 2 GB", "FlatBuffers address 2 GB, these weights are 3 GB"),
    ("complex64", "TOSA 1.0 has FFT2D of pairs of floats, but no complex values"),
    ("computes in fp16", "only fp32 models are quantized"),
    ("the array for the input x does not fit", "a quantizer for a bf16 model: only fp32 models are quantized"),
    ("NaN) from the calibration", "acosh below 1 has no value to quantize"),
    ("is quantized to i32", "a product of 32-bit values has no rescaling in TOSA"),
    (
        "not all integer: fp32",
        "its quantizer leaves nodes float, or gives the branches of a choice other parameters; these nodes are floats, the numbers are correct",
    ),
    ("along axis 0, TOSA needs", "the backend's annotation of transposed weights; it fails on them too"),
]
CASES = [  # (case and kind, its cause)
    (
        "test_acosh_tosa_INT[large]",
        "PT2E",
        "PyTorch's NaN below 1 becomes the integer 0, which represents a number in the middle; Carina gives the value at the domain's end, which is next to the float model's",
    ),
    (
        "test_sd3_transformer_tosa_INT",
        "INT",
        "sin and cos whose steps are longer than their period stay float: integers would be noise",
    ),
    ("[large_values]", "", "tan whose steps are longer than its period stays float (adr/0044)"),
    ("[exp_one]", "", "pow(x, 1) is x: nothing is left to compute"),
    ("same_size]", "", "a resize to the same size is left out: nothing is left to compute"),
]


def failed(outcomes):
    return [o for o in outcomes if o["class"] in ("partial", "rejected", "wrong", "crash") and not expected(o)]


def expected(outcome):
    return outcome["kind"].startswith(EXPECTED_REJECTION) and outcome["class"] == "rejected"


def plain(reason):
    """The reason without line breaks and without this machine's folders."""
    return without_folders(re.sub(r"\s+", " ", reason).strip().replace("|", "\\|"))[:220]


def test_of(outcome):
    return outcome["id"].split("::")[0].removesuffix(".py")


def parameter(outcome):
    return outcome["id"].split("::")[-1]


def cause_of(outcome, why):
    """The known cause of a failure, beyond its message."""
    of_case = [
        cause for name, kind, cause in CASES if outcome["id"].endswith(name) and outcome["kind"].startswith(kind)
    ]
    of_reason = [cause for words, cause in CAUSES if words in why]
    return f": {(of_case + of_reason)[0]}" if of_case or of_reason else ""


def good_share(outcomes, kinds):
    """(good, all) of the cases that ran and that the peer passes."""
    counted = [o for o in outcomes if o["kind"] in kinds and report.is_run(o) and report.peer_passes(o)]
    return sum(o["class"] in report.GOOD for o in counted), len(counted)


def bars(outcomes):
    rows = []
    for kinds, min_percent in BARS:
        good, all_ = good_share(outcomes, kinds)
        wrong = sum(o["class"] in ("wrong", "crash") for o in outcomes if o["kind"] in kinds)
        met = "yes" if all_ and 100 * good >= min_percent * all_ else "no"
        rows.append([", ".join(kinds), f"{min_percent} %", report.share(good, all_), wrong, met])
    return report.table(
        ["kinds", "goal: at least", "good, of those that the backend passes", "wrong or crash", "met"], rows
    )


def in_decibels(values):
    return ", ".join("-" if v is None else f"{v:.1f}" for v in values)


def near_the_peer(outcomes):
    """The cases that miss the suite's float rule, with the noise of Carina's and of the peer's graph."""
    lines = []
    for o in sorted(outcomes, key=lambda o: (o["id"], o["kind"])):
        if o["class"] == "as_peer":
            ours = in_decibels(measured.get("sqnr") for measured in o.get("out", []))
            lines.append(
                f"- `{test_of(o)}` {o['kind']} (`{parameter(o)}`): {ours} dB, the backend's {in_decibels(o.get('peer_sqnr', []))} dB"
            )
    return lines


def failures(outcomes):
    """A line for each test file, kind, class and reason."""
    groups = defaultdict(list)
    for o in failed(outcomes):
        groups[test_of(o), o["kind"], o["class"], plain(o.get("reason", ""))].append(o)
    lines = []
    for (test, kind, class_, why), group in sorted(groups.items()):
        peer = "" if any(report.peer_passes(o) for o in group) else "; the backend fails too"
        cause = cause_of(group[0], why)
        more = f" and {len(group) - 1} more" if len(group) > 1 else ""
        lines.append(f"- `{test}` {kind} {class_}: {why}{peer} (`{parameter(group[0])}`{more}){cause}")
    return lines


def unable(outcomes):
    groups = defaultdict(int)
    for o in outcomes:
        if o["class"] == "na":
            groups[test_of(o), plain(o.get("reason", ""))[:120]] += 1
    return [f"- `{test}`, {n}: {why}" for (test, why), n in sorted(groups.items())]


def text(outcomes):
    parts = [
        "# The Arm backend's own tests",
        "This page lists the results of the Arm backend's own tests. `make conformance` writes it; do not edit it. The tests are those of the executorch wheel "
        "(`backends/arm/test/ops`, `modules`, `models`), with the suite's inputs and seed. `tests/integration/arm` runs them; models have random weights. Without an FVP, the Arm backend "
        'skips its own NPU tests. "The backend" below is ExecuTorch\'s Arm backend.',
        "\n".join(f"- **{kind}**: {what}" for kind, what in KINDS),
        "\n".join(f"- `{class_}`: {what}" for class_, what in CLASSES),
    ]
    parts.append("## Goals\n\nOperators, modules and models together.\n\n" + bars(outcomes))
    for name in report.LISTS:
        if some := [o for o in report.in_list(outcomes, name) if o["class"] != "counted"]:
            parts.append(f"## {name}\n\n{report.by_kind(some)}")
    parts.append(generated_pages.DETAILS + "\n## Failures\n\n" + "\n".join(failures(outcomes)))
    if near := near_the_peer(outcomes):
        parts.append(
            "## Below the suite's rule, as the backend\n\nSQNR to the float model, of Carina and of the backend's own quantized graph. Both are noise if weights are random, or if 256 steps cannot represent an operator's results.\n\n"
            + "\n".join(near)
        )
    parts.append("## Not applicable\n\n" + "\n".join(unable(outcomes)))
    return format_markdown.formatted("\n\n".join(parts))


def write(outcomes):
    """Writes build/pages/conformance-arm.md, and its summary in docs."""
    generated_pages.write("conformance-arm.md", text(outcomes), COMMAND)
