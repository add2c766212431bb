"""The summary of each Ethos-U delegate that to_edge_transform_and_lower() makes, in the form of Vela's network summary.

`logging.getLogger("carina.arm.summary").setLevel(logging.WARNING)` turns it off.
"""

from __future__ import annotations

import logging

from carina import _native

_logger = logging.getLogger("carina.arm.summary")
_logger.setLevel(logging.INFO)

_VELAS_NAMES = {"OffChipFlash": "Off-chip Flash", "OnChipFlash": "On-chip Flash"}
_WIDTH = 49  # of a name and its value in Vela's summary


def print_summary(name: str, target: _native.Target, blob: _native.DelegateBlob) -> None:
    """Prints the summary of a delegate, unless the logger's level is above INFO."""
    if _logger.isEnabledFor(logging.INFO):
        print(_summary(name, target, _native.memories_of(target), blob), flush=True)


def _row(name: str, value: str, unit: str = "") -> str:
    return f"{name}{value:>{max(_WIDTH - len(name), 1)}}{' ' + unit if unit else ''}"


def _used_bytes(memories: _native.TargetMemories, blob: _native.DelegateBlob) -> dict[str, int]:
    """The bytes that the delegate takes of each memory."""
    constants = blob.weight_bytes + blob.command_stream_bytes
    used = {"SRAM": blob.fast_scratch_bytes, memories.arena_memory: 0, memories.constants_memory: 0}
    used[memories.arena_memory] += blob.scratch_bytes
    used[memories.constants_memory] += constants
    return used


def _summary(name: str, target: _native.Target, memories: _native.TargetMemories, blob: _native.DelegateBlob) -> str:
    rows = [
        f"\nNetwork summary for {name}",
        _row("Accelerator configuration", target.accelerator.replace("ethos-u", "Ethos_U").replace("-", "_")),
        _row("System configuration", memories.system_config),
        _row("Memory mode", memories.memory_mode),
        _row("Accelerator clock", f"{memories.clock_hz / 1e6:.0f}", "MHz"),
        "",
        *(
            _row(f"Total {_VELAS_NAMES.get(memory, memory)} used", f"{count / 1024:.2f}", "KiB")
            for memory, count in _used_bytes(memories, blob).items()
        ),
        "",
        "CPU operators = 0 (0.0%)",
        f"NPU operators = {blob.tosa_operators} (100.0%)",
    ]
    if blob.cycles is not None and blob.macs is not None:
        rows += ["", _row("Neural network macs", str(blob.macs), "MACs/batch"), _row("NPU cycles (estimate)", str(blob.cycles), "cycles/batch")]
        if memories.clock_hz:
            rows.append(_row("Batch Inference time", f"{blob.cycles / memories.clock_hz * 1000:.2f}", "ms"))
    return "\n".join(rows) + "\n"
