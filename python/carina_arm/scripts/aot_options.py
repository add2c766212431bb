"""The command line of aot_arm_compiler.py: the Arm backend's names, defaults and errors."""

import argparse
import textwrap

from carina._option_table import ARM_HELP

from carina_arm.scripts.data_files import TRUST_DATA
from carina_arm.scripts.example_names import known_names
from carina_arm.scripts.options import Effect, add_options, option

__all__ = ["OF_INT8", "OPTIONS", "TARGETS", "parser"]

OF_INT8 = "+int8"  # a target of ExecuTorch 1.2, whose documents still name it: the target without it, quantized
TARGETS = (
    *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
    *(f"ethos-u65-{macs}" for macs in (256, 512)),
    *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
    "vgf",
    *("TOSA-1.0+INT", "TOSA-1.0+FP", "TOSA-1.0+INT+int16"),
    *(f"cortex-m{core}" for core in ("0", "0plus", "3", "4", "7", "23", "33", "35p", "55", "85")),
    "cortex-m55" + OF_INT8,
)

_MODEL = (
    option("-m", "--model_name", required=True, help="Model file .py/.pth/.pt/.pt2, or a known model (see below)"),
    option("--model_input", help="A .pt file of torch.save() with the model's inputs, instead of its own"),
    option(
        "-s",
        "--so_library",
        help="A shared library with the model's custom operators. The quantize and dequantize kernels are built in: quantized_ops_aot_lib is not needed",
    ),
    option("--non_strict_export", dest="strict_export", action="store_false", help="Export without strict checks"),
)

_TARGET = (
    option(
        "-t",
        "--target",
        default="ethos-u55-128",
        choices=TARGETS,
        metavar="TARGET",
        help=f"The target; default: %(default)s. One of: {', '.join(TARGETS)}",
    ),
    option(
        "-d",
        "--delegate",
        action="store_true",
        help="Put all nodes on the target that can run there; else everything stays on the CPU",
    ),
    option("--system_config", help=ARM_HELP["--system_config"]),
    option("--memory_mode", help=ARM_HELP["--memory_mode"]),
    option("--config", default="Arm/vela.ini", help="A vela.ini; default: %(default)s, which is built in"),
    option(
        "--direct_drive",
        action="store_true",
        effect=Effect.REJECTED,
        help="it is for Ethos-U85 under Linux, whose driver takes payloads of the form COP2 with regions for inputs and outputs; Carina writes COP1, for drivers on a microcontroller",
    ),
    option(
        "--cortex-m-explicit-layout",
        action="store_true",
        effect=Effect.NONE,
        help="the runtime's kernels take tensors in PyTorch's layout",
    ),
)

_QUANTIZATION = (
    option(
        "-q",
        "--quantize",
        action="store_true",
        help="Quantize: int8; int16 activations where the target names int16. For cortex-m targets the kernels are those of ExecuTorch's Cortex-M backend",
    ),
    option(
        "--calibration_data",
        help="A .pt or .pth of torch.save(), or a folder of up to 1000 of them; default: the example inputs",
    ),
    TRUST_DATA,
)

_OUTPUTS = (
    option("-o", "--output", help="The .pte or .bpte to write, or a folder for it; default: the current one"),
    option(
        "-i",
        "--intermediates",
        help="A folder for the exported program, TOSA files, command streams and delegation_info.txt",
    ),
    option(
        "--bundleio",
        action="store_true",
        help="Write a .bpte: the program with its inputs and the outputs that it should give",
    ),
    option(
        "--etrecord",
        action="store_true",
        help="Write an ETRecord of the exported program beside the program (MODEL_etrecord.bin). It needs the package executorch",
    ),
    option(
        "--enable_debug_mode",
        choices=["json", "tosa"],
        help="With -i: which operator of the model each operator of a TOSA file comes from",
    ),
    option("--debug", action="store_true", help="Show all messages"),
)

_DEPRECATED = (
    option(
        "-r",
        "--reorder_inputs",
        effect=Effect.REJECTED,
        help="it is of ExecuTorch 0.5; inputs have the model's order: change the order in the model's forward()",
    ),
    option(
        "--enable_qdq_fusion_pass",
        action="store_true",
        effect=Effect.NONE,
        help="it is deprecated; which integers a boundary has is decided while the model is compiled",
    ),
    option(
        "-e",
        "--evaluate",
        nargs="?",
        const="generic",
        choices=["generic", "mv2", "deit_tiny", "resnet18"],
        effect=Effect.NONE,
        help="models are evaluated by carina evaluate-model",
    ),
    option("-c", "--evaluate_config", effect=Effect.NONE, help="models are evaluated by carina evaluate-model"),
)

OPTIONS = (*_MODEL, *_TARGET, *_QUANTIZATION, *_OUTPUTS, *_DEPRECATED)


def parser() -> argparse.ArgumentParser:
    """The parser of `python -m carina.aot_arm_compiler` and `carina aot`."""
    options = argparse.ArgumentParser(
        prog="carina aot",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Compile a PyTorch model to an ExecuTorch program, with the arguments of ExecuTorch's aot_arm_compiler.py.",
        epilog="Known models: "
        + ", ".join(known_names())
        + textwrap.dedent("""

            Examples:
              carina aot -m model.py -d -q -t ethos-u55-128 -o model.pte
              carina aot -m model.pt2 --calibration_data samples -d -q -t ethos-u85-256 -i intermediates
              carina aot -m add -d -q --bundleio"""),
    )
    add_options(options, OPTIONS)
    return options
