"""The command line of run.sh and run_fvp.sh: the Arm backend's names and defaults."""

import argparse
import textwrap

from carina._option_table import ARM_HELP

__all__ = ["DEFAULT_TARGET", "WITHOUT_MEANING", "parser"]

DEFAULT_TARGET = "ethos-u55-128"

# Options that are taken and change nothing here: dest -> why.
WITHOUT_MEANING = {
    "select_ops_list": "the images have every kernel; cmake -DCARINA_OPS=... makes smaller ones (docs/guide/firmware.md)",
    "build_type": "images are built once, with Carina",
    "build_dir": "images are built once, with Carina",
    "extra_build_flags": "images are built once, with Carina",
    "toolchain": "images are built once, with Carina",
    "scratch_dir": "there are no tools to set up",
    "specify_ethosu_scratch": "the pools of an image are always cut for its program",
    "qdq_fusion_op": "it is deprecated; what the model's integers are at each boundary is settled while it is compiled",
    "model_explorer": "the files in the output folder are TOSA and .pte; Model Explorer reads them as they are",
    "visualize_pte": "as --model_explorer",
    "visualize_tosa": "as --model_explorer",
    "etrecord": "an ETRecord holds ExecuTorch's edge programs, which are never built here",
    "semihosting_cwd": "programs stand in the image",
}


def _add_run_sh(options: argparse.ArgumentParser) -> None:
    group = options.add_argument_group("of run.sh: compile a model and run it")
    group.add_argument("--model_name", metavar="MODEL", help="Model file .py/.pth/.pt/.pt2 or a known model, as `carina aot` takes them")
    group.add_argument("--model_input", metavar="INPUT", help="A .pt file with the model's inputs. The program is run with them; without --bundleio and this, with ones")
    group.add_argument("--aot_arm_compiler_flags", metavar="FLAGS", default="", help="Further options of `carina aot`")
    group.add_argument("--no_delegate", action="store_true", help="Keep everything on the CPU")
    group.add_argument("--no_quantize", action="store_true", help="Leave a float model float")
    group.add_argument("--target", default=DEFAULT_TARGET, help="As `carina aot`; default: %(default)s")
    group.add_argument("--output", metavar="FOLDER", help="Where the outputs go; default: arm_test/MODEL, below --et_build_root")
    group.add_argument("--et_build_root", metavar="FOLDER", default="arm_test", help="Default: %(default)s")
    group.add_argument("--bundleio", action="store_true", help="Bundle inputs and the outputs that they should give, and check them")
    group.add_argument("--etdump", action="store_true", help="Write an ETDump beside the program")
    group.add_argument("--build_only", action="store_true", help="Compile, do not run")
    group.add_argument("--system_config", metavar="CONFIG", help=ARM_HELP["--system_config"])
    group.add_argument("--config", metavar="FILE", default="Arm/vela.ini", help="A vela.ini; default: %(default)s, which is built in")
    group.add_argument("--memory_mode", metavar="MODE", help=ARM_HELP["--memory_mode"])
    group.add_argument("--pte_placement", metavar="elf|ADDR", default="elf", help="The program stands in the image in any case")
    group.add_argument("--perf_overlay", action="store_true", help="Write the cycles of each layer beside the program")
    for name in ("select_ops_list", "build_type", "build-dir", "extra_build_flags", "toolchain", "scratch-dir"):
        group.add_argument(f"--{name}", help=argparse.SUPPRESS)
    for name in ("specify_ethosu_scratch", "qdq_fusion_op", "model_explorer", "visualize_pte", "visualize_tosa"):
        group.add_argument(f"--{name}", action="store_true", help=argparse.SUPPRESS)


def _add_run_fvp_sh(options: argparse.ArgumentParser) -> None:
    group = options.add_argument_group("of run_fvp.sh: run what is compiled")
    group.add_argument("--elf", metavar="FILE", help="A firmware image of `carina firmware`, run on QEMU beside the simulated NPU")
    group.add_argument("--data", metavar="FILE@ADDR", help="A .pte to put into that image")
    group.add_argument("--bundle", metavar="FILE", help="A .bpte to run and to check")
    group.add_argument("--timeout", metavar="SECONDS", type=int, default=600, help="The longest that QEMU may run; default: %(default)s")
    group.add_argument("--trace_file", metavar="FILE", help="Write the cycles of each layer there (.json, .csv or text)")
    group.add_argument("--fast", action="store_true", help="Results only, no cycles")
    group.add_argument("--etrecord", metavar="FILE", help=argparse.SUPPRESS)
    group.add_argument("--semihosting-cwd", metavar="DIR", help=argparse.SUPPRESS)


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
    options.add_argument("--on", choices=["host", "qemu"], default="host", help="host: the simulator (default); qemu: as firmware of an emulated Cortex-M55")
    _add_run_sh(options)
    _add_run_fvp_sh(options)
    return options
