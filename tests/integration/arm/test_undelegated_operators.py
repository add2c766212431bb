"""Programs without delegates call the same operators as ExecuTorch's own program, or fewer. References: ExecuTorch's exporter, its runtime
(for the numbers), eager PyTorch."""

# ruff: noqa: F811  fixtures of another file
import numpy as np
import pytest
import torch
from executorch.exir import EdgeCompileConfig, to_edge
from test_arm_scripts import executorch_operators, ours, package  # noqa: F401
from undelegated_models import undelegated_models

MODELS = undelegated_models()
# Kernels that Carina's program calls more often than ExecuTorch's program, with the reason.
OTHER = {"network": "a pool over the whole image is one kernel here (_adaptive_avg_pool2d.out), mean.out there"}


def programs(ours, name, folder):
    module, inputs = MODELS[name]
    exported = torch.export.export(module, inputs)
    own, theirs = folder / "own.pte", folder / "theirs.pte"
    program = ours("carina").compile(exported, target="ethos-u55-128", no_delegate=True)
    program.save(own)
    theirs.write_bytes(
        to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False)).to_executorch().buffer
    )
    return program, set(executorch_operators(own)), set(executorch_operators(theirs))


@pytest.mark.parametrize("name", sorted(MODELS))
def test_operators_are_those_of_executorch_or_fewer(ours, tmp_path, name):
    program, own, theirs = programs(ours, name, tmp_path)
    if name not in OTHER:
        assert own <= theirs or len(own) < len(theirs), f"own: {sorted(own - theirs)}, theirs: {sorted(theirs - own)}"
    module, inputs = MODELS[name]
    with torch.no_grad():
        eager = module(*inputs)
    for got, wanted in zip(program.run(*inputs), eager if isinstance(eager, tuple) else (eager,), strict=True):
        np.testing.assert_allclose(got, wanted.numpy(), rtol=2e-5, atol=2e-6)


def test_the_tutorial_s_list_of_operators_is_enough(ours, run_carina, tmp_path):
    """aten::_softmax.out is the whole default list of run.sh."""
    program, own, _ = programs(ours, "softmax", tmp_path)
    assert own == {"aten::_softmax.out"}
    done = run_carina(["firmware", tmp_path / "own.pte", "--ops", "aten::_softmax.out", "-o", tmp_path / "a.elf"])
    assert "with 1 kernel" in done.stdout
    assert len(program.run(torch.ones(2, 2))) == 1
