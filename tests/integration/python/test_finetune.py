"""Training for integers: carina.finetune(), and torchao's quantization-aware training with Carina's annotations, on the digits network with
4-bit weights. Accuracy is that of the simulated NPU on images that training has not seen."""

import sys

import numpy as np
import pytest
import torch
from conftest import ROOT
from torch import nn
from torch.nn import functional as F

TARGET = "ethos-u85-256"


@pytest.fixture(scope="module")
def digits():
    """The float network, and the images and labels for training and for the measurement."""
    sys.path.insert(0, str(ROOT / "models" / "digits"))
    from train import Digits, load

    model = Digits().eval()
    model.load_state_dict(torch.export.load(str(ROOT / "models" / "digits" / "digits.pt2")).state_dict, strict=False)
    x, test, y, truth = load()
    return model, torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(test), truth


def loader_of(x, y):
    generator = torch.Generator().manual_seed(0)
    data = torch.utils.data.TensorDataset(x, y)
    return torch.utils.data.DataLoader(data, batch_size=64, shuffle=True, generator=generator)


def percent_right(program, x, truth):
    return 100 * float((np.asarray(program.run(x)[0]).argmax(1) == truth).mean())


def compiled(package, model, x, scheme, target=TARGET):
    samples = [(image[None],) for image in x[:64]]
    return package.compile(model, (x[:1],), target=target, quantize=scheme, calibration=samples)


def test_training_for_four_bit_weights_reaches_the_float_model(package, digits):
    model, x, y, test, truth = digits
    before = {name: value.clone() for name, value in model.state_dict().items()}
    rounded = percent_right(compiled(package, model, x, "int8x4+unequalized"), test, truth)
    torch.manual_seed(0)
    found = package.finetune(model, loader_of(x, y), F.cross_entropy, scheme="int8x4", epochs=4, lr=2e-3, npu_steps=3)
    with torch.no_grad():
        floats = 100 * float((model(test).argmax(1).numpy() == truth).mean())
    trained = percent_right(compiled(package, found.model, x, found.scheme), test, truth)
    assert trained >= floats - 1.0 and trained >= rounded, (floats, rounded, trained)
    assert len(found.losses) == 4 and len(found.npu_losses) == 3
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_without_labels_the_float_model_is_the_truth(package, digits):
    """With 2:4 sparse weights: trained on images without labels, the network keeps the decisions of the float model."""
    model, x, _, test, _ = digits
    with torch.no_grad():
        decisions = model(test).argmax(1).numpy()
    generator = torch.Generator().manual_seed(0)
    images = torch.utils.data.TensorDataset(x)
    loader = torch.utils.data.DataLoader(images, batch_size=64, shuffle=True, generator=generator)
    pruned = percent_right(compiled(package, model, x, "int8+pruned-2:4"), test, decisions)
    found = package.finetune(model, loader, prune="2:4", epochs=8)
    trained = percent_right(compiled(package, found.model, x, found.scheme), test, decisions)
    assert trained >= 97 and trained > pruned, (pruned, trained)
    assert found.losses[-1] < found.losses[0]


def integers_of(weight, largest):
    """The weights in steps of one per output channel, if the largest has `largest` steps."""
    step = weight.abs().flatten(1).amax(1) / largest
    return weight / step.reshape(-1, *[1] * (weight.dim() - 1))


@pytest.mark.parametrize(("scheme", "largest"), [("int8x4", 7), ("int8", 127)])
def test_trained_weights_are_multiples_of_a_step_per_channel(package, digits, scheme, largest):
    model, x, y, _, _ = digits
    found = package.finetune(model, loader_of(x[:128], y[:128]), F.cross_entropy, scheme=scheme, epochs=1)
    layers = [layer for layer in found.model.modules() if isinstance(layer, (nn.Conv2d, nn.Linear))]
    assert len(layers) == 6
    for layer in layers:
        steps = integers_of(layer.weight.detach(), largest)
        assert torch.allclose(steps, steps.round(), atol=1e-3)
        assert steps.unique().numel() > 2


