"""The page interop.md of the results of the matrix."""

import sys
from collections import defaultdict
from pathlib import Path

from matrix import RELATIVE, Outcome

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import generated_pages  # noqa: E402

COMMAND = "make conformance"

HEAD = f"""# Programs and runtimes

This page lists programs that run in both runtimes, with the differences of their outputs.
`make conformance` (`tests/integration/interop/run_matrix.py --page`) writes it. `make test` runs a
sample of the rows.

Programs of Carina and of ExecuTorch run in Carina's runtime (`carina run`) and in the official
runtime of the package `executorch`. In the official runtime, Carina's simulator and interpreter are
the delegates ([guide/official-runtime.md](guide/official-runtime.md)). The models are those of
`../shared/cases`.

- Outputs of integers and booleans must be equal bit by bit.
- Outputs of floats may differ by at most {RELATIVE:.0e} of the output's largest value. They are computed
  with the kernels of the firmware (`--portable-kernels`), which add floats in ExecuTorch's order.
- The column "host kernels" is the difference with the faster kernels of the host. It may be larger
  between quantized layers of floats, since another order of a sum can give another integer.
- If the official runtime has no kernels for a program, the row names another reference.
"""


def shown(difference: float) -> str:
    return "equal" if difference == 0 else f"{difference:.0e}"


def row_text(outcome: Outcome) -> str:
    _, model, form = outcome.row.split("/", 2)
    outputs = [f"{outcome.integers} of integers"] * bool(outcome.integers)
    if outcome.floats:
        outputs.append(f"{outcome.floats} of floats, {shown(outcome.largest)}")
    result = f"**fails**: {outcome.problem.splitlines()[0]}" if outcome.problem else "; ".join(outputs)
    reference = "" if outcome.reference == "official runtime" else f" (reference: {outcome.reference})"
    host = shown(outcome.with_host_kernels) if outcome.floats else ""
    return f"| {model} | {form}{reference} | {outcome.delegates} | {outcome.kernels} | {result} | {host} |"


def table(title: str, outcomes: list[Outcome]) -> list[str]:
    lines = [
        "",
        f"## {title}",
        "",
        "| model | program | delegate calls | kernel calls | outputs | host kernels |",
        "|---|---|--:|--:|---|---|",
    ]
    return lines + [row_text(outcome) for outcome in outcomes]


def by_form(outcomes: list[Outcome]) -> list[str]:
    """A row for each kind of program: "int8, ethos-u55-128" of all models."""
    forms: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        producer, _, form = outcome.row.split("/", 2)
        forms[producer, form].append(outcome)
    lines = ["", "| programs of | kind | programs | agree | largest difference of floats |", "|---|---|--:|--:|--:|"]
    for (producer, form), some in forms.items():
        agree = sum(not outcome.problem for outcome in some)
        lines.append(
            f"| {producer} | {form} | {len(some)} | {agree} | {shown(max(outcome.largest for outcome in some))} |"
        )
    return lines


def text(outcomes: list[Outcome]) -> str:
    wrong = sum(bool(outcome.problem) for outcome in outcomes)
    lines = [HEAD, f"**{len(outcomes)} programs: {len(outcomes) - wrong} agree, {wrong} do not.**"]
    lines += [*by_form(outcomes), "", generated_pages.DETAILS.rstrip("\n")]
    for producer in ("Carina", "ExecuTorch"):
        lines += table(f"Programs of {producer}", [outcome for outcome in outcomes if outcome.row.startswith(producer)])
    return "\n".join(lines) + "\n"


def write(outcomes: list[Outcome]) -> None:
    """Writes build/pages/interop.md, and its summary in docs."""
    generated_pages.write("interop.md", text(outcomes), COMMAND)
