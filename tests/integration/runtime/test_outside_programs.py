"""Programs of other tools: ExecuTorch's Cortex-M quantize kernels, external tensors (.ptd), old Ethos-U delegates, numbers as inputs, wrong
files.

The official package makes them here. The references are its Python implementations, eager torch and its runtime.
"""

import struct

import numpy as np
import pytest
import torch
from torch import nn


def to_program(module, inputs, transform=None, **config):
    """The outputs of the edge program's Python implementations, and the program."""
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge

    edge = to_edge(
        torch.export.export(module.eval(), inputs), compile_config=EdgeCompileConfig(_check_ir_validity=False)
    )
    if transform is not None:
        edge = edge.transform([transform])
    outputs = edge.exported_program().module()(*inputs)
    return outputs, edge.to_executorch(ExecutorchBackendConfig(**config))


def run_arrays(run_carina, folder, program, arrays, *extra):
    args = ["run", program, "-o", folder / "out", *extra]
    for i, array in enumerate(arrays):
        np.save(folder / f"in_{i}.npy", np.asarray(array))
        args += ["-i", folder / f"in_{i}.npy"]
    run_carina(args)
    return np.load(folder / "out" / "output_0.npy")


class Requantized(nn.Module):
    """Quantizes its input. With `both`, it also dequantizes."""

    def __init__(self, scale, zero_point, dtype, both):
        super().__init__()
        limits = torch.iinfo(dtype)
        self.arguments = (scale, zero_point, limits.min, limits.max, dtype)
        self.both = both

    def forward(self, x):
        y = torch.ops.quantized_decomposed.quantize_per_tensor.default(x, *self.arguments)
        return torch.ops.quantized_decomposed.dequantize_per_tensor.default(y, *self.arguments) if self.both else y


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16])
@pytest.mark.parametrize("both", [False, True], ids=["quantize", "both"])
def test_cortex_m_kernels_give_their_python_implementations_values(run_carina, tmp_path, dtype, both):
    from executorch.backends.cortex_m.passes.replace_quant_nodes_pass import ReplaceQuantNodesPass

    generator = torch.Generator().manual_seed(3)
    for scale, zero_point in ((0.0235294122248888, -11), (0.5, 0), (0.0007843137136660516, 3)):
        x = torch.cat([torch.randn(2000, generator=generator) * 40 * scale, torch.arange(-200, 200) * (scale / 2)])[
            None
        ]
        x = torch.cat([x, torch.tensor([[1e30, -1e30, 0.0, -0.0]])], 1)
        wanted, program = to_program(Requantized(scale, zero_point, dtype, both), (x,), ReplaceQuantNodesPass())
        assert b"cortex_m::quantize_per_tensor" in program.buffer
        (tmp_path / "model.pte").write_bytes(program.buffer)
        np.testing.assert_array_equal(run_arrays(run_carina, tmp_path, tmp_path / "model.pte", [x]), wanted.numpy())


@pytest.fixture(scope="module")
def external(tmp_path_factory):
    """A program with its weights in a .ptd, its input and its output."""
    torch.manual_seed(5)
    folder = tmp_path_factory.mktemp("external")
    module, x = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)), torch.randn(2, 6)
    _, program = to_program(module, (x,), external_constants=True)
    program.write_tensor_data_to_file(str(folder))
    (data,) = folder.glob("*.ptd")
    (folder / "alone").mkdir()
    (folder / "alone" / "model.pte").write_bytes(program.buffer)
    return folder / "alone" / "model.pte", data, x, module(x).detach().numpy()


def test_external_tensors_are_taken_from_a_ptd(run_carina, external, tmp_path):
    program, data, x, wanted = external
    np.testing.assert_allclose(
        run_arrays(run_carina, tmp_path, program, [x], "--data", data), wanted, rtol=1e-6, atol=1e-7
    )


