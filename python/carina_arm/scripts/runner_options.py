"""The command lines of run.sh, run_fvp.sh and build_executor_runner.sh: the Arm backend's names and defaults."""

import argparse
import textwrap

from carina._option_table import ARM_HELP

from carina_arm.scripts.data_files import TRUST_DATA
from carina_arm.scripts.options import Effect, Option, add_options, option

__all__ = ["BUILD_OPTIONS", "DEFAULT_TARGET", "RUN_OPTIONS", "build_parser", "parser"]

DEFAULT_TARGET = "ethos-u55-128"
BUILD_TYPES = ("Release", "Debug", "RelWithDebInfo", "UndefinedSanitizer", "AddressSanitizer")
_IMAGES = "images are built once, with Carina"


def _memory_options() -> tuple[Option, ...]:
    return (
        option("--system_config", metavar="CONFIG", help=ARM_HELP["--system_config"]),
        option(
            "--memory_mode",
            metavar="MODE",
            help="Default: Shared_Sram for ethos-u55, Sram_Only for ethos-u65, Dedicated_Sram_384KB for ethos-u85",
        ),
    )


def _image_options() -> tuple[Option, ...]:
    """The options of run.sh and build_executor_runner.sh for an image."""
    return (
        option(
            "--select_ops_list",
            metavar="OPS",
            help="The portable kernels of the image, with commas between; default: all. Those that quantize and dequantize are added",
        ),
        option("--portable_kernels", metavar="OPS", dest="select_ops_list", help="The older name of --select_ops_list"),
        option(
            "--extra_build_flags",
            metavar="FLAGS",
            default="",
            help="-DNAME=VALUE ... of the runner's CMake variables; see the table of variables in docs/guide/script-options.md",
        ),
        option(
            "--build_type",
            choices=BUILD_TYPES,
            default="Release",
            effect=Effect.NONE,
            help=f"{_IMAGES}, optimized for size",
        ),
        option(
            "--toolchain",
            choices=["arm-none-eabi-gcc"],
            default="arm-none-eabi-gcc",
            effect=Effect.NONE,
            help=f"{_IMAGES}; other toolchains are rejected",
        ),
        option(
            "--etdump",
            action="store_true",
            help="Write an ETDump beside the program when it runs; to `carina arm-build` it makes no difference",
        ),
    )


RUN_SH = (
    option(
        "--model_name",
        metavar="MODEL",
        help="Model file .py/.pth/.pt/.pt2 or a known model, as `carina aot` takes them",
    ),
    option(
        "--model_input",
        metavar="INPUT",
        help="A .pt file with the model's inputs. The program is run with them; without --bundleio and this, with ones",
    ),
    TRUST_DATA,
    option("--aot_arm_compiler_flags", metavar="FLAGS", default="", help="Further options of `carina aot`"),
    option("--no_delegate", action="store_true", help="Keep everything on the CPU"),
    option("--no_quantize", action="store_true", help="Leave a float model float"),
    option("--target", help=f"As `carina aot`; default: {DEFAULT_TARGET}. With --elf: the NPU beside the CPU"),
    option("--output", metavar="FOLDER", help="Where the outputs go; default: arm_test/MODEL, below --et_build_root"),
    option("--et_build_root", metavar="FOLDER", default="arm_test", help="Default: %(default)s"),
    option(
        "--bundleio", action="store_true", help="Bundle inputs and the outputs that they should give, and check them"
    ),
    option("--build_only", action="store_true", help="Compile, do not run"),
    *_memory_options(),
    option(
        "--config", metavar="FILE", default="Arm/vela.ini", help="A vela.ini; default: %(default)s, which is built in"
    ),
    option(
        "--pte_placement",
        metavar="elf|ADDR",
        default="elf",
        help="With --on=qemu: the image whose memory for models has this address: 0x70000000 (DDR) or 0x28000000 (flash)",
    ),
    option("--perf_overlay", action="store_true", help="Write the cycles of each layer beside the program"),
    option(
        "--model_explorer", action="store_true", help="Name the file and the command that show it in Model Explorer"
    ),
    option("--visualize_pte", action="store_true", help="With --model_explorer: the program"),
    option(
        "--visualize_tosa",
        action="store_true",
        help="With --model_explorer: the TOSA file of the first delegate (default)",
    ),
    *_image_options(),
    option("--build-dir", effect=Effect.NONE, help=_IMAGES),
    option("--scratch-dir", effect=Effect.NONE, help="there are no tools to set up"),
    option(
        "--specify_ethosu_scratch",
        action="store_true",
        effect=Effect.NONE,
        help="without pool sizes, the pools of an image take all memory of its region",
    ),
    option(
        "--qdq_fusion_op",
        action="store_true",
        effect=Effect.NONE,
        help="it is deprecated; which integers a boundary has is decided while the model is compiled",
    ),
)

