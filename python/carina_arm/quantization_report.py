"""The report of a quantizer in Python's log "carina.arm": the counts of nodes at level INFO, a row for each node at level DEBUG."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import (
    DerivedQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

logger = logging.getLogger("carina.arm")

_RULE = "-" * 100
_HEADER = ("NODE NAME", "INPUT QSPEC MAP", "OUTPUT QSPEC MAP")


def log_report(model: GraphModule) -> None:
    """Logs which nodes are annotated, and with which types. Does nothing at levels above INFO."""
    if not logger.isEnabledFor(logging.INFO):
        return
    of_node = {node: node.meta.get(Q_ANNOTATION_KEY) for node in model.graph.nodes}
    annotated = {node: spec for node, spec in of_node.items() if spec is not None and spec._annotated}
    lines = ["", _RULE, "FINAL QUANTIZATION REPORT".center(100).rstrip(), _RULE, f"   Accepted nodes: {len(annotated)}"]
    if logger.isEnabledFor(logging.DEBUG):
        lines += ["", *_table([row for node, spec in annotated.items() for row in _rows(node, spec)])]
    left = [node.name for node in of_node if node not in annotated]
    logger.info("%s", "\n".join([*lines, _RULE, "Non annotated nodes:", *(f"    {name}" for name in left), _RULE]))


def _rows(node: Node, spec: QuantizationAnnotation) -> list[tuple[str, str, str]]:
    """The rows of a node: one per annotated input, or one without inputs."""
    inputs = [f"{source.name}: {_text(of_input)}" for source, of_input in spec.input_qspec_map.items()] or [""]
    first, *others = inputs
    return [(node.name, first, _text(spec.output_qspec)), *(("", other, "") for other in others)]


def _text(spec: object) -> str:
    if isinstance(spec, SharedQuantizationSpec):
        return f"SharedQuantizationSpec(edge_or_node={spec.edge_or_node})"
    if isinstance(spec, DerivedQuantizationSpec):
        return f"DerivedQuantizationSpec(derived_from={spec.derived_from}, dtype={spec.dtype})"
    if isinstance(spec, QuantizationSpec):
        return f"QuantizationSpec(dtype={str(spec.dtype).removeprefix('torch.').upper()}, range=({spec.quant_min},{spec.quant_max}))"
    return "None" if spec is None else type(spec).__name__


def _table(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(_HEADER, *rows, strict=True)]
    lines = [_HEADER, tuple("-" * width for width in widths), *rows]
    return [
        "   " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