def test_external_tensors_are_found_beside_the_program(run_carina, external, tmp_path):
    program, data, x, wanted = external
    for name in ("model.ptd", "_default_external_constant.ptd"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.pte").write_bytes(program.read_bytes())
        (folder / name).write_bytes(data.read_bytes())
        np.testing.assert_allclose(
            run_arrays(run_carina, folder, folder / "model.pte", [x]), wanted, rtol=1e-6, atol=1e-7
        )
        assert name in run_carina(["run", folder / "model.pte"]).stderr


def test_missing_external_tensors_are_named(run_carina, external, tmp_path):
    program, data, _, _ = external
    message = run_carina(["run", program], expect=1).stderr
    assert (
        "4 tensors of the program are in another file: 0.bias, 0.weight, 2.bias, 2.weight" in message
        and "--data" in message
    )
    (tmp_path / "wrong.ptd").write_bytes(data.read_bytes().replace(b"0.weight", b"0.WEIGHT"))
    assert (
        "1 tensor of the program is in another file"
        in run_carina(["run", program, "--data", tmp_path / "wrong.ptd"], expect=1).stderr
    )
    (tmp_path / "cut.ptd").write_bytes(data.read_bytes()[:100])
    assert (
        "cut.ptd: not a file of external tensors, or damaged"
        in run_carina(["run", program, "--data", tmp_path / "cut.ptd"], expect=1).stderr
    )


def old_blob(blob):
    """A blob in the format of ExecuTorch before 0.4: scratch_data with the scratch's size, shapes of four axes followed by zeros."""

    def block(name, data):
        return (
            name.encode().ljust(16, b"\0")
            + struct.pack("<I", len(data)).ljust(16, b"\0")
            + data.ljust(-(-len(data) // 16) * 16, b"\0")
        )

    out, at = b"", 0
    while at < len(blob):
        name, size = blob[at : at + 16].rstrip(b"\0").decode(), struct.unpack_from("<I", blob, at + 16)[0]
        data = blob[at + 32 : at + 32 + size]
        if name == "scratch_size":
            name, data = "scratch_data", bytes(struct.unpack("<I", data)[0])
        elif name in ("inputs", "outputs"):
            rows = np.frombuffer(data[4:], "<i4").reshape(-1, 9)
            shapes = [[d for d in row[:6] if d != 1] or [1] for row in rows]
            data = data[:4] + b"".join(
                struct.pack("<7i", *(s + [0] * (4 - len(s))), *row[6:]) for s, row in zip(shapes, rows)
            )
        out, at = out + block(name, data), at + 32 + -(-size // 16) * 16
    return out


@pytest.fixture(scope="module")
def compiled(run_carina, tmp_path_factory):
    """(program, input, dump) of two small networks on an Ethos-U55."""
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        folder = tmp_path_factory.mktemp("compiled")
        torch.export.save(
            torch.export.export(
                nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).eval(), (torch.randn(1, 8),)
            ),
            folder / "m.pt2",
        )
        np.savez(
            folder / "data.npz",
            x=np.random.default_rng(seed).normal(size=(32, 8)).astype(np.float32),
            y=np.arange(32) % 4,
        )
        args = [
            "compile",
            folder / "m.pt2",
            "--target",
            "ethos-u55-128",
            "--quantize",
            "int8",
            "--calibrate",
            folder / "data.npz",
        ]
        run_carina([*args, "--dump", folder / "dump", "-o", folder / "m.pte"])
        found.append(folder)
    return found


def test_the_old_delegate_id_and_blob_run(run_carina, compiled, tmp_path):
    from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary

    source = compiled[0] / "m.pte"
    file = deserialize_pte_binary(source.read_bytes())
    delegate = file.program.execution_plan[0].delegates[0]
    data = file.program.backend_delegate_data[delegate.processed.index]
    delegate.id, data.data = "ArmBackend", old_blob(bytes(data.data))
    (tmp_path / "old.pte").write_bytes(bytes(serialize_pte_binary(file)))
    x = np.linspace(-2, 2, 8, dtype=np.float32)[None]
    new = run_arrays(run_carina, tmp_path, source, [x])
    np.testing.assert_array_equal(run_arrays(run_carina, tmp_path, tmp_path / "old.pte", [x]), new)
    assert "cycles" in run_carina(["run", tmp_path / "old.pte", "--timed"]).stdout


def test_accuracy_rejects_the_dump_of_another_program(run_carina, compiled):
    one, other = compiled
    args = ["accuracy", one / "m.pt2", one / "m.pte", "--data", one / "data.npz", "--dump"]
    assert run_carina([*args, one / "dump", "--json"]).json["npu_equals_integer"] == 32
    message = run_carina([*args, other / "dump"], expect=1).stderr
    assert "the dump is not of this program" in message and str(other / "dump") in message


class Scaled(nn.Module):
    def forward(self, x, times, plus, flag):
        return x * times + plus


def test_numbers_are_inputs(run_carina, tmp_path):
    from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    x = torch.arange(4.0)[None]
    _, program = to_program(Scaled(), (x, 3, 0.5, True))
    (tmp_path / "model.pte").write_bytes(program.buffer)
    np.save(tmp_path / "x.npy", x.numpy())
    given = ["run", tmp_path / "model.pte", "-o", tmp_path / "out", "-i", tmp_path / "x.npy", "-i"]
    run_carina([*given, "3", "-i", "0.5", "-i", "true"])
    (wanted,) = _load_for_executorch_from_buffer(program.buffer).run_method("forward", (x, 3, 0.5, True))
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "output_0.npy"), wanted.numpy())
    run_carina(["run", tmp_path / "model.pte"])  # without inputs, the program uses its own numbers
    with pytest.raises(RuntimeError, match="0x12"):  # the official runtime also rejects any other number
        _load_for_executorch_from_buffer(program.buffer).run_method("forward", (x, 4, 0.5, True))
    message = run_carina([*given, "4", "-i", "0.5", "-i", "true"], expect=1).stderr
    assert (
        "input_1: the program was exported for another value of this number" in message
        and "expected 3, got 4" in message
    )
    assert "not a tensor" in run_carina([*given, "3", "-i", "half", "-i", "true"], expect=1).stderr


def test_embedding_takes_no_index_from_the_end(run_carina, tmp_path):
    _, program = to_program(nn.Embedding(10, 4), (torch.tensor([1, 2]),))
    (tmp_path / "model.pte").write_bytes(program.buffer)
    for index, code in ((9, 0), (-1, 1), (10, 1)):
        np.save(tmp_path / "i.npy", np.array([0, index]))
        run_carina(["run", tmp_path / "model.pte", "-i", tmp_path / "i.npy"], expect=code)


def test_wrong_files_are_named_as_what_they_are(run_carina, external, tmp_path):
    program, data, _, _ = external
    content = bytearray(program.read_bytes())

    def message(name, identifier, file=content):
        (tmp_path / name).write_bytes(bytes(file[:4]) + identifier + bytes(file[8:]))
        return run_carina(["run", tmp_path / name], expect=1).stderr

    assert "bundled program" in message("model.bpte", b"BP08")
    assert "external tensors (.ptd)" in message("x.ptd", b"FT01", data.read_bytes())
    assert "another version" in message("old.pte", b"ET09")
    assert "--data" in run_carina(["run", data], expect=1).stderr


def test_a_missing_backend_has_a_next_step(run_carina, compiled, tmp_path):
    renamed = (compiled[0] / "m.pte").read_bytes().replace(b"EthosUBackend", b"OtherBackend!")
    (tmp_path / "other.pte").write_bytes(renamed)
    message = run_carina(["run", tmp_path / "other.pte"], expect=1).stderr
    assert "backend missing (OtherBackend!)" in message and "delegates of EthosUBackend" in message


def test_absurd_memory_is_rejected_with_its_size(run_carina, tmp_path):
    from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary

    _, program = to_program(nn.ReLU(), (torch.ones(4),))
    file = deserialize_pte_binary(program.buffer)
    file.program.execution_plan[0].non_const_buffer_sizes[1] = 327_000_000_000
    (tmp_path / "huge.pte").write_bytes(bytes(serialize_pte_binary(file)))
    message = run_carina(["run", tmp_path / "huge.pte"], expect=1).stderr
    assert "327000000000 bytes" in message and "at most" in message
