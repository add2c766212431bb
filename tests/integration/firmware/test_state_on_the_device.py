"""Programs that keep state as firmware of an emulated Cortex-M55: the device boots once and passes the state from sample to sample, as
the official ExecuTorch runtime and a run on the host do."""

import numpy as np
import pytest
import torch
from test_state import FORMS, executorch_program, exported, made, official, sequence


@pytest.fixture
def run_steps(run_carina, tmp_path):
    """run_steps(program, steps, option...) -> the outputs, stacked over the steps, and the run's JSON."""

    def run(program, steps, *options):
        np.save(tmp_path / "steps.npy", steps.numpy())
        out = tmp_path / "outputs"
        command = ["run", program, "--sequence", tmp_path / "steps.npy", "-o", out, "--json", *options]
        report = run_carina(command).json
        return [np.load(file) for file in sorted(out.glob("output_*.npy"))], report

    return run


@pytest.mark.parametrize("form", ["plain", "initial"])
def test_the_device_gives_what_the_official_runtime_gives_at_each_step(form, run_steps, tmp_path):
    program = executorch_program("Lstm", tmp_path / "model.pte", **FORMS[form]("Lstm"))
    got, report = run_steps(program, sequence(), "--on", "qemu")
    wanted = official(program, sequence())
    assert len(got) == len(wanted) and report["samples"] == len(sequence())
    for mine, theirs in zip(got, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs.reshape(mine.shape), rtol=1e-5, atol=1e-6)


def test_the_device_boots_once_for_all_samples(run_steps, tmp_path):
    program = executorch_program("Lstm", tmp_path / "model.pte", **FORMS["plain"]("Lstm"))
    _, report = run_steps(program, sequence(), "--on", "qemu")
    console = report["console"]
    assert sum("Program complete" in line for line in console) == 1
    assert f"I [carina] NPU Inferences : {len(sequence())}" in console


def test_state_is_read_and_written_as_on_the_host(run_carina, run_steps, tmp_path):
    program = executorch_program("Lstm", tmp_path / "model.pte", **FORMS["initial"]("Lstm"))
    steps, after = sequence(), tmp_path / "after"
    whole = run_steps(program, steps)[0][0]
    first = run_steps(program, steps[:3], "--on", "qemu", "--state-out", after)[0][0]
    assert sorted(file.name for file in after.iterdir()) == ["c.npy", "inner.h.npy"]
    np.testing.assert_array_equal(np.load(after / "inner.h.npy"), first[-1])
    rest = run_steps(program, steps[3:], "--on", "qemu", "--state-in", after)[0][0]
    np.testing.assert_allclose(np.concatenate([first, rest]), whole, rtol=1e-5, atol=1e-6)
    np.save(after / "c.npy", np.zeros((2, 5), np.float32))
    says = run_carina(["run", program, "--on", "qemu", "--state-in", after], expect=1).stderr
    assert "state c: the tensor does not fit the state: expected fp32 [1,5], got fp32 [2,5]" in says


@pytest.mark.parametrize("name", ["Gru", "Ring"])
@pytest.mark.parametrize("options", [[], ["--reset-every", 3]], ids=["kept", "reset"])
def test_a_delegate_has_the_host_s_bytes_at_each_step(name, options, run_carina, run_steps, tmp_path):
    np.savez(tmp_path / "samples.npz", x=sequence().numpy())
    torch.export.save(exported(made(name)), tmp_path / "model.pt2")
    program = tmp_path / "model.pte"
    command = ["compile", tmp_path / "model.pt2", "--target", "ethos-u55-128", "--calibrate", tmp_path / "samples.npz"]
    run_carina([*command, "-o", program])
    host, _ = run_steps(program, sequence(), "--portable-kernels", *options)
    device, report = run_steps(program, sequence(), "--on", "qemu", *options)
    assert any(line.startswith("I [carina] NPU delegations:") and ": 0 " not in line for line in report["console"])
    for mine, theirs in zip(device, host, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    if options:
        kept, _ = run_steps(program, sequence(), "--portable-kernels")
        assert any((mine != theirs).any() for mine, theirs in zip(device, kept, strict=True))


@pytest.mark.parametrize(("option", "value"), [("--schedule", "steps.json"), ("--generate", 3)])
def test_several_methods_are_not_run_on_the_device(option, value, run_carina, tmp_path):
    program = executorch_program("Gru", tmp_path / "model.pte", **FORMS["plain"]("Gru"))
    (tmp_path / "steps.json").write_text("[]")
    value = tmp_path / value if isinstance(value, str) else value
    says = run_carina(["run", program, "--on", "qemu", option, value], expect=2).stderr
    assert "the firmware runs one method" in says