def test_pruned_weights_stay_zero_and_save_multiplications(package, digits):
    class Wide(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Conv2d(16, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1)

        def forward(self, x):
            return self.last(torch.relu(self.first(x)))

    torch.manual_seed(0)
    model, x = Wide().eval(), torch.randn(32, 16, 24, 24)
    loader = [(x[k : k + 8], x[k : k + 8].repeat(1, 4, 1, 1)) for k in range(0, 32, 8)]
    found = package.finetune(model, loader, F.mse_loss, prune="2:4", epochs=2)
    for weight in (found.model.first.weight, found.model.last.weight):
        assert ((weight.reshape(64, -1, 4, 3, 3) != 0).sum(2) <= 2).all()
    dense, sparse = (compiled(package, each, x, "int8+unequalized").cycles for each in (model, found.model))
    assert sparse <= 0.6 * dense


def test_steps_with_the_npu_see_its_integers(package, digits):
    model, x, y, _, _ = digits
    seen = []

    def loss(output, labels):
        seen.append(output.detach().clone())
        return F.cross_entropy(output, labels)

    loader = [(x[:16], y[:16])]
    samples = [(image[None],) for image in x[:16]]
    found = package.finetune(model, loader, loss, scheme="int8", epochs=2, lr=0.0, npu_steps=1, calibration=samples)
    program = package.compile(found.model, (x[:1],), target=TARGET, quantize=found.scheme, calibration=samples)
    assert np.array_equal(seen[1].numpy(), np.asarray(program.run(x[:16])[0]))
    assert not torch.equal(seen[0], seen[1])


class Decisions(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).argmax(1)


def test_mistakes_are_named(package, digits):
    model, x, y, _, _ = digits
    with pytest.raises(package.UsageError, match="unknown scheme"):
        package.finetune(model, [(x, y)], F.cross_entropy, scheme="int4")
    with pytest.raises(package.UsageError, match="unknown prune"):
        package.finetune(model, [(x, y)], F.cross_entropy, prune="1:4")
    with pytest.raises(package.InputError, match="no batches"):
        package.finetune(model, [], F.cross_entropy)
    with pytest.raises(package.InputError, match="not a tuple of tensors"):
        package.finetune(model, [x], F.cross_entropy)
    with pytest.raises(package.InputError, match="no layer with weights"):
        package.finetune(nn.Softmax(1), [(x, y)], F.cross_entropy)
    with pytest.raises(package.InputError, match="no output in floats"):
        package.finetune(Decisions(model), [(x[:8],)])


def test_torchao_trains_with_carinas_annotations(package, digits):
    from carina.arm import EthosUCompileSpec, EthosUQuantizer, get_symmetric_a8w4_quantization_config
    from torchao.quantization.pt2e import allow_exported_model_train_eval
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

    model, x, y, test, truth = digits
    quantizer = EthosUQuantizer(EthosUCompileSpec(TARGET))
    quantizer.set_global(get_symmetric_a8w4_quantization_config(is_qat=True))
    prepared = prepare_qat_pt2e(torch.export.export(model, (x[:64],)).module(check_guards=False), quantizer)
    allow_exported_model_train_eval(prepared)
    optimizer = torch.optim.AdamW(prepared.parameters(), lr=2e-3)
    torch.manual_seed(0)
    for epoch in range(8):
        prepared.train(epoch < 4)  # then batch norms keep their statistics
        for images, labels in loader_of(x, y):
            optimizer.zero_grad()
            F.cross_entropy(prepared(images), labels).backward()
            optimizer.step()
    prepared.eval()
    quantized = torch.export.export(convert_pt2e(prepared), (x[:1],))
    program = package.compile(quantized, target=TARGET)
    with torch.no_grad():
        floats = 100 * float((model(test).argmax(1).numpy() == truth).mean())
    assert percent_right(program, test, truth) >= floats - 1.5
