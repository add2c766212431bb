"""Compares a compiled model with PyTorch's model: the metrics of the Arm backend's evaluate_model.py."""

import math
import os
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils.data import DataLoader, Dataset, Subset

__all__ = ["Evaluator", "FileCompressionEvaluator", "ImageNetEvaluator", "NumericalModelEvaluator", "error_figures"]

Model = Callable[..., Any]


class Evaluator(ABC):
    """Measures a model."""

    @abstractmethod
    def evaluate(self) -> dict[str, Any]:
        """The metrics by name. Raises: exceptions of running the model."""


def _percentage_error(reference: torch.Tensor, difference: torch.Tensor) -> torch.Tensor:
    """The error in percent. It is 0 where the reference is 0."""
    return torch.where(reference != 0, difference / reference * 100, torch.zeros_like(difference))


def _sqnr_db(reference: torch.Tensor, difference: torch.Tensor) -> float | None:
    """The signal to quantization noise ratio; None if there is no noise or no signal."""
    signal, noise = float(reference.square().sum()), float(difference.square().sum())
    return 10 * math.log10(signal / noise) if signal and noise else None


def error_figures(reference: torch.Tensor, actual: torch.Tensor) -> dict[str, Any]:
    """Metrics of one output, both of the same shape: max_error (signed), max_absolute_error, max_percentage_error, mean_absolute_error,
    sqnr_db."""
    wanted = reference.to(torch.float64)
    difference = wanted - actual.to(torch.float64)
    return {
        "max_error": difference.max().item(),
        "max_absolute_error": difference.abs().max().item(),
        "max_percentage_error": _percentage_error(wanted, difference).max().item(),
        "mean_absolute_error": difference.abs().mean().item(),
        "sqnr_db": _sqnr_db(wanted, difference),
    }


class NumericalModelEvaluator(Evaluator):
    """Compares the outputs of two models on the same inputs.

    ref_model, eval_model: functions of the inputs that return nested tensors. eval_dtype: the type to which the inputs of eval_model are
    converted.
    """

    def __init__(
        self,
        model_name: str,
        ref_model: Model,
        eval_model: Model,
        example_inputs: tuple[Any, ...],
        eval_dtype: torch.dtype | None = None,
    ) -> None:
        self._model_name = model_name
        self._ref_model = ref_model
        self._eval_model = eval_model
        self._example_inputs = example_inputs
        self._eval_dtype = eval_dtype

    def evaluate(self) -> dict[str, Any]:
        """The worst value of each metric over all outputs, and "outputs" with the metrics of each. Raises: ValueError if outputs differ in
        number or shape."""
        with torch.no_grad():
            reference = pytree.tree_flatten(self._ref_model(*self._example_inputs))[0]
            actual = pytree.tree_flatten(self._eval_model(*self._eval_inputs()))[0]
        if [output.shape for output in reference] != [output.shape for output in actual]:
            raise ValueError(
                f"{self._model_name}: the outputs are {[list(o.shape) for o in actual]}, expected {[list(o.shape) for o in reference]}"
            )
        each = [error_figures(wanted, got) for wanted, got in zip(reference, actual, strict=True)]
        worst = {name: max(figures[name] for figures in each) for name in each[0] if name != "sqnr_db"}
        ratios = [figures["sqnr_db"] for figures in each if figures["sqnr_db"] is not None]
        return {**worst, "sqnr_db": min(ratios, default=None), "outputs": each}

    def _eval_inputs(self) -> tuple[Any, ...]:
        if self._eval_dtype is None:
            return self._example_inputs
        return tuple(
            value.to(self._eval_dtype) if isinstance(value, torch.Tensor) else value for value in self._example_inputs
        )


class ImageNetEvaluator(Evaluator):
    """The top-1 and top-5 accuracy of a classifier.

    validation_dataset: samples of an input without its batch axis, and a label. Otherwise validation_dataset_path: a folder with a folder
    of images per class. Raises: ValueError for max_samples below 1.
    """

    def __init__(
        self,
        model_name: str,
        eval_model: Model,
        batch_size: int,
        validation_dataset_path: str,
        eval_dtype: torch.dtype | None = None,
        max_samples: int | None = None,
        validation_dataset: "Dataset[Any] | None" = None,
    ) -> None:
        if max_samples is not None and max_samples <= 0:
            raise ValueError("max_samples must be greater than zero")
        self._model_name = model_name
        self._eval_model = eval_model
        self._batch_size = batch_size
        self._path = validation_dataset_path
        self._eval_dtype = eval_dtype
        self._max_samples = max_samples
        self._dataset = validation_dataset

    def evaluate(self) -> dict[str, Any]:
        """num_samples; accuracy: top-1 and top-5, between 0 and 1. Raises: ValueError for a dataset without samples."""
        from carina_arm.scripts.image_folder import ImageFolder

        dataset: Any = self._dataset or ImageFolder(self._path)
        count = len(dataset) if self._max_samples is None else min(self._max_samples, len(dataset))
        if count == 0:
            raise ValueError("validation dataset must contain at least one sample")
        first, among_five = self._right(
            DataLoader(Subset(dataset, range(count)), batch_size=self._batch_size, shuffle=False)
        )
        return {"num_samples": count, "accuracy": {"top-1": first / count, "top-5": among_five / count}}

    def _right(self, batches: "DataLoader[Any]") -> tuple[int, int]:
        """The numbers of labels that are the first answer, and among the first five."""
        first = among_five = 0
        with torch.inference_mode():
            for images, labels in batches:
                answers = self._eval_model(images if self._eval_dtype is None else images.to(self._eval_dtype))
                best = torch.topk(answers, k=min(5, answers.shape[1]), dim=1).indices
                hits = best == labels.view(-1, 1)
                first += int(hits[:, 0].sum())
                among_five += int(hits.any(dim=1).sum())
        return first, among_five


class FileCompressionEvaluator(Evaluator):
    """The ratio by which a TOSA file shrinks as a .zip."""

    def __init__(self, model_name: str, tosa_output_path: str) -> None:
        self._model_name = model_name
        self._path = tosa_output_path

    def evaluate(self) -> dict[str, Any]:
        """compression_ratio. Raises: OSError."""
        with tempfile.TemporaryFile() as packed:
            with zipfile.ZipFile(packed, "w", compression=zipfile.ZIP_DEFLATED) as archive:
                archive.write(self._path)
            return {"compression_ratio": os.path.getsize(self._path) / packed.seek(0, os.SEEK_END)}


def evaluate_all(evaluators: Sequence[Evaluator]) -> dict[str, Any]:
    """The metrics of all evaluators together."""
    figures: dict[str, Any] = {}
    for evaluator in evaluators:
        figures |= evaluator.evaluate()
    return figures
