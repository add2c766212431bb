"""VGF files of other programs: one of the previous version, and one with a compute shader beside its graph, written by Arm's VGF library."""

import io

import numpy as np
import pytest
import vgfpy
from test_vgf import convert
from vgf_graphs import Container, canonical

R8_SINT, TENSOR = 14, 1000460000
SHADER = "#version 450\nvoid main() {}"
MINOR = 9  # offset of the minor version


@pytest.fixture
def digits(run_carina, tmp_path):
    """model-converter's file, of the digits model."""
    run_carina(
        [
            "tosa",
            "models/digits/digits.pt2",
            "--calibrate",
            "models/digits/calibration.npz",
            "-o",
            tmp_path / "digits.tosa",
        ]
    )
    return convert(tmp_path / "digits.tosa", tmp_path / "digits.vgf")


def interpreted(run_carina, file, folder):
    np.save(folder / "x.npy", np.arange(-32, 32, dtype=np.int8).reshape(1, 1, 8, 8))
    run_carina(["interpret", file, "-i", folder / "x.npy", "-o", folder / file.stem])
    return (folder / file.stem / "output_0.npy").read_bytes()


def test_version_0_4(digits, run_carina, tmp_path):
    """Version 0.5 added a separate table for a segment's constants. Version 0.4 has only the older list, which 0.5 keeps."""
    old = bytearray(digits.read_bytes())
    assert old[MINOR] == 5
    old[MINOR] = 4
    (tmp_path / "old.vgf").write_bytes(old)
    assert Container(bytes(old)).header.GetMinor() == 4
    assert "vgf version=0.4.0" in run_carina(["inspect", tmp_path / "old.vgf"]).stdout
    assert interpreted(run_carina, tmp_path / "old.vgf", tmp_path) == interpreted(run_carina, digits, tmp_path)


def with_shader(entry_point, code):
    """A file with a graph segment that contains this module, and a GLSL shader that reads its output."""
    encoder = vgfpy.CreateEncoder(0)
    graph = encoder.AddModule(vgfpy.ModuleType.Graph, "graph_partition_0", entry_point, code)
    shader = encoder.AddModule(vgfpy.ModuleType.Compute, "sharpen", "sharpen_main", vgfpy.ShaderType.Glsl, SHADER)
    shape = ([1, 4], [4, 1])
    slots = [
        encoder.AddBindingSlot(0, encoder.AddInputResource(TENSOR, R8_SINT, *shape)),
        encoder.AddBindingSlot(1, encoder.AddIntermediateResource(TENSOR, R8_SINT, *shape)),
        encoder.AddBindingSlot(2, encoder.AddOutputResource(TENSOR, R8_SINT, *shape)),
    ]
    for module, name, (reads, makes) in (
        (graph, "graph_segment_0", slots[:2]),
        (shader, "compute_segment_0", slots[1:]),
    ):
        described = encoder.AddDescriptorSetInfo([reads, makes])
        encoder.AddSegmentInfo(module, name, [described], [reads], [makes], constants=[], dispatchShape=[1, 1, 1])
    encoder.AddModelSequenceInputsOutputs(slots[:1], ["x"], slots[2:], ["y"])
    encoder.Finish()
    out = io.BytesIO()
    assert encoder.WriteTo(out)
    return out.getvalue()


def test_compute_shaders_are_shown_and_rejected_by_name(digits, run_carina, tmp_path):
    container = canonical(digits.read_bytes()).container
    file = tmp_path / "shader.vgf"
    file.write_bytes(with_shader(container.modules.getModuleEntryPoint(0), list(container.words())))
    shown = run_carina(["inspect", file]).stdout
    assert "segment name=compute_segment_0 type=compute module=1" in shown and "entry_point=sharpen_main" in shown
    disassembled = run_carina(["disasm", file]).stdout
    assert "void main() {}" in disassembled and "OpGraphEntryPointARM" in disassembled
    for command in (
        ["tosa", file, "-o", tmp_path / "out.tosa"],
        ["interpret", file],
        ["compile", file, "--target", "vgf", "-o", tmp_path / "m.pte"],
    ):
        rejected = run_carina(command, expect=1).stderr
        assert "compute_segment_0" in rejected and "sharpen_main" in rejected
    assert not (tmp_path / "out.tosa").exists() and not (tmp_path / "m.pte").exists()
