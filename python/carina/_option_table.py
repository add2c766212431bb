"""The options of carina.compile(). Made by scripts/generate_options.py of include/carina/options.def: do not edit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypedDict

Path = str | os.PathLike[str]
Strings = str | Sequence[str]
# The names of carina.targets(), and of targets without an NPU. A TOSA specification may have extensions, such as
# "TOSA-1.0+INT+int16", which this type does not list.
Target = Literal[
    "ethos-u55-32",
    "ethos-u55-64",
    "ethos-u55-128",
    "ethos-u55-256",
    "ethos-u65-256",
    "ethos-u65-512",
    "ethos-u85-128",
    "ethos-u85-256",
    "ethos-u85-512",
    "ethos-u85-1024",
    "ethos-u85-2048",
    "vgf",
    "TOSA-1.0+INT",
    "TOSA-1.0+FP",
]
# The rows of `carina targets --boards`.
Board = Literal[
    "Alif_E7_HE",
    "Alif_E7_HP",
    "Corstone_300",
    "Corstone_320_FVP",
    "Nuvoton_M55M1",
    "Nuvoton_M55M1_HyperRAM",
]


class Option(NamedTuple):
    """A keyword argument, and the member of the request that gets its value."""

    name: str
    part: str  # "target" or "quantize": the part of the request with the member; "": the request
    member: str
    kind: str
    value: str | None = None  # the value that a flag sets; None: its own


OPTIONS = (
    Option("system_config", "target", "system_config", "text", None),
    Option("memory_mode", "target", "memory_mode", "text", None),
    Option("config", "target", "config_files", "paths", None),
    Option("arena_cache_size", "target", "arena_cache_bytes", "bytes", None),
    Option("board", "", "board", "text", None),
    Option("max_cycles", "quantize", "max_cycles", "text", None),
    Option("min_sqnr", "quantize", "min_sqnr", "text", None),
    Option("auto_front", "quantize", "auto_front", "path", None),
    Option("quantize_at", "quantize", "overrides", "overrides", None),
    Option("quantize_config", "quantize", "file", "path", None),
    Option("io", "quantize", "io", "name", None),
    Option("prune_weights", "quantize", "prune", "name", None),
    Option("cluster_weights", "quantize", "clusters", "name", None),
    Option("no_delegate", "", "delegates", "flag", "nothing"),
    Option("delegate_all", "", "delegates", "flag", "all"),
    Option("cpu_node", "", "cpu_nodes", "texts", None),
    Option("cpu_op", "", "cpu_ops", "texts", None),
    Option("cpu_module", "", "cpu_modules", "texts", None),
    Option("legalize", "", "legalize", "flag", None),
    Option("cpu_kernels", "", "cpu_kernels", "choice", None),
    Option("loop_rounds", "", "loop_rounds", "count", None),
    Option("sram_budget", "", "sram_budget_bytes", "bytes", None),
    Option("flash_budget", "", "flash_budget_bytes", "bytes", None),
    Option("arena_budget", "", "arena_budget_bytes", "bytes", None),
    Option("optimize", "", "optimize", "choice", None),
    Option("dynamic_weights", "", "dynamic_weights", "flag", None),
    Option("check", "", "check", "choice", None),
    Option("show", "", "show", "texts", None),
    Option("extra_flag", "", "vela_flags", "texts", None),
    Option("dump", "", "dump_folder", "path", None),
)

# Help texts of the options that the Arm backend's scripts have, too, by their spelling there.
ARM_HELP = {
    "--system_config": "Clock and memories, a section of vela.ini; default: the family's, or the program's",
    "--memory_mode": "The memory of each kind of data: Shared_Sram, Sram_Only ...; default: the family's, or the program's",
    "--arena_cache_size": "Bytes of fast memory that the network may use, instead of the memory mode's arena_cache_size",
    "--calibration_data": "Calibration inputs: an .npz, an .npy, a folder of them or of images; or random: cycles and memory without data",
    "--sram_budget": "The SRAM that the program may take as a whole: arena, inputs, outputs and other planned values, the runtime's tables, and constants that the memory mode keeps there; more is an error that says what would fit; 0: no limit; default: the board's, or no limit",
    "--flash_budget": "The size that the program file may have; more is an error that says what would fit; 0: no limit; default: the board's, or no limit",
    "--arena_budget": "Maximum size of a delegate's arena alone; more is an error that names the tensors; 0: no limit",
    "--extra_flag": "Flags of Vela, separated by blanks (may be repeated): \"--optimise Size --verbose-allocation\"",
    "--extra_flags": "Flags of Vela, separated by blanks (may be repeated): \"--optimise Size --verbose-allocation\"",
}


class QuantizeOptions(TypedDict, total=False):
    """Options of quantization, in addition to `quantize` and `calibration`."""

    max_cycles: str | None
    min_sqnr: str | None
    auto_front: Path | None
    quantize_at: Strings
    quantize_config: Path | None
    io: Literal["float", "int8", "uint8", "int16"] | None
    prune_weights: str | None
    cluster_weights: str | None
    mean: float | Sequence[float]  # of calibration data that are images: a channel value v becomes (v / 255 - mean) / std
    std: float | Sequence[float]


class MemoryOptions(TypedDict, total=False):
    """The memories around an NPU."""

    system_config: str | None
    memory_mode: str | None
    config: Path | Sequence[Path]


class CompileOptions(QuantizeOptions, MemoryOptions, total=False):
    """The options of `carina compile`, with the same names."""

    arena_cache_size: int | str | None
    board: Board | None
    no_delegate: bool
    delegate_all: bool
    cpu_node: Strings
    cpu_op: Strings
    cpu_module: Strings
    legalize: bool
    cpu_kernels: Literal["portable", "cortex-m"]
    loop_rounds: int
    sram_budget: int | str | None
    flash_budget: int | str | None
    arena_budget: int | str | None
    optimize: Literal["speed", "search", "size", "performance", "2", "3", "s"]
    dynamic_weights: bool
    check: Literal["quick", "full", "off"]
    show: Strings
    extra_flag: Strings
    dump: Path | None
    report: Path | None
    threads: int
