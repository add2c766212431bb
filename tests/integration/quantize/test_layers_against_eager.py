"""Compares each layer of a PT2E model with the same layer in eager PyTorch on Carina's integer inputs.

In a network with random weights, one step in an early layer grows through later layers, so the network's output says little about a layer.
Each eager result is therefore compared, and then replaced with Carina's result before the next layer reads it.
"""

import numpy as np
import pytest


def integers_of_layers(case, run_carina, folder):
    """{name of a node: its integers, channels first}, from the interpreter of the TOSA graph."""
    graph = folder / "model.tosa"
    run_carina(["tosa", case.model_int8, "-o", graph])
    inputs = folder / "in.npy"
    np.save(inputs, case.array("tosa_in_0"))
    run_carina(["interpret", graph, "-i", inputs, "-o", folder / "out", "--dump", folder / "values"])
    return {path.stem: np.load(path) for path in (folder / "values").glob("*.npy")}


def replacing_interpreter(module, ours):
    """Runs the module in eager torch. Yields (name, elements, differing elements, largest difference in steps) for each quantized layer
    that both have."""
    import torch

    class Replacing(torch.fx.Interpreter):
        def __init__(self):
            super().__init__(module)
            self.layers = []

        def run_node(self, node):
            result = super().run_node(node)
            if "quantized_decomposed.quantize_per_tensor" not in str(node.target):
                return result
            before = [node.args[0], *node.args[0].all_input_nodes]  # a clamp has no separate name in the integer graph
            name = next((n.name for n in before if n.name in ours), None)
            if name is None:
                return result
            integers = ours[name]
            if result.dim() == 4 and integers.shape != tuple(result.shape):
                integers = integers.transpose(0, 3, 1, 2)
            steps = np.abs(integers.reshape(result.shape).astype(int) - result.numpy())
            self.layers.append((name, steps.size, int((steps > 0).sum()), int(steps.max())))
            return torch.from_numpy(integers.reshape(result.shape).copy())

    return Replacing()


@pytest.mark.cases("mobilenet_v2", "ds_cnn")
def test_each_layer_is_within_a_step_of_eager_torch(case, run_carina, tmp_path):
    import torch
    import torchao.quantization.pt2e  # noqa: F401  the quantized_decomposed operators

    module = torch.export.load(str(case.model_int8)).module(check_guards=False)
    eager = replacing_interpreter(module, integers_of_layers(case, run_carina, tmp_path))
    with torch.no_grad():
        eager.run(torch.from_numpy(case.inputs[0]))
    layers = eager.layers
    assert len(layers) >= {"mobilenet_v2": 64, "ds_cnn": 10}[case.name], layers
    assert all(max_error <= 1 for _, _, _, max_error in layers), [layer for layer in layers if layer[3] > 1]
    elements, different = (sum(layer[i] for layer in layers) for i in (1, 2))
    assert different < elements / 10_000, (
        f"{different} of {elements} differ: more than sums that lie between two integers"
    )
