"""Explanations of Carina as results of MLIA's output schema."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import carina
import mlia
from mlia.core import output_schema as schema

__all__ = ["Advised", "compatibility", "output_of", "performance"]

_PRODUCER = "carina"
_PLACEMENTS = {"npu": schema.PlacementType.NPU, "cpu": schema.PlacementType.CPU}
_ESTIMATES = "Cycles are estimates of Carina's model of the NPU, not measurements."


@dataclass
class Advised:
    """The item that MLIA's workflow takes from a collector."""

    standardized_output: dict[str, Any]


def _entity_id(node: Mapping[str, Any]) -> str:
    return f"{schema.ENTITY_KIND_SOURCE_OPERATOR}/{node['name']}"


def _placed(explanation: carina.Explanation) -> list[dict[str, Any]]:
    """The nodes that run: not those that are folded into others."""
    return [node for node in explanation.nodes if node["runs_on"] in _PLACEMENTS]


def _entities(nodes: list[dict[str, Any]]) -> list[schema.Entity]:
    return [
        schema.Entity(
            id=_entity_id(node),
            kind=schema.ENTITY_KIND_SOURCE_OPERATOR,
            name=node["name"],
            placement=_PLACEMENTS[node["runs_on"]].value,
            attributes={"operator": node["op"], "source": node["source"]},
        )
        for node in nodes
    ]


def compatibility(explanation: carina.Explanation) -> schema.Result:
    """A check for each node, and an advice for each that does not run on the NPU."""
    nodes = _placed(explanation)
    rejected = [node for node in nodes if node["runs_on"] != "npu"]
    status = (
        schema.ResultStatus.OK
        if not rejected
        else schema.ResultStatus.PARTIAL
        if len(rejected) < len(nodes)
        else schema.ResultStatus.INCOMPATIBLE
    )
    return schema.Result(
        kind=schema.ResultKind.COMPATIBILITY,
        status=schema.ResultStatus.FAILED if explanation.errors else status,
        producer=_PRODUCER,
        errors=[str(error) for error in explanation.errors],
        checks=[
            schema.Check(
                id=f"placement/{node['name']}",
                status=schema.CheckStatus.PASS if node["runs_on"] == "npu" else schema.CheckStatus.FAIL,
                entity_id=_entity_id(node),
                details={"reason": node["reason"]},
            )
            for node in nodes
        ],
        entities=_entities(nodes),
        advice=[
            schema.Advice(
                id=f"cpu/{node['name']}",
                category=schema.AdviceCategory.COMPATIBILITY,
                severity=schema.AdviceSeverity.WARNING,
                message=f"{node['name']} ({node['source']}) runs on the CPU: {node['reason']}."
                + (f" To keep it on the NPU: {node['hint']}." if node["hint"] else ""),
                affected_entity_ids=[_entity_id(node)],
            )
            for node in rejected
        ],
    )


def _metrics(explanation: carina.Explanation) -> list[schema.Metric]:
    """Metrics of the whole model. The time is that of the NPU, so it is left out if nodes run on the CPU."""
    details, nodes = explanation.details, _placed(explanation)
    delegates, cycles = details["delegates"], details["cycles"]
    metrics = [
        schema.Metric(name="npu_total_cycles", value=cycles, unit="cycles"),
        schema.Metric(name="cpu_total_cycles", value=sum(node["cpu_cycles"] for node in nodes), unit="cycles"),
        schema.Metric(name="program_size", value=details["program_bytes"], unit=schema.UNIT_BYTES),
        schema.Metric(
            name=schema.METRIC_NAME_PEAK_ACTIVATION_MEMORY,
            value=details["scratch_bytes"] + details["planned_bytes"],
            unit=schema.UNIT_BYTES,
        ),
    ]
    on_npu = [node for node in nodes if node["runs_on"] == "npu"]
    if nodes:
        share = 100 * len(on_npu) / len(nodes)
        metrics.append(
            schema.Metric(
                name=schema.METRIC_NAME_ACCELERATOR_OPERATOR_PERCENTAGE, value=share, unit=schema.UNIT_PERCENT
            )
        )
    if cycles and len(on_npu) == len(nodes):
        weights, busy = (
            sum(delegate["weight_bytes"] for delegate in delegates),
            sum(d["npu"]["utilization"] * d["cycles"] for d in delegates),
        )
        metrics += [
            schema.Metric(
                name=schema.METRIC_NAME_INFERENCE_TIME,
                value=1e3 * cycles / details["clock_hz"],
                unit=schema.UNIT_MILLISECONDS,
            ),
            schema.Metric(
                name=schema.METRIC_NAME_INFERENCES_PER_SECOND,
                value=details["clock_hz"] / cycles,
                unit=schema.UNIT_INFERENCES_PER_SECOND,
            ),
            schema.Metric(name=schema.METRIC_NAME_MODEL_WEIGHT_MEMORY, value=weights, unit=schema.UNIT_BYTES),
            schema.Metric(
                name=schema.METRIC_NAME_TARGET_UTILIZATION, value=100 * busy / cycles, unit=schema.UNIT_PERCENT
            ),
        ]
    return metrics


def performance(explanation: carina.Explanation) -> schema.Result:
    """Metrics of the model, and cycles of each node."""
    nodes = _placed(explanation)
    return schema.Result(
        kind=schema.ResultKind.PERFORMANCE,
        status=schema.ResultStatus.FAILED if explanation.errors else schema.ResultStatus.OK,
        producer=_PRODUCER,
        warnings=[_ESTIMATES],
        errors=[str(error) for error in explanation.errors],
        metrics=schema.ensure_standard_performance_metrics(_metrics(explanation)),
        breakdowns=[
            schema.Breakdown(
                entity_id=_entity_id(node),
                metrics=[
                    schema.Metric(name="npu_cycles", value=node["cycles"], unit="cycles"),
                    schema.Metric(name="cpu_cycles", value=node["cpu_cycles"], unit="cycles"),
                ],
            )
            for node in nodes
        ],
        mode=schema.ModeType.PREDICTED,
        entities=_entities(nodes),
    )


def output_of(model: Path, npu: str, options: Mapping[str, Any], results: list[schema.Result]) -> dict[str, Any]:
    """MLIA's document for a run. npu: "ethos-u55-128" is of family ethos, model u55, variant 128."""
    family, line, macs = npu.split("-")
    settings = {"npu": npu, **options}
    output: dict[str, Any] = schema.StandardizedOutput(
        schema_version=schema.SCHEMA_VERSION,
        run_id=schema.StandardizedOutput.create_run_id(),
        timestamp=schema.StandardizedOutput.create_timestamp(),
        tool=schema.Tool(name="mlia", version=mlia.__version__),
        target=schema.Target(
            profile_name=npu,
            target_type="carina",
            components=[schema.Component(type=schema.ComponentType.NPU, family=family, model=line, variant=macs)],
            configuration=settings,
        ),
        model=schema.Model(
            name=model.name,
            format=model.suffix.lstrip("."),
            hash=hashlib.sha256(model.read_bytes()).hexdigest(),
            size_bytes=model.stat().st_size,
        ),
        context=schema.Context(cli_arguments=[Path(sys.argv[0]).name, *sys.argv[1:]]),
        backends=[schema.Backend(id=_PRODUCER, name="Carina", version=carina.__version__, configuration=settings)],
        results=results,
    ).to_dict()
    return output
