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
    Option("rounding", "", "rounding", "choice", None),
    Option("shape", "", "shapes", "texts", None),
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
    """Options of quantization, in addition to `quantize` and `calibration`.

    max_cycles: The cycles that --quantize auto may use, on the NPU and the CPU, or their percentage of those with 8
        bits; default: 150%.
    min_sqnr: The SQNR in dB that --quantize auto keeps with as few cycles as it can; without --max-cycles, there is
        no other limit.
    auto_front: Write the best schemes that --quantize auto found to this JSON file: cycles and SQNR, from the
        fastest to the most exact.
    quantize_at: Another scheme for a part of the model (may be repeated): node:NAME=SCHEME, op:, module:, type:
        likewise, inputs=SCHEME, outputs=SCHEME, state:NAME=int16; float: stays on the CPU.
    quantize_config: A JSON file with the scheme: {"scheme": "int8", "io": "uint8", "overrides": ["node:..."]}.
    io: The type of the program's quantized inputs and outputs: float, or raw integers: int8, uint8, int16.
    prune_weights: 2:4: before quantization, of the weights of each four input channels the two smallest become
        zero, which halves the multiplications of large layers on ethos-u85. 60%: so many of the weights of a layer
        become zero, the smallest: fewer bytes on every NPU.
    cluster_weights: At most this many different integers among the weights of a layer, from 2 to 64: fewer bytes of
        weights, also where they are read from flash while a layer runs.
    """

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
    """The memories around an NPU.

    system_config: Clock and memories, a section of vela.ini; default: the family's, or the program's.
    memory_mode: The memory of each kind of data: Shared_Sram, Sram_Only ...; default: the family's, or the
        program's.
    config: A vela.ini with further system configs and memory modes (may be repeated; a later one takes precedence).
    """

    system_config: str | None
    memory_mode: str | None
    config: Path | Sequence[Path]


class CompileOptions(QuantizeOptions, MemoryOptions, total=False):
    """The options of `carina compile`, with the same names.

    arena_cache_size: Bytes of fast memory that the network may use, instead of the memory mode's arena_cache_size.
    board: The board, as `carina targets --boards` lists them: sets the target, the clock, the memories and the
        budgets of SRAM and flash; options that are given take precedence.
    no_delegate: Keep all nodes on the CPU.
    delegate_all: Put parts on the NPU too that only move data, or whose call costs more than it saves.
    cpu_node: Keep the node of this name on the CPU (may be repeated).
    cpu_op: Keep nodes of this operator on the CPU: softmax, aten.add.Tensor (may be repeated).
    cpu_module: Keep a module's nodes on the CPU, by its path (features.3, with all below) or its type (Conv2d) (may
        be repeated).
    legalize: Rewrite nodes that the target does not support as operators that it supports, if no result changes.
    cpu_kernels: The kernels that a quantized network's nodes on the CPU call: portable (every ExecuTorch runtime
        has them; they compute in floats) or cortex-m (int8 kernels of ExecuTorch's Cortex-M backend); default:
        portable.
    loop_rounds: The maximum number of rounds of a while_loop; if the data ask for more, the results are those after
        so many rounds.
    sram_budget: The SRAM that the program may take as a whole: arena, inputs, outputs and other planned values, the
        runtime's tables, and constants that the memory mode keeps there; more is an error that says what would fit;
        0: no limit; default: the board's, or no limit.
    flash_budget: The size that the program file may have; more is an error that says what would fit; 0: no limit;
        default: the board's, or no limit.
    arena_budget: Maximum size of a delegate's arena alone; more is an error that names the tensors; 0: no limit.
    optimize: -O2 (Performance): the fewest cycles, the default; -O3: fewer, after a search of seconds; -Os (Size):
        the least SRAM.
    dynamic_weights: Compile matrix products of two activations on ethos-u55 and ethos-u65 as convolutions whose
        weights the NPU writes: many times faster, not confirmed on silicon.
    check: How much of the program is run beside the model before it is written: quick (all, or as many of the first
        operators as a fifth of the compilation's work pays for), full, or off; default: quick.
    rounding: Whose bits the int8 FULLY_CONNECTED and LSTM of a LiteRT file have: litert (the reference kernels':
        one rounding, and functions in many steps) or vela (Vela's streams': two roundings, and the NPU's own
        functions); default: litert.
    shape: The shape of an input of a LiteRT file whose batch is dynamic: 8,49,40,1, or NAME=8,49,40,1 if there are
        several inputs; all tensors with a dynamic batch follow.
    show: Print how delegates were compiled (may be repeated): config, graph, schedule, allocation (the memory map),
        operations, commands, weights or performance.
    extra_flag: Flags of Vela, separated by blanks (may be repeated): "--optimise Size --verbose-allocation".
    dump: Write each delegate's TOSA file and command stream to this folder.
    """

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
    rounding: Literal["litert", "vela"]
    shape: Strings
    show: Strings
    extra_flag: Strings
    dump: Path | None
    report: Path | None
    threads: int
