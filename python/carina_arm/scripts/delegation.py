"""Where operators run, in the output format of aot_arm_compiler.py: the delegation summary and the table of operators."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["REPORT_NAME", "Delegation"]

REPORT_NAME = "delegation_info.txt"
_ON_NPU, _ON_CPU = "npu", "cpu"
_WITHOUT_DELEGATE = "user.nothing"  # nothing is to be delegated: a reason for each node says no more


def _op_type(op: str) -> str:
    """The name in the Arm backend's table: "aten.conv2d.default" and "aten::conv2d.out" become "aten_conv2d_default"."""
    return op.replace("::", "_").replace(".", "_").lower()


@dataclass(frozen=True)
class Delegation:
    """The delegated and non-delegated operators of a model, by type.

    delegated: nodes of the model that the delegates compute. non_delegated: kernels that the program calls on the CPU, including quantize
    and dequantize kernels at a delegate's boundary. reasons: why nodes of the model stay on the CPU, one line each.
    """

    subgraphs: int
    delegated: Counter[str] = field(default_factory=Counter)
    non_delegated: Counter[str] = field(default_factory=Counter)
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, report: Mapping[str, Any], kernels: Iterable[str]) -> "Delegation":
        """report: the JSON of `carina compile --json`; kernels: those that the program calls, in order."""
        nodes = report["nodes"]
        return cls(
            subgraphs=len(report["delegates"]),
            delegated=Counter(_op_type(node["op"]) for node in nodes if node["runs_on"] == _ON_NPU),
            non_delegated=Counter(_op_type(kernel) for kernel in kernels),
            reasons=tuple(
                _reason(node) for node in nodes if node["runs_on"] == _ON_CPU and node["rule"] != _WITHOUT_DELEGATE
            ),
        )

    def summary(self, folder: str | None = None) -> str:
        """The lines of "Delegation summary:"; `folder` is where the full report is."""
        lines = ["Delegation summary:", f"  Model was {self._extent()} delegated."]
        lines.append(f"  Delegated partitions for silicon acceleration: {self.subgraphs}")
        lines.append(f"  Non-delegated ops: {self.non_delegated.total()}")
        if self.non_delegated:
            lines.append("  Non-delegated operators:")
            most_first = sorted(self.non_delegated.items(), key=lambda item: (-item[1], item[0]))
            lines += [f"    - {op}: {count}" for op, count in most_first]
        if self.reasons:
            lines += ["  Why they stay on the CPU:", *(f"    - {reason}" for reason in self.reasons)]
        if folder is not None:
            lines += ["", "Full delegation report:", f"  {Path(folder) / REPORT_NAME}"]
        return "\n".join(lines)

    def table(self) -> str:
        """Every type of operator with its counts, in the columns of ExecuTorch's delegation table."""
        types = sorted(self.delegated.keys() | self.non_delegated.keys())
        rows = [(op, self.delegated[op], self.non_delegated[op]) for op in types]
        rows.append(("Total", self.delegated.total(), self.non_delegated.total()))
        titles = ("op_type", "occurrences_in_delegated_graphs", "occurrences_in_non_delegated_graphs")
        width = max(len(titles[0]), *(len(op) for op, _, _ in rows))
        lines = [f"{titles[0]:<{width}}  {titles[1]}  {titles[2]}"]
        lines += [
            f"{op:<{width}}  {inside:>{len(titles[1])}}  {outside:>{len(titles[2])}}" for op, inside, outside in rows
        ]
        return "\n".join(lines)

    def write(self, folder: str) -> None:
        """Writes the full report to the folder. Raises: OSError."""
        lines = [
            "Delegation info:",
            f"Total delegated subgraphs: {self.subgraphs}",
            f"Number of delegated nodes: {self.delegated.total()}",
            f"Number of non-delegated nodes: {self.non_delegated.total()}",
            "",
            "Delegation table:",
            self.table(),
        ]
        if self.reasons:
            lines += ["", "Why nodes stay on the CPU:", *self.reasons]
        (Path(folder) / REPORT_NAME).write_text("\n".join(lines) + "\n")

    def _extent(self) -> str:
        if not self.delegated:
            return "not"
        return "partially" if self.non_delegated else "fully"


def _reason(node: Mapping[str, Any]) -> str:
    source = f" ({node['source']})" if node["source"] else ""
    hint = f"; {node['hint']}" if node["hint"] else ""
    return f"{node['name']}{source}: {node['op']}: {node['reason']}{hint}"
