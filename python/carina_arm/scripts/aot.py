"""Runs `carina.aot_arm_compiler` with parsed arguments."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from carina_arm.scripts.aot_options import OF_INT8
from carina_arm.scripts.bundle import bundle
from carina_arm.scripts.calibration import check_sample, load_samples
from carina_arm.scripts.compilation import Compiled, Request, compile_model
from carina_arm.scripts.debug_info import write_debug_info
from carina_arm.scripts.etrecord import record_path, write_etrecord
from carina_arm.scripts.models import LoadedModel, load_model
from carina_arm.scripts.options import note
from carina_arm.scripts.outputs import output_path

__all__ = ["build"]


def _check(args: argparse.Namespace) -> None:
    """Checks combinations of options. Raises: ValueError."""
    if args.target.endswith(OF_INT8):
        args.target, args.quantize = args.target.removesuffix(OF_INT8), True
    if args.calibration_data is not None and not args.quantize:
        raise ValueError("--calibration_data requires --quantize to be enabled.")
    if args.target.startswith("cortex-m") and args.delegate:
        note(f"--delegate is ignored for target '{args.target}' (this target does not use delegated ops).")
        args.delegate = False
    if args.enable_debug_mode and args.intermediates is None:
        raise ValueError("--enable_debug_mode requires --intermediates, the folder for what it writes.")


_HALVES = (torch.float16, torch.bfloat16)


def _in_fp32(model: LoadedModel) -> LoadedModel:
    """The model in fp32, from which it is quantized, if it or an input is in half precision. A .pt2 stays as it is."""
    tensors = [*model.flat_inputs(), *model.module.parameters(), *model.module.buffers()]
    halves = {tensor.dtype for tensor in tensors if isinstance(tensor, torch.Tensor) and tensor.dtype in _HALVES}
    if not halves or model.exported is not None:
        return model
    note(
        f"the model computes in {', '.join(sorted(str(kind).removeprefix('torch.') for kind in halves))}: it is converted to float32 and then quantized"
    )
    inputs = pytree.tree_map(
        lambda leaf: leaf.float() if isinstance(leaf, torch.Tensor) and leaf.dtype in _HALVES else leaf, model.inputs
    )
    return replace(model, module=model.module.float(), inputs=inputs)


def _samples(args: argparse.Namespace, model: LoadedModel) -> list[list[Any]] | None:
    """The leaves of the calibration samples; without samples, those of the example inputs. None if nothing is quantized."""
    if not args.quantize:
        return None
    samples = load_samples(args.calibration_data, trusted=args.trust_data)
    return [check_sample(sample, model.inputs) for sample in samples or [model.inputs]]


def _request(args: argparse.Namespace, samples: list[list[Any]] | None) -> Request:
    return Request(
        target=args.target,
        delegate=args.delegate,
        samples=samples,
        system_config=args.system_config,
        memory_mode=args.memory_mode,
        config=args.config,
        intermediates=args.intermediates,
    )


def _save(what: Any, path: Path) -> None:
    """Writes a file with torch.save(), for inspection only. An object that cannot be pickled is skipped with a note."""
    try:
        torch.save(what, path)
    except Exception as error:  # noqa: BLE001  pickle raises any exception of the object's own code
        note(f"{path} is not written: {error}")


def _save_case(folder: str, model: LoadedModel, expected: Sequence[Any]) -> None:
    place = Path(folder)
    _save(model.module, place / "model.pth")
    _save(model.inputs, place / "input_0.pt")
    _save(list(expected), place / "output_ref_0.pt")


def _write_program(args: argparse.Namespace, model: LoadedModel, compiled: Compiled, path: Path) -> None:
    if not args.bundleio:
        compiled.program.save(path)
        print(f"PTE file saved as {path}")
        return
    inputs = model.flat_inputs()
    # For a quantized model, a device is compared with Carina's integer results. For a float model, with PyTorch's.
    expected = compiled.outputs(inputs) if args.quantize else model.outputs()
    if args.intermediates:
        _save_case(args.intermediates, model, expected)
    path.write_bytes(bundle(compiled.program, inputs, expected))
    print(f"Bundle PTE file saved as {path}")


def _start_intermediates(folder: str, model: LoadedModel, exported: ExportedProgram) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    torch.export.save(exported, Path(folder) / f"{model.name}_exported_program.pt2")


def _write_debug_info(args: argparse.Namespace, exported: ExportedProgram) -> None:
    write_debug_info(exported, args.intermediates)
    if args.enable_debug_mode == "tosa":
        note(f"operators of a .tosa file name their line of the model; the rest is in {args.intermediates}/debug.json")


def _load_library(path: str | None) -> None:
    """Loads a user's custom operators. The Arm documents also load quantized_ops_aot_lib, whose operators are built in here; `find` prints
    "" for it."""
    if path is None:
        return
    if not Path(path).is_file() and (path == "" or "quantized_ops_aot_lib" in path):
        note("--so_library: the quantize and dequantize kernels are built in; quantized_ops_aot_lib is not needed")
        return
    torch.ops.load_library(path)  # type: ignore[no-untyped-call]


def build(args: argparse.Namespace) -> None:
    """Runs the script. Raises: any error that prevents the output."""
    _check(args)
    _load_library(args.so_library)
    model = load_model(args.model_name, args.model_input, trusted=args.trust_data)
    if args.quantize:
        model = _in_fp32(model)
    path = output_path(args.output, model.name, args.target, delegated=args.delegate, bundled=args.bundleio)
    samples = _samples(args, model)
    exported = model.export(strict=args.strict_export)
    if args.intermediates is not None:
        _start_intermediates(args.intermediates, model, exported)
    compiled = compile_model(exported, _request(args, samples))
    if args.intermediates is not None:
        compiled.delegation.write(args.intermediates)
    if args.enable_debug_mode is not None:
        _write_debug_info(args, exported)
    print(compiled.delegation.summary(args.intermediates))
    _write_program(args, model, compiled, path)
    if args.etrecord:
        write_etrecord(exported, model.inputs, record_path(path))
        print(f"ETRecord saved as {record_path(path)}")
