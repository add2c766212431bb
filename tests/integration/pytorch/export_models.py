"""Exports five networks as float models and, all but the LSTM, as PT2E models. Runs in the tests' process, and as a program of another torch.

usage: export_models.py FOLDER      (FOLDER/NAME.pth has the weights, which write_weights() made)
"""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases.networks import DsCnn, Lstm, MobilenetV2, Resnet8, Resnet20, settled
from torchao.quantization.pt2e import PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
)

MODELS = {
    "ds_cnn": (DsCnn, (1, 1, 49, 10)),
    "lstm": (Lstm, (1, 4, 16)),
    "mobilenet_v2": (MobilenetV2, (1, 3, 64, 64)),
    "resnet8": (Resnet8, (1, 3, 32, 32)),
    "resnet20": (Resnet20, (1, 3, 32, 32)),
}
# Parameters that do not depend on the kernels of a version of torch.
ACTIVATION = FixedQParamsQuantizationSpec(
    torch.int8, scale=1 / 16, zero_point=-3, quant_min=-128, quant_max=127, qscheme=torch.per_tensor_affine
)
WEIGHT = QuantizationSpec(
    torch.int8,
    PerChannelMinMaxObserver.with_args(eps=2**-12),
    quant_min=-127,
    quant_max=127,
    qscheme=torch.per_channel_symmetric,
    ch_axis=0,
)
LAYERS = (torch.ops.aten.conv2d.default, torch.ops.aten.linear.default)


class FixedQuantizer(Quantizer):
    """int8 at the borders of convolutions and linear layers, with one scale for every activation."""

    def annotate(self, model):
        for node in model.graph.nodes:
            if node.op == "call_function" and node.target in LAYERS:
                inputs = {node.args[0]: ACTIVATION, node.args[1]: WEIGHT}
                node.meta["quantization_annotation"] = QuantizationAnnotation(
                    input_qspec_map=inputs, output_qspec=ACTIVATION, _annotated=True
                )
        return model

    def validate(self, model):
        pass


def write_weights(folder):
    """Random weights with the seed of the cases, and batch norms that have seen eight inputs."""
    for name, (network, shape) in MODELS.items():
        torch.manual_seed(2026)
        torch.save(settled(network(), torch.randn(8, *shape[1:])).state_dict(), folder / f"{name}.pth")


def export(weights, folder):
    for name, (network, shape) in MODELS.items():
        model = network().eval()
        model.load_state_dict(torch.load(weights / f"{name}.pth", weights_only=True))
        inputs = (torch.ones(shape),)
        torch.export.save(torch.export.export(model, inputs, strict=True), folder / f"{name}.pt2")
        if name != "lstm":
            prepared = prepare_pt2e(
                torch.export.export(model, inputs, strict=True).module(check_guards=False), FixedQuantizer()
            )
            prepared(*inputs)
            torch.export.save(
                torch.export.export(convert_pt2e(prepared), inputs, strict=True), folder / f"{name}_int8.pt2"
            )


if __name__ == "__main__":
    place = Path(sys.argv[1])
    export(place, place)
    print(torch.__version__)
