"""The command line of aot_arm_compiler.py: the Arm backend's names, defaults and errors."""

import argparse
import textwrap

from carina._option_table import ARM_HELP

from carina_arm.scripts.example_names import known_names

__all__ = ["TARGETS", "WITHOUT_MEANING", "parser"]

TARGETS = (
    *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
    *(f"ethos-u65-{macs}" for macs in (256, 512)),
    *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
    "vgf",
    *("TOSA-1.0+INT", "TOSA-1.0+FP", "TOSA-1.0+INT+int16"),
    *(f"cortex-m{core}" for core in ("0", "0plus", "3", "4", "7", "23", "33", "35p", "55", "85")),
)

# Options that are taken and change nothing here: dest -> why.
WITHOUT_MEANING = {
    "etrecord": "an ETRecord holds ExecuTorch's edge programs, which are never built here. With carina.arm's partitioner, ExecuTorch's own "
    "to_edge_transform_and_lower(..., generate_etrecord=True) makes one",
    "cortex_m_explicit_layout": "the runtime's kernels take tensors as PyTorch lays them out",
    "enable_qdq_fusion_pass": "it is deprecated; what the model's integers are at each boundary is settled while it is compiled",
    "evaluate": "models are evaluated by python -m carina.evaluate_model",
    "evaluate_config": "models are evaluated by python -m carina.evaluate_model",
}


def _add_model(options: argparse.ArgumentParser) -> None:
    options.add_argument("-m", "--model_name", required=True, help="Model file .py/.pth/.pt/.pt2, or a known model: " + ", ".join(known_names()))
    options.add_argument("--model_input", help="A .pt file of torch.save() with the model's inputs, instead of its own")
    options.add_argument("-s", "--so_library", help="A shared library with the model's custom operators")
    options.add_argument("--non_strict_export", dest="strict_export", action="store_false", help="Export without strict checks")


def _add_target(options: argparse.ArgumentParser) -> None:
    options.add_argument("-t", "--target", default="ethos-u55-128", choices=TARGETS, metavar="TARGET", help=f"What it is for; default: %(default)s. One of: {', '.join(TARGETS)}")
    options.add_argument("-d", "--delegate", action="store_true", help="Put what can run there on the target; else everything stays on the CPU")
    for name in ("--system_config", "--memory_mode"):
        options.add_argument(name, help=ARM_HELP[name])
    options.add_argument("--config", default="Arm/vela.ini", help="A vela.ini; default: %(default)s, which is built in")
    options.add_argument("--direct_drive", action="store_true", help="For a driver in Linux that takes inputs and outputs in regions of their own")
    options.add_argument("--cortex-m-explicit-layout", action="store_true", help="Accepted; makes no difference")


def _add_quantization(options: argparse.ArgumentParser) -> None:
    options.add_argument("-q", "--quantize", action="store_true", help="Quantize: int8; int16 activations where the target names int16")
    options.add_argument("--calibration_data", help="A .pt or .pth of torch.save(), or a folder of up to 1000 of them; default: the example inputs")


def _add_outputs(options: argparse.ArgumentParser) -> None:
    options.add_argument("-o", "--output", help="The .pte or .bpte to write, or a folder for it; default: the current one")
    options.add_argument("-i", "--intermediates", help="A folder for what comes between: the exported program, TOSA files, command streams, delegation_info.txt")
    options.add_argument("--bundleio", action="store_true", help="Write a .bpte: the program with its inputs and the outputs that it should give")
    options.add_argument("--etrecord", action="store_true", help="Accepted; makes no difference")
    options.add_argument("--enable_debug_mode", choices=["json", "tosa"], help="With -i: which operator of the model each operator of a TOSA file comes from")
    options.add_argument("--debug", action="store_true", help="Show all that there is to say")


def _add_deprecated(options: argparse.ArgumentParser) -> None:
    options.add_argument("--enable_qdq_fusion_pass", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("-e", "--evaluate", nargs="?", const="generic", choices=["generic", "mv2", "deit_tiny", "resnet18"], help=argparse.SUPPRESS)
    options.add_argument("-c", "--evaluate_config", help=argparse.SUPPRESS)


def parser() -> argparse.ArgumentParser:
    """The parser of `python -m carina.aot_arm_compiler` and `carina aot`."""
    options = argparse.ArgumentParser(
        prog="carina aot",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Compile a PyTorch model to an ExecuTorch program, with the arguments of ExecuTorch's aot_arm_compiler.py.",
        epilog=textwrap.dedent("""\
            Examples:
              carina aot -m model.py -d -q -t ethos-u55-128 -o model.pte
              carina aot -m model.pt2 --calibration_data samples -d -q -t ethos-u85-256 -i intermediates
              carina aot -m add -d -q --bundleio"""),
    )
    _add_model(options)
    _add_target(options)
    _add_quantization(options)
    _add_outputs(options)
    _add_deprecated(options)
    return options
