"""Runs `carina.arm_run` with parsed arguments: compiles each model, then shows and runs commands."""

import argparse
import shlex
from dataclasses import dataclass
from pathlib import Path

from carina import aot_arm_compiler

from carina_arm.scripts.aot_options import OF_INT8
from carina_arm.scripts.build_variables import apply
from carina_arm.scripts.commands import carina, carina_bundle, python
from carina_arm.scripts.explorer import show_in_explorer
from carina_arm.scripts.image import image_of, make_image, place_in_image, qemu_options
from carina_arm.scripts.options import note
from carina_arm.scripts.outputs import default_name, print_inputs, print_outputs
from carina_arm.scripts.runner_options import DEFAULT_TARGET
from carina_arm.scripts.saved_inputs import write_inputs
from carina_arm.scripts.vulkan import vulkan_environment

__all__ = ["run"]

# The models that run.sh runs without --model_name, with their options of aot_arm_compiler.py.
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
    """The defaults of run.sh, which differ from those of aot_arm_compiler.py. Source: examples/arm/run.sh."""

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
    system, mode = args.system_config or family.system_config, args.memory_mode or family.memory_mode
    return [f"--system_config={system}", f"--memory_mode={mode}", f"--config={args.config}"]


def _compile(args: argparse.Namespace, model: _Model, folder: Path) -> Path:
    """Compiles with `carina aot`. Returns the path of the program. Raises: SystemExit with its exit code."""
    delegated = "--delegate" in model.options or "-d" in model.options
    program = folder / default_name(model.short_name, args.target, delegated=delegated, bundled=args.bundleio)
    program.unlink(missing_ok=True)
    arguments = [f"--model_name={model.name}", f"--target={args.target}", *model.options]
    arguments += [f"--intermediates={folder}", f"--output={program}", *_memory_options(args)]
    arguments += [f"--model_input={args.model_input}"] if args.model_input else []
    arguments += ["--trust_data"] if args.trust_data else []
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


def _dumped(args: argparse.Namespace, folder: Path) -> list[str]:
    if not args.etdump:
        return []
    words = ["--etdump", str(folder / "etdump.etdp")]
    return [*words, "--debug-buffer", str(folder / "debug_buffer.bin")] if args.debug_buffer else words


def _tolerances(args: argparse.Namespace) -> list[str]:
    given = (("--atol", args.atol), ("--rtol", args.rtol))
    return [word for name, value in given if value is not None for word in (name, value)]


def _run_on_host(args: argparse.Namespace, program: Path, folder: Path) -> int:
    """Runs the program on the simulator, or on a Vulkan device."""
    inputs = _inputs(args, folder)
    if args.dump_input and not args.bundleio:
        print_inputs(program, inputs[1::2])
    arguments = ["run", str(program), "-o", str(folder / "outputs"), *inputs, *_traced(args, folder)]
    arguments += ["--on", "vulkan"] if args.on == "vulkan" else []
    arguments += [] if args.fast else ["--timed"]
    arguments += [*_dumped(args, folder), *(_tolerances(args) if args.bundleio else [])]
    code = (carina_bundle if args.bundleio else carina)(arguments, vulkan_environment() if args.on == "vulkan" else {})
    if code == 0 and args.dump_output:
        print_outputs(folder / "outputs")
    return _inspected(code, args, folder)


def _inspected(code: int, args: argparse.Namespace, folder: Path) -> int:
    """Prints the table of ExecuTorch's Inspector after a run that worked, as run_fvp.sh does."""
    if code or not args.etdump or not args.etrecord:
        return code
    words = ["--etdump_path", str(folder / "etdump.etdp"), "--etrecord_path", args.etrecord]
    words += ["--debug_buffer_path", str(folder / "debug_buffer.bin")] if args.debug_buffer else []
    return python("executorch.devtools.inspector.inspector_cli", words)


def _run_on_qemu(args: argparse.Namespace, program: Path, folder: Path) -> int:
    outputs = folder / "outputs"
    if args.bundleio:
        return 0 if args.build_only else _run_bundle_on_qemu(args, program)
    image = program.with_suffix(".elf")
    if code := make_image(args, program, image):
        return code
    if args.build_only:
        return 0
    inputs = _inputs(args, folder)
    if args.dump_input:
        print_inputs(program, inputs[1::2])
    recorded = [*_traced(args, folder), *_dumped(args, folder), *_untimed(args)]
    code = carina(["qemu", str(image), "-o", str(outputs), *qemu_options(args), *recorded, *inputs])
    if code == 0 and args.dump_output:
        print_outputs(outputs)
    return _inspected(code, args, folder)


def _untimed(args: argparse.Namespace) -> list[str]:
    return ["--no-cycles"] if args.fast else []


def _run_bundle_on_qemu(args: argparse.Namespace, bundle: str | Path) -> int:
    if args.fast:
        note("--fast makes no difference for a bundle as firmware")
    folder = Path(bundle).parent
    return carina_bundle(
        ["run", str(bundle), "--on", "qemu", *_tolerances(args), *_traced(args, folder), *_dumped(args, folder)]
    )


def _inputs(args: argparse.Namespace, folder: Path) -> list[str]:
    """-i FILE for each input. A bundle contains its inputs."""
    if args.model_input is None or args.bundleio:
        return []
    return [
        word for file in write_inputs(args.model_input, folder, trusted=args.trust_data) for word in ("-i", str(file))
    ]


def _is_graph(target: str) -> bool:
    return target.startswith("TOSA")


