"""`carina run --debug-buffer` records what each instruction computed. ExecuTorch's Inspector reads the record and compares it with the
exported model."""

import numpy as np
import pytest
import torch
from executorch.devtools import Inspector
from executorch.exir import to_edge
from torch import nn


class Several(nn.Module):
    """Kernels that return one tensor, several tensors, and a list of tensors."""

    def __init__(self):
        super().__init__()
        self.convolution, self.linear = nn.Conv2d(3, 4, 3), nn.Linear(4, 6)

    def forward(self, x):
        a, b = torch.split(self.linear(self.convolution(x).relu().mean((2, 3))), 3, 1)
        values, places = torch.topk(a * b.exp(), 2)
        return values, places, a


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, run_carina):
    """(module, input, Inspector of Carina's run of ExecuTorch's program)."""
    folder = tmp_path_factory.mktemp("recorded")
    torch.manual_seed(3)
    module, x = Several().eval(), torch.randn(1, 3, 8, 8)
    program = to_edge(torch.export.export(module, (x,)), generate_etrecord=True).to_executorch()
    program.save(str(folder / "model.pte"))
    etrecord = program.get_etrecord()
    etrecord.update_representative_inputs([(x,)])
    etrecord.save(str(folder / "record.bin"))
    np.save(folder / "x.npy", x.numpy())
    run_carina(
        [
            "run",
            folder / "model.pte",
            "-i",
            folder / "x.npy",
            "--etdump",
            folder / "run.etdp",
            "--debug-buffer",
            folder / "values.bin",
        ]
    )
    return (
        module,
        x,
        Inspector(
            etdump_path=str(folder / "run.etdp"),
            debug_buffer_path=str(folder / "values.bin"),
            etrecord=str(folder / "record.bin"),
        ),
    )


def data_of(inspector, name):
    (block,) = inspector.event_blocks
    return next(event.debug_data for event in block.events if event.name == f"native_call_{name}")


def test_every_kernel_has_the_value_of_the_model(recorded):
    module, x, inspector = recorded
    with torch.no_grad():
        convolved = module.convolution(x)
        parts = torch.split(module.linear(convolved.relu().mean((2, 3))), 3, 1)
        torch.testing.assert_close(data_of(inspector, "convolution.out"), [convolved])
        torch.testing.assert_close(data_of(inspector, "relu.out"), [convolved.relu()])
        (split,) = data_of(inspector, "split_with_sizes_copy.out")
        torch.testing.assert_close(split, list(parts))
        torch.testing.assert_close(data_of(inspector, "topk.values"), list(module(x)[:2]))
        (block,) = inspector.event_blocks
        torch.testing.assert_close(block.run_output, list(module(x)))


def test_the_inspector_finds_no_gap_to_the_exported_model(recorded):
    gaps = recorded[2].calculate_numeric_gap("MSE")
    assert len(gaps) >= 5 and max(float(gap[0]) for gap in gaps["gap"]) < 1e-10


def test_a_delegate_has_what_it_takes_and_gives(recorded, run_carina, tmp_path):
    module, x, _ = recorded
    torch.export.save(torch.export.export(module.convolution, (x,)), tmp_path / "model.pt2")
    np.save(tmp_path / "x.npy", x.numpy())
    run_carina(
        [
            "compile",
            tmp_path / "model.pt2",
            "--target",
            "ethos-u55-128",
            "-q",
            "int8",
            "--calibrate",
            tmp_path / "x.npy",
            "-o",
            tmp_path / "model.pte",
        ]
    )
    run_carina(
        [
            "run",
            tmp_path / "model.pte",
            "-i",
            tmp_path / "x.npy",
            "-o",
            tmp_path,
            "--etdump",
            tmp_path / "run.etdp",
            "--debug-buffer",
            tmp_path / "values.bin",
        ]
    )
    (block,) = Inspector(
        etdump_path=str(tmp_path / "run.etdp"), debug_buffer_path=str(tmp_path / "values.bin")
    ).event_blocks
    taken, given = next(event.debug_data for event in block.events if event.name == "DELEGATE_CALL")
    assert taken.dtype == given.dtype == torch.int8 and taken.shape == x.shape and len(given.unique()) > 10
    torch.testing.assert_close(block.run_output[0].numpy(), np.load(tmp_path / "output_0.npy"), rtol=0, atol=0)


def test_debug_buffer_rejects_what_it_cannot_record(recorded, run_carina, tmp_path):
    module, x, _ = recorded
    torch.export.save(torch.export.export(module.linear, (torch.ones(1, 4),)), tmp_path / "model.pt2")
    run_carina(["compile", tmp_path / "model.pt2", "--target", "ethos-u55-128", "-o", tmp_path / "model.pte"])
    alone = run_carina(["run", tmp_path / "model.pte", "--debug-buffer", tmp_path / "values.bin"], expect=2)
    assert "--etdump" in alone.stderr
    np.save(tmp_path / "two.npy", np.ones((2, 4), np.float32))
    two = run_carina(
        [
            "run",
            tmp_path / "model.pte",
            "-i",
            tmp_path / "two.npy",
            "--etdump",
            tmp_path / "e",
            "--debug-buffer",
            tmp_path / "v",
        ],
        expect=2,
    )
    assert "one sample" in two.stderr and not (tmp_path / "v").exists()
