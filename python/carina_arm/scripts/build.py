"""Runs `carina.arm_build` with parsed arguments: makes a firmware image from a program."""

import argparse
import re
from pathlib import Path

from carina_arm.scripts.build_variables import apply
from carina_arm.scripts.image import copy_of_image, image_of, make_image
from carina_arm.scripts.options import note

__all__ = ["build"]

_IMAGE = "arm_executor_runner"
# Settings of a run, which an image does not contain, with the command that has them.
_OF_A_RUN = {
    "inferences": "ET_NUM_INFERENCES: `carina qemu -n`",
    "dump_input": "ET_LOG_DUMP_INPUT: `carina arm-run`",
    "dump_output": "ET_LOG_DUMP_OUTPUT: `carina qemu -o FOLDER`",
    "atol": "ET_ATOL: `carina run FILE.bpte --atol`",
    "rtol": "ET_RTOL: `carina run FILE.bpte --rtol`",
    "system_config": "--system_config: `carina qemu --system-config`",
    "memory_mode": "--memory_mode: `carina qemu --memory-mode`",
    "etdump": "--etdump: `carina qemu --etdump`",
}


def _folder(args: argparse.Namespace) -> Path:
    """The folder in which build_executor_runner.sh puts an image."""
    if args.output:
        return Path(args.output)
    if args.pte.startswith("0x"):
        return Path(args.et_build_root) / f"{args.target}_{args.pte}" / "cmake-out"
    return Path(args.pte).with_suffix("") / "cmake-out"


def _cpu(args: argparse.Namespace) -> str:
    """The CPU of TARGET_CPU, else a Cortex-M55. Prints a note if build_executor_runner.sh uses another CPU for the target."""
    if args.target_cpu:
        return str(args.target_cpu)
    found = re.match(r"cortex-m[0-9]+(?:plus|p)?", args.target)
    theirs = found.group() if found else "cortex-m85" if "ethos-u85" in args.target else "cortex-m55"
    if theirs != "cortex-m55":
        note(
            f"the image is for a Cortex-M55 in place of {theirs}: QEMU emulates it; --extra_build_flags=-DTARGET_CPU=cortex-m85 takes the image of Corstone-320"
        )
    return "cortex-m55"


def build(args: argparse.Namespace) -> int:
    """Runs the script. Returns the exit code of the command. Raises: ValueError."""
    for dest in (
        "inferences",
        "method_pool",
        "temp_pool",
        "fast_pool",
        "target_cpu",
        "atol",
        "rtol",
        "dump_input",
        "dump_output",
        "debug_buffer",
    ):
        setattr(args, dest, None)
    args.pte_placement = "elf"
    apply(args.extra_build_flags, args)
    if args.pte == "semihosting":
        raise ValueError(
            "--pte=semihosting: not supported: an image holds its program; `carina firmware` puts another one into it, without a compiler"
        )
    if args.debug_buffer:
        raise ValueError(
            "ET_DUMP_OUTPUTS: not supported for firmware: the runtime on the host records values (`carina run --debug-buffer`)"
        )
    for dest, command in _OF_A_RUN.items():
        if getattr(args, dest) not in (None, False):
            note(f"{command} takes it; it makes no difference to an image")
    folder = _folder(args)
    folder.mkdir(parents=True, exist_ok=True)
    image = folder / f"{_IMAGE}.elf"
    if args.pte.startswith("0x"):
        copy_of_image(image_of(args.pte, _cpu(args)), image)
        print(f"Generated elf file, without a program:\n{image}")
        return 0
    args.target_cpu = _cpu(args)
    code = make_image(args, Path(args.pte), image, target=args.target)
    if code == 0:
        print(f"Generated elf file:\n{image}")
    return code