def _run_model(args: argparse.Namespace, model: _Model) -> int:
    line = "-" * 80
    print(f"{line}\nRunning e2e flow for model '{model.name}' with flags '{' '.join(model.options)}'\n{line}")
    folder = Path(args.output or Path(args.et_build_root) / model.short_name)
    folder.mkdir(parents=True, exist_ok=True)
    program = _compile(args, model, folder)
    if args.model_explorer:
        show_in_explorer(program, folder, pte=args.visualize_pte)
    if _is_graph(args.target):
        print(f"Build for {args.target} skip generating a .elf and running it")
        return 0
    if args.on == "qemu":
        return _run_on_qemu(args, program, folder)
    return 0 if args.build_only else _run_on_host(args, program, folder)


def _run_image(args: argparse.Namespace, target: str | None) -> int:
    image = args.elf
    if args.data:
        program, _, args.pte_placement = args.data.rpartition("@")
        if not program:
            raise ValueError(f"--data: {args.data}: expected FILE@ADDRESS")
        place_in_image(args.elf, args.pte_placement)
        image = str(Path(program).with_suffix(".elf"))
        if code := make_image(args, Path(program), Path(image), args.elf):
            return code
    folder = Path(args.output or Path(image).parent)
    recorded = [*_traced(args, folder), *_dumped(args, folder), *_untimed(args)]
    return _inspected(
        carina(["qemu", image, *(["-t", target] if target else []), *qemu_options(args), *recorded]), args, folder
    )


def _run_bundle(args: argparse.Namespace) -> int:
    if args.on == "qemu" or args.target.startswith("cortex-m"):
        return _run_bundle_on_qemu(args, args.bundle)
    return carina_bundle(["run", args.bundle, *([] if args.fast else ["--timed"]), *_tolerances(args)])


# Options for a firmware image only.
_IMAGE_ONLY = {
    "select_ops_list": "--select_ops_list",
    "inferences": "--inferences",
    "method_pool": "the size of a pool",
    "temp_pool": "the size of a pool",
    "fast_pool": "the size of a pool",
    "target_cpu": "TARGET_CPU",
    "timeout": "--timeout",
}


_OF_A_MODEL = (
    "model_name",
    "model_input",
    "trust_data",
    "bundleio",
    "build_only",
    "no_delegate",
    "no_quantize",
    "aot_arm_compiler_flags",
    "model_explorer",
)


def _check_fixed(args: argparse.Namespace) -> None:
    """For an existing image or bundle, rejects options that would make another one. Raises: ValueError."""
    what = "--elf" if args.elf else "--bundle"
    for dest in _OF_A_MODEL:
        if getattr(args, dest):
            raise ValueError(f"--{dest} excludes {what}, which is compiled already")
    if args.elf and args.bundle:
        raise ValueError("--elf excludes --bundle: `carina run FILE.bpte --on qemu` builds the image of a bundle")


def _note_unused_image_options(args: argparse.Namespace) -> None:
    """Prints a note if a bundle, or an image without --data, ignores the options for kernels and pools."""
    bundled = args.bundleio or args.bundle
    if not bundled and (args.elf is None or args.data):
        return
    names = {
        name: None
        for dest, name in _IMAGE_ONLY.items()
        if getattr(args, dest) is not None and (bundled or dest not in ("inferences", "timeout"))
    }
    for name in names:
        note(
            f"{name} makes no difference for {'a bundle: its image is made for it' if bundled else 'an image that is built already'}"
        )


def _check(args: argparse.Namespace) -> None:
    """Checks combinations of options. Raises: ValueError."""
    on_image = args.on == "qemu" or args.elf is not None
    if on_image and args.debug_buffer:
        raise ValueError(
            "ET_DUMP_OUTPUTS: not supported for firmware: the runtime on the host records values; leave --on=qemu out"
        )
    for dest, name in _IMAGE_ONLY.items():
        if not on_image and getattr(args, dest) is not None:
            note(f"{name} makes no difference on the host: it is for firmware (--on=qemu)")
    if not on_image and args.pte_placement != "elf":
        note("--pte_placement makes no difference on the host: it is for firmware (--on=qemu)")
    if args.on == "qemu":
        image_of(args.pte_placement, args.target_cpu)  # checked before the model is compiled
    if on_image:
        _note_unused_image_options(args)
    if args.elf or args.bundle:
        _check_fixed(args)
    if args.data and not args.elf:
        raise ValueError("--data requires --elf, the image to put it into")
    if args.etrecord and not args.etdump:
        raise ValueError("--etrecord requires --etdump, the record of a run that it belongs to")
    if args.visualize_pte and args.visualize_tosa:
        raise ValueError("--visualize_pte and --visualize_tosa exclude each other")
    if (args.visualize_pte or args.visualize_tosa) and not args.model_explorer:
        raise ValueError("--visualize_pte and --visualize_tosa require --model_explorer")


def run(args: argparse.Namespace) -> int:
    """Runs the script. Returns the exit code of the first command that failed, else 0."""
    for dest in ("method_pool", "temp_pool", "fast_pool", "target_cpu", "atol", "rtol"):
        setattr(args, dest, None)
    args.debug_buffer = args.dump_output = args.dump_input = False
    apply(args.extra_build_flags, args)
    _check(args)
    asked_target = args.target
    args.target = (asked_target or DEFAULT_TARGET).removesuffix(OF_INT8)
    if args.elf:
        return _run_image(args, asked_target)
    if args.bundle:
        return _run_bundle(args)
    for model in _models(args):
        try:
            code = _run_model(args, model)
        except SystemExit as failed:
            code = int(failed.code or 0)
        if code:
            return code
    return 0
