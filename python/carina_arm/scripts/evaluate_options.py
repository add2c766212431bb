"""The command line of evaluate_model.py: the Arm backend's names, defaults and errors."""

import argparse
import os
import textwrap

from carina_arm.scripts.data_files import TRUST_DATA
from carina_arm.scripts.example_names import known_names
from carina_arm.scripts.options import add_options, option

__all__ = ["DTYPES", "EVALUATORS", "OPTIONS", "check", "parser"]

EVALUATORS = ("numerical", "imagenet")
QUANT_MODES = ("int8", "a16w8")
DTYPES = ("bf16", "fp16", "fp32")

OPTIONS = (
    option("-m", "--model_name", required=True, help="Model file .py/.pth/.pt/.pt2, or a known model (see below)"),
    option(
        "-t", "--target", required=True, help="A TOSA specification (TOSA-1.0+INT, TOSA-1.0+FP+bf16), an NPU or vgf"
    ),
    option("-q", "--quant_mode", choices=QUANT_MODES, help="Quantize the model"),
    option(
        "--calibration_data",
        help="A .pt or .pth, a folder of up to 1000 of them, or, with imagenet, a folder of images; default: the example inputs",
    ),
    TRUST_DATA,
    option("--no_delegate", action="store_false", dest="delegate", help="Keep everything on the CPU"),
    option("-e", "--evaluators", required=True, help=f"Some of {', '.join(EVALUATORS)}, with commas between"),
    option("--evaluation_dataset", help="For imagenet: a folder with a folder of samples for each class"),
    option(
        "--batch_size", type=int, default=1, help="Samples that imagenet hands over at a time; default: %(default)s"
    ),
    option("--max_samples", type=int, help="At most so many samples"),
    option("-s", "--so_library", help="A shared library with the model's custom operators"),
    option("--debug", action="store_true", help="Show all that there is to say"),
    option("--dtype", choices=DTYPES, help="Make the model and its inputs this type first"),
    option(
        "-i",
        "--intermediates",
        required=True,
        help="A folder for what comes between: the exported program, TOSA files, delegation_info.txt",
    ),
    option("-o", "--output", help="The JSON to write; default: TARGET_metrics.json in the folder of -i"),
)


def parser() -> argparse.ArgumentParser:
    """The parser of `python -m carina.evaluate_model` and `carina evaluate-model`."""
    options = argparse.ArgumentParser(
        prog="carina evaluate-model",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Compare a compiled model with PyTorch, with the arguments of ExecuTorch's evaluate_model.py. Delegates run bit for bit: those of\n"
        "an NPU on the simulator, TOSA and VGF in the interpreter.",
        epilog="Known models: "
        + ", ".join(known_names())
        + textwrap.dedent("""

            Examples:
              carina evaluate-model -m model.py -t ethos-u55-128 -q int8 -e numerical -i work
              carina evaluate-model -m mv2 -t TOSA-1.0+INT -q int8 -e numerical,imagenet --evaluation_dataset val -i work"""),
    )
    add_options(options, OPTIONS)
    return options


def check(args: argparse.Namespace) -> None:
    """Checks combinations of options, divides --evaluators into names, and sets the default output. Raises: ValueError."""
    if args.quant_mode is None and not args.delegate:
        raise ValueError("The model to test must be either quantized or delegated (--quant_mode or --delegate).")
    if args.calibration_data is not None and args.quant_mode is None:
        raise ValueError("--calibration_data requires --quant_mode to be enabled.")
    if args.quant_mode is not None and args.dtype is not None:
        raise ValueError("Cannot specify --dtype when --quant_mode is enabled.")
    args.evaluators = [word.strip() for word in args.evaluators.split(",") if word.strip()]
    if not args.evaluators:
        raise ValueError("At least one evaluator must be specified in --evaluators.")
    if unknown := sorted(set(args.evaluators) - set(EVALUATORS)):
        raise ValueError(f"Unknown evaluators in --evaluators: {', '.join(unknown)}")
    if "imagenet" in args.evaluators and args.evaluation_dataset is None:
        raise ValueError("Evaluation dataset must be provided for ImageNet evaluation.")
    args.output = args.output or os.path.join(args.intermediates, f"{args.target}_metrics.json")
