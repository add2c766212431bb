"""The summary of each Ethos-U delegate that to_edge_transform_and_lower() makes, in the form of Vela's network summary.

`logging.getLogger("carina.arm.summary").setLevel(logging.WARNING)` turns it off.
"""

from __future__ import annotations

import logging

from carina import _native

_logger = logging.getLogger("carina.arm.summary")
_logger.setLevel(logging.INFO)

_VELAS_NAMES = {"OffChipFlash": "Off-chip Flash", "OnChipFlash": "On-chip Flash", "Sram": "SRAM", "Dram": "DRAM"}
_WIDTH = 49  # of a name and its value in Vela's summary


def is_shown() -> bool:
    """Whether print_summary() prints. Then the delegate needs its report of memories."""
    return _logger.isEnabledFor(logging.INFO)


def print_summary(name: str, target: _native.Target, blob: _native.DelegateBlob, original_weights: int | None) -> None:
    """Prints the summary of a delegate, unless the logger's level is above INFO.

    original_weights: the bytes of the weights before they are encoded, for --verbose-weights; None: without it.
    """
    if is_shown():
        print(_summary(name, target, _native.memories_of(target), blob, original_weights), flush=True)


def _row(name: str, value: str, unit: str = "") -> str:
    return f"{name}{value:>{max(_WIDTH - len(name), 1)}}{' ' + unit if unit else ''}"


def _used_bytes(memories: _native.TargetMemories, blob: _native.DelegateBlob) -> dict[str, int]:
    """The bytes that the delegate takes of each memory."""
    constants = blob.weight_bytes + blob.command_stream_bytes
    used = {"SRAM": blob.fast_scratch_bytes, memories.arena_memory: 0, memories.constants_memory: 0}
    used[memories.arena_memory] += blob.scratch_bytes
    used[memories.constants_memory] += constants
    return used


def _peak_rows(blob: _native.DelegateBlob) -> list[str]:
    return [
        _row(
            f"Design peak {_VELAS_NAMES.get(use.memory, use.memory)} bandwidth",
            f"{use.bytes_per_second / 2**30:.2f}",
            "GB/s",
        )
        for use in _used_memories(blob)
    ]


def _traffic_rows(blob: _native.DelegateBlob, seconds: float) -> list[str]:
    rows = []
    for use in _used_memories(blob):
        name = f"{_VELAS_NAMES.get(use.memory, use.memory)} bandwidth"
        total = _traffic_bytes(use)
        if seconds:
            rows.append(_row(f"Average {name}", f"{total / seconds / 2**20 / 1000:.2f}", "GB/s"))
        rows += [
            _row(f"Input   {name}", f"{use.feature_map_read_bytes / 2**20:.2f}", "MB/batch"),
            _row(f"Weight  {name}", f"{(use.weight_read_bytes + use.weight_write_bytes) / 2**20:.2f}", "MB/batch"),
            _row(f"Output  {name}", f"{use.feature_map_write_bytes / 2**20:.2f}", "MB/batch"),
            _row(f"Total   {name}", f"{total / 2**20:.2f}", "MB/batch"),
            "",
        ]
    return rows


def _used_memories(blob: _native.DelegateBlob) -> list[_native.MemoryUse]:
    return [use for use in blob.memories if _traffic_bytes(use)]


def _traffic_bytes(use: _native.MemoryUse) -> int:
    return use.feature_map_read_bytes + use.feature_map_write_bytes + use.weight_read_bytes + use.weight_write_bytes


def _weight_rows(blob: _native.DelegateBlob, original_weights: int | None) -> list[str]:
    """The encoded weights include scales, and tables and other constants of the delegate."""
    if original_weights is None:
        return []
    sizes = {"Original Weights Size": original_weights, "NPU Encoded Weights Size": blob.weight_bytes}
    return [*(_row(name, f"{size / 1024:.2f}", "KiB") for name, size in sizes.items()), ""]


def _summary(
    name: str,
    target: _native.Target,
    memories: _native.TargetMemories,
    blob: _native.DelegateBlob,
    original_weights: int | None,
) -> str:
    rows = [
        f"\nNetwork summary for {name}",
        _row("Accelerator configuration", target.accelerator.replace("ethos-u", "Ethos_U").replace("-", "_")),
        _row("System configuration", memories.system_config),
        _row("Memory mode", memories.memory_mode),
        _row("Accelerator clock", f"{memories.clock_hz / 1e6:.0f}", "MHz"),
        *_peak_rows(blob),
        "",
        *(
            _row(f"Total {_VELAS_NAMES.get(memory, memory)} used", f"{count / 1024:.2f}", "KiB")
            for memory, count in _used_bytes(memories, blob).items()
        ),
        "",
        "CPU operators = 0 (0.0%)",
        f"NPU operators = {blob.tosa_operators} (100.0%)",
        "",
        *_traffic_rows(blob, (blob.cycles or 0) / memories.clock_hz if memories.clock_hz else 0.0),
        *_weight_rows(blob, original_weights),
    ]
    if blob.cycles is not None and blob.macs is not None:
        rows += [
            _row("Neural network macs", str(blob.macs), "MACs/batch"),
            _row("NPU cycles (estimate)", str(blob.cycles), "cycles/batch"),
        ]
        if memories.clock_hz:
            rows.append(_row("Batch Inference time", f"{blob.cycles / memories.clock_hz * 1000:.2f}", "ms"))
    return "\n".join(rows) + "\n"