RUN_FVP_SH = (
    option("--elf", metavar="FILE", help="A firmware image of `carina firmware`, run on QEMU beside the simulated NPU"),
    option(
        "--data",
        metavar="FILE@ADDR",
        help="With --elf: a .pte to put into that image. ADDR is that of the image's memory for models",
    ),
    option(
        "--bundle",
        metavar="FILE",
        help="A .bpte to run and to check; for cortex-m targets and with --on=qemu as firmware",
    ),
    option("--timeout", metavar="SECONDS", type=int, help="The longest that QEMU may run; default: 600"),
    option("--trace_file", metavar="FILE", help="Write the cycles of each layer there (.json, .csv or text)"),
    option("--fast", action="store_true", help="Results only, no cycles"),
    option(
        "--etrecord", metavar="FILE", help="With --etdump: an ETRecord; ExecuTorch's Inspector prints both as a table"
    ),
    option(
        "--semihosting-cwd",
        metavar="DIR",
        effect=Effect.NONE,
        help="an image gets its files by name (-i, -o of `carina qemu`)",
    ),
)

CARINA = (
    option(
        "--on",
        choices=["host", "qemu", "vulkan"],
        default="host",
        help="host: the simulator (default); qemu: as firmware of an emulated Cortex-M55; vulkan: VGF delegates on a device, with Arm's emulation layers where they are installed",
    ),
    option("--inferences", metavar="N", help="With --on=qemu: how often the program runs (ET_NUM_INFERENCES)"),
)

RUN_OPTIONS = (*CARINA, *RUN_SH, *RUN_FVP_SH)

BUILD_OPTIONS = (
    option(
        "--pte",
        metavar="FILE|ADDR|semihosting",
        required=True,
        help="The .pte to put into the image. An address gives the image without a program: `carina firmware --image` adds one. semihosting is rejected: an image reads no programs",
    ),
    option(
        "--target",
        default=DEFAULT_TARGET,
        help="An NPU, or a Cortex-M without one; default: %(default)s. The program must be compiled for it",
    ),
    option(
        "--bundleio",
        action="store_true",
        effect=Effect.NONE,
        help="`carina run FILE.bpte --on qemu` builds the image of a bundle and runs it",
    ),
    *_memory_options(),
    option("--output", metavar="FOLDER", help="Where the image goes; default: MODEL/cmake-out"),
    option(
        "--et_build_root",
        metavar="FOLDER",
        default="arm_test",
        help="The folder of an image without a program; default: %(default)s",
    ),
    option("--ethosu_tools_dir", metavar="FOLDER", effect=Effect.NONE, help="there are no tools to set up"),
    *_image_options(),
)


def parser() -> argparse.ArgumentParser:
    """The parser of `python -m carina.arm_run` and `carina arm-run`."""
    options = argparse.ArgumentParser(
        prog="carina arm-run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Compile a PyTorch model and run it, with the arguments of ExecuTorch's run.sh and run_fvp.sh.",
        epilog=textwrap.dedent("""\
            Examples:
              carina arm-run --model_name=model.py --target=ethos-u85-128
              carina arm-run --model_name=add --bundleio --on=qemu
              carina arm-run --elf=app.elf"""),
    )
    add_options(options, CARINA)
    add_options(options.add_argument_group("of run.sh: compile a model and run it"), RUN_SH)
    add_options(options.add_argument_group("of run_fvp.sh: run what is compiled"), RUN_FVP_SH)
    return options


def build_parser() -> argparse.ArgumentParser:
    """The parser of `python -m carina.arm_build` and `carina arm-build`."""
    options = argparse.ArgumentParser(
        prog="carina arm-build",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Put a program into a firmware image, with the arguments of ExecuTorch's build_executor_runner.sh.",
        epilog=textwrap.dedent("""\
            Examples:
              carina arm-build --pte=model.pte --target=ethos-u55-128 --output=out
              carina arm-build --pte=model.pte --select_ops_list=aten::_softmax.out"""),
    )
    add_options(options, BUILD_OPTIONS)
    return options
