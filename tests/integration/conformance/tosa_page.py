"""Writes docs/conformance-tosa.md from the stored results."""

import json
import sys
from pathlib import Path

import corpus

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import format_markdown  # noqa: E402

NOT_APPLICABLE = [
    (
        "operators of TOSA 1.1-draft (block-scaled, shape arithmetic, adaptive pooling, ROW_GATHER, MATMUL_T)",
        "Carina has TOSA 1.0, and of 1.1 EXT-MXFP: tests/integration/tosa/test_mxfp.py",
    ),
    ("types INT64, FP4, FP6, MXINT8", "types of 1.1-draft"),
    ("variable operators", "the generator makes no tests for them; tests/integration/tosa/test_tosa_files.py has one"),
]


def kept(results, operators):
    return [json.loads(path.read_text()) for name in operators if (path := results / f"{name}.json").exists()]


def failures(results, operators):
    return [(row["operator"], item) for row in kept(results, operators) for item in row["failed"]]


def text(results, operators):
    rows = kept(results, operators)
    made, failed = sum(row["made"] for row in rows), sum(len(row["failed"]) for row in rows)
    negative = sum(row["negative"] for row in rows)
    missing = [name for name in operators if not (results / f"{name}.json").exists()]
    lines = [
        "# TOSA conformance",
        "",
        "This page lists the results of the official TOSA conformance tests. `make conformance` writes it; do not edit it. "
        f"The tests come from the official generator (tosa-tools, TOSA {corpus.VERSION}, both profiles). "
        "The official runner and `tosa_verify` check the results.",
        "",
        f"Extensions: {', '.join(name.removeprefix('tosa-ext-') for name in corpus.EXTENSIONS)}.",
        "",
        f"**{made} tests made, {made - failed} passed, {failed} failed.** {negative} of them are negative: they expect an error.",
        "",
        "| operator | made | of these negative | passed | failed |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        bad = len(row["failed"])
        lines.append(
            f"| {row['operator']} | {row['made']} | {row['negative']} | {row['made'] - bad - row['skipped']} | {bad} |"
        )
    lines += ["", "## Not applicable", ""]
    lines += [f"- {what}: {why}" for what, why in NOT_APPLICABLE]
    if missing:
        lines += ["", f"Not run yet: {', '.join(missing)}."]
    wrong = failures(results, operators)
    if wrong:
        lines += ["", "## Failures", ""]
        lines += [f"- `{item['test']}`: {(item['message'].splitlines() or [''])[0][:200]}" for _, item in wrong]
    return format_markdown.formatted("\n".join(lines))
