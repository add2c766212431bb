"""docs/interop.md from the matrix's outcomes."""

from matrix import RELATIVE, Outcome

HEAD = f"""# Programs and runtimes

Made by `make conformance` (tests/integration/interop/run.py --page); do not edit. A sample of the rows is in `make test`.

Each program of Carina and of ExecuTorch runs in Carina's runtime (`carina run`) and in the official runtime of the package `executorch`, where Carina's simulator and interpreter are the
delegates ([guide/official-runtime.md](guide/official-runtime.md)). Outputs of integers and booleans must be equal to the bit; of floats, the largest difference must be within {RELATIVE:.0e} of the
output's largest value, with the kernels that firmware has (`--portable-kernels`), which add floats in ExecuTorch's order. The last column is the difference with the host's faster kernels: between
quantized layers of floats it may grow, since another order of a sum can make another integer. Where the official runtime has no kernels for a program, another reference is named. The models are those of `../shared/cases`.
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
    lines = ["", f"## {title}", "", "| model | program | delegate calls | kernel calls | outputs | host kernels |", "|---|---|--:|--:|---|---|"]
    return lines + [row_text(outcome) for outcome in outcomes]


def text(outcomes: list[Outcome]) -> str:
    wrong = sum(bool(outcome.problem) for outcome in outcomes)
    lines = [HEAD, f"**{len(outcomes)} programs, {len(outcomes) - wrong} as they should be, {wrong} not.**"]
    for maker in ("Carina", "ExecuTorch"):
        lines += table(f"Programs of {maker}", [outcome for outcome in outcomes if outcome.row.startswith(maker)])
    return "\n".join(lines) + "\n"
