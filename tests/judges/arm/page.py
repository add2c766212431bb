"""docs/conformance-arm.md: what of the Arm backend's own tests passes, and each failure with its reason."""

import re
from collections import defaultdict

import report

KINDS = [
    ("FP", "float graph in the interpreter, against eager PyTorch in the test's own tolerance"),
    ("INT", "Carina's int8 quantizer, in the interpreter, against the float model by the suite's float rule"),
    ("U55, U65, U85", "the same, compiled for ethos-u55-128, ethos-u65-256, ethos-u85-128 and run on the simulated NPU; delegated as the test asks"),
    ("PT2E", "the peer's quantizer makes the graph, Carina lowers it; against that graph, as many steps off as the test allows (one)"),
    ("-A16W8, -A8W4, -Q32", "16-bit activations, 4-bit weights, 32-bit activations: the peer's quantizer, judged as PT2E"),
    ("NS-", "tests of what the peer does not support; refusing is no failure, a wrong number is"),
    ("VGF", "compiled for `--target vgf` and run, the delegates in the interpreter; INT with Carina's quantizer in the test's widths, judged as INT"),
]
EXPECTED_REFUSAL = "NS-"
CLASSES = [
    ("pass", "right, and delegated as the test asks"),
    ("as_peer", "misses the suite's float rule, as the peer's own quantized model does, and is at most 1 dB below that"),
    ("partial", "the numbers are right, but not all is on the NPU, or not all is integer"),
    ("refused", "exit code 1 with a reason"),
    ("wrong, crash", "what must not be"),
    ("na", "PyTorch cannot run or export the test, a package or a download is missing, or the peer's quantizer fails"),
    ("counted", "not run: tests of the peer's passes, of types behind TOSA 1.0, and tests without a pipeline"),
]


def failed(outcomes):
    return [o for o in outcomes if o["class"] in ("partial", "refused", "wrong", "crash") and not expected(o)]


def expected(outcome):
    return outcome["kind"].startswith(EXPECTED_REFUSAL) and outcome["class"] == "refused"


def plain(reason):
    """Without line breaks, and without the folders of the machine that it ran on."""
    text = re.sub(r"\s+", " ", reason).strip().replace("|", "\\|")
    return re.sub(r"(?<![\w./])/(?:[\w.+-]+/)+", "", text)[:220]


def test_of(outcome):
    return outcome["id"].split("::")[0].removesuffix(".py")


def parameter(outcome):
    return outcome["id"].split("::")[-1]


def failures(outcomes):
    """A line for each test file, kind, class and reason."""
    groups = defaultdict(list)
    for o in failed(outcomes):
        groups[test_of(o), o["kind"], o["class"], plain(o.get("reason", ""))].append(o)
    lines = []
    for (test, kind, class_, why), group in sorted(groups.items()):
        peer = "" if any(report.peer_passes(o) for o in group) else "; the peer fails too"
        more = f" and {len(group) - 1} more" if len(group) > 1 else ""
        lines.append(f"- `{test}` {kind} {class_}: {why}{peer} (`{parameter(group[0])}`{more})")
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
        "Made by `make conformance`; do not edit. The tests are those of the executorch wheel (`backends/arm/test/ops`, `modules`, `models`), with the suite's inputs and seed, judged by "
        "`tests/judges/arm`; models have random weights. The peer skips its own NPU tests where there is no FVP.",
        "\n".join(f"- **{kind}**: {what}" for kind, what in KINDS),
        "\n".join(f"- `{class_}`: {what}" for class_, what in CLASSES),
    ]
    for name in report.LISTS:
        if some := report.in_list(outcomes, name):
            parts.append(f"## {name}\n\n{report.by_kind(some)}")
    parts.append("## Failures\n\n" + "\n".join(failures(outcomes)))
    parts.append("## Not applicable\n\n" + "\n".join(unable(outcomes)))
    return "\n\n".join(parts) + "\n"
