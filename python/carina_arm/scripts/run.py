"""What `carina.arm_run` does when its arguments are read: each model is compiled, then run by commands that are shown."""

import argparse
import shlex
from dataclasses import dataclass
from pathlib import Path

from carina import aot_arm_compiler

from carina_arm.scripts.commands import carina
from carina_arm.scripts.options import note
from carina_arm.scripts.outputs import default_name
from carina_arm.scripts.saved_inputs import write_inputs

__all__ = ["run"]

# What run.sh tries without --model_name, with the options of aot_arm_compiler.py.
_TRIALS = {
    "softmax": (),
    "add": ("--delegate",),
    "qadd": ("--delegate", "--quantize"),
    "qadd2": ("--delegate", "--quantize"),
    "qops": ("--delegate", "--quantize"),
    "mv2": ("--delegate", "--quantize"),
}


@dataclass(frozen=True)
class _Memories:
    """run.sh's own defaults, which are not those of aot_arm_compiler.py. Source: examples/arm/run.sh."""

    family: str
    system_config: str
    memory_mode: str


_MEMORIES = (
    _Memories("ethos-u55", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    _Memories("ethos-u65", "Ethos_U65_High_End", "Sram_Only"),
    _Memories("ethos-u85", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
)


@dataclass(frozen=True)
class _Model:
    name: str
    options: tuple[str, ...]

    @property
    def short_name(self) -> str:
        return Path(self.name).stem


def _models(args: argparse.Namespace) -> list[_Model]:
    if args.model_name is None:
        note("without --model_name, run.sh's built-in trials are run")
        return [_Model(name, options) for name, options in _TRIALS.items()]
    options = [] if args.no_delegate or args.target.startswith("cortex-m") else ["--delegate"]
    if not args.no_quantize:
        options.append("--quantize")
    return [_Model(args.model_name, (*options, *shlex.split(args.aot_arm_compiler_flags)))]


def _memory_options(args: argparse.Namespace) -> list[str]:
    family = next((row for row in _MEMORIES if row.family in args.target), None)
    if family is None:
        return []
    return [f"--system_config={args.system_config or family.system_config}", f"--memory_mode={args.memory_mode or family.memory_mode}", f"--config={args.config}"]


def _compile(args: argparse.Namespace, model: _Model, folder: Path) -> Path:
    """The program that `carina aot` made. Raises: SystemExit with its code."""
    delegated = "--delegate" in model.options or "-d" in model.options
    program = folder / default_name(model.short_name, args.target, delegated=delegated, bundled=args.bundleio)
    program.unlink(missing_ok=True)
    arguments = [f"--model_name={model.name}", f"--target={args.target}", *model.options, f"--intermediates={folder}", f"--output={program}"]
    arguments += _memory_options(args)
    arguments += [f"--model_input={args.model_input}"] if args.model_input else []
    arguments += ["--bundleio"] if args.bundleio else []
    print("CALL carina aot " + shlex.join(arguments), flush=True)
    if code := aot_arm_compiler.main(arguments):
        raise SystemExit(code)
    print(f"pte_data_size: {program.stat().st_size} {program}")
    print(f"pte_file: {program}", flush=True)
    return program


def _traced(args: argparse.Namespace, folder: Path) -> list[str]:
    if args.trace_file:
        return ["--per-layer", args.trace_file]
    return ["--per-layer", str(folder / "layers.json")] if args.perf_overlay else []


def _run_on_host(args: argparse.Namespace, program: Path, folder: Path) -> int:
    arguments = ["run", str(program), "-o", str(folder / "outputs"), *_inputs(args, folder), *_traced(args, folder)]
    arguments += [] if args.fast else ["--timed"]
    arguments += ["--etdump", str(folder / "etdump.etdp")] if args.etdump else []
    return carina(arguments)


def _run_on_qemu(args: argparse.Namespace, program: Path, folder: Path) -> int:
    image = program.with_suffix(".elf")
    if code := carina(["firmware", str(program), "-o", str(image)]):
        return code
    if args.build_only:
        return 0
    return carina(["qemu", str(image), "-o", str(folder / "outputs"), "--timeout", str(args.timeout), *_inputs(args, folder)])


def _inputs(args: argparse.Namespace, folder: Path) -> list[str]:
    """-i FILE for each input; a bundle has its own."""
    if args.model_input is None or args.bundleio:
        return []
    return [word for file in write_inputs(args.model_input, folder) for word in ("-i", str(file))]


def _is_graph(target: str) -> bool:
    return target.startswith("TOSA")


def _run_model(args: argparse.Namespace, model: _Model) -> int:
    line = "-" * 80
    print(f"{line}\nRunning e2e flow for model '{model.name}' with flags '{' '.join(model.options)}'\n{line}")
    folder = Path(args.output or Path(args.et_build_root) / model.short_name)
    folder.mkdir(parents=True, exist_ok=True)
    program = _compile(args, model, folder)
    if _is_graph(args.target):
        print(f"Build for {args.target} skip generating a .elf and running it")
        return 0
    if args.on == "qemu":
        return _run_on_qemu(args, program, folder)
    return 0 if args.build_only else _run_on_host(args, program, folder)


def _run_image(args: argparse.Namespace) -> int:
    image = args.elf
    if args.data:
        program = args.data.rsplit("@", 1)[0]
        image = str(Path(program).with_suffix(".elf"))
        if code := carina(["firmware", program, "--image", args.elf, "-o", image]):
            return code
    return carina(["qemu", image, "--timeout", str(args.timeout)])


def run(args: argparse.Namespace) -> int:
    """Does what the arguments ask for. Returns the exit code of the first command that failed, else 0."""
    if args.on == "qemu" and (args.bundleio or args.bundle):
        raise ValueError("--on=qemu: an image holds a program, not a bundle: leave --bundleio out, or run it on the host")
    if args.elf:
        return _run_image(args)
    if args.bundle:
        return carina(["run", args.bundle, *([] if args.fast else ["--timed"])])
    for model in _models(args):
        try:
            code = _run_model(args, model)
        except SystemExit as failed:
            code = int(failed.code or 0)
        if code:
            return code
    return 0
