"""Runs `carina.evaluate_model` with parsed arguments."""

import argparse
import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from carina_arm.scripts.calibration import MAX_SAMPLES, check_sample, load_samples
from carina_arm.scripts.compilation import Compiled, Request, compile_model
from carina_arm.scripts.image_folder import ImageFolder
from carina_arm.scripts.metrics import (
    Evaluator,
    FileCompressionEvaluator,
    ImageNetEvaluator,
    NumericalModelEvaluator,
    evaluate_all,
)
from carina_arm.scripts.models import LoadedModel, load_model
from carina_arm.scripts.options import note

__all__ = ["evaluate"]

_DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
_SCHEMES = {"int8": "int8", "a16w8": "int16x8"}


def _cast(model: LoadedModel, dtype: torch.dtype) -> LoadedModel:
    inputs = tuple(value.to(dtype) if isinstance(value, torch.Tensor) else value for value in model.inputs)
    return replace(model, module=copy.deepcopy(model.module).to(dtype), inputs=inputs, exported=None)


def _samples(args: argparse.Namespace, model: LoadedModel) -> list[list[Any]] | None:
    """The leaves of the calibration samples; None if nothing is quantized."""
    if args.quant_mode is None:
        return None
    path = args.calibration_data
    if "imagenet" in args.evaluators and path is not None and Path(path).is_dir():
        folder = ImageFolder(path)
        return [[folder[place][0].unsqueeze(0)] for place in range(min(MAX_SAMPLES, len(folder)))]
    return [
        check_sample(sample, model.inputs) for sample in load_samples(path, trusted=args.trust_data) or [model.inputs]
    ]


class _Program:
    """A compiled program that can be called like the original module, with batches of any size."""

    def __init__(self, compiled: Compiled, model: LoadedModel) -> None:
        self._compiled = compiled
        first = next((leaf for leaf in model.flat_inputs() if isinstance(leaf, torch.Tensor)), None)
        self._batch = first.shape[0] if first is not None and first.dim() else 1

    def __call__(self, *inputs: Any) -> Any:
        leaves = pytree.tree_flatten(inputs)[0]
        outputs = self._compiled.outputs(leaves)
        return outputs[0] if len(outputs) == 1 else outputs

    def classify(self, images: torch.Tensor) -> torch.Tensor:
        """The first output for a batch [N,...]. If the program has a smaller batch size, it runs several times."""
        parts = [images[first : first + self._batch] for first in range(0, images.shape[0], self._batch)]
        if parts[-1].shape[0] != self._batch:
            raise ValueError(
                f"the model takes {self._batch} samples at a time, which {images.shape[0]} are no multiple of"
            )
        return torch.cat([self._compiled.outputs([part])[0] for part in parts])


def _evaluators(args: argparse.Namespace, reference: LoadedModel, program: _Program) -> list[Evaluator]:
    evaluators: list[Evaluator] = []
    graphs = sorted(Path(args.intermediates).glob("*.tosa"))
    if graphs:
        evaluators.append(FileCompressionEvaluator(reference.name, str(graphs[0])))
    elif args.delegate:
        note(f"nothing was delegated, so there is no TOSA file in {args.intermediates} whose size could be compared")
    dtype = _DTYPES[args.dtype] if args.dtype else None
    if "numerical" in args.evaluators:
        evaluators.append(NumericalModelEvaluator(reference.name, reference.module, program, reference.inputs, dtype))
    if "imagenet" in args.evaluators:
        evaluators.append(
            ImageNetEvaluator(
                reference.name, program.classify, args.batch_size, args.evaluation_dataset, dtype, args.max_samples
            )
        )
    return evaluators


def _compile(args: argparse.Namespace, model: LoadedModel, exported: ExportedProgram) -> Compiled:
    request = Request(
        target=args.target,
        delegate=args.delegate,
        samples=_samples(args, model),
        quantize=_SCHEMES.get(args.quant_mode),
        intermediates=args.intermediates,
    )
    compiled = compile_model(exported, request)
    compiled.delegation.write(args.intermediates)
    print(compiled.delegation.summary(args.intermediates))
    return compiled


def evaluate(args: argparse.Namespace) -> None:
    """Compiles the model, measures it and writes the metrics as JSON. Raises: any error that prevents the output."""
    if args.so_library is not None:
        torch.ops.load_library(args.so_library)  # type: ignore[no-untyped-call]
    reference = load_model(args.model_name)
    model = _cast(reference, _DTYPES[args.dtype]) if args.dtype else reference
    folder = Path(args.intermediates)
    folder.mkdir(parents=True, exist_ok=True)
    exported = model.export(strict=True)
    torch.export.save(exported, folder / f"{model.name}_exported_program.pt2")
    program = _Program(_compile(args, model, exported), model)
    figures = evaluate_all(_evaluators(args, reference, program))
    text = json.dumps({"name": model.name, "target": args.target, "metrics": figures}, indent=4)
    Path(args.output).write_text(text + "\n")
    print(f"metrics saved as {args.output}")
