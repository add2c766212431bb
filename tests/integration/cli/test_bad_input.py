"""Bad input on the command line gives a clear message, the right exit code and no partial file. Uses the model of the repository."""

import zipfile

import numpy as np
import pytest
import torch
from conftest import ROOT

MODEL = ROOT / "models" / "digits" / "digits.pt2"
CALIBRATION = ROOT / "models" / "digits" / "calibration.npz"


def compile_args(output, model=MODEL, target="ethos-u55-128", *extra):
    return ["compile", model, "--target", target, "--calibrate", CALIBRATION, "-o", output, *extra]


@pytest.fixture(scope="module")
def program(run_carina, tmp_path_factory):
    path = tmp_path_factory.mktemp("digits") / "digits.pte"
    run_carina(compile_args(path))
    return path


def rejected(run_carina, args, code, *words):
    done = run_carina(args, expect=code)
    for word in words:
        assert word in done.stderr, done.stderr
    assert "internal" not in done.stderr
    return done


@pytest.mark.parametrize("keep", [0, 10, 1000, 0.5, 0.99])
def test_truncated_model(run_carina, tmp_path, keep):
    data = MODEL.read_bytes()
    broken = tmp_path / "broken.pt2"
    broken.write_bytes(data[: keep if isinstance(keep, int) else int(len(data) * keep)])
    rejected(run_carina, compile_args(tmp_path / "out.pte", broken), 1, "broken.pt2")
    assert not (tmp_path / "out.pte").exists()


def test_flipped_bits_are_found_or_harmless(run_carina, program, tmp_path):
    data = bytearray(MODEL.read_bytes())
    rng = np.random.default_rng(5)
    rejections = 0
    for i, at in enumerate(rng.integers(0, len(data), 40)):
        flipped = bytearray(data)
        flipped[at] ^= 1 << int(rng.integers(8))
        path = tmp_path / f"flipped_{i}.pt2"
        path.write_bytes(flipped)
        output = tmp_path / f"out_{i}.pte"
        done = run_carina(compile_args(output, path), expect=None)
        if done.code == 0:
            assert output.read_bytes() == program.read_bytes()  # the flipped bit was in data that is not read
        else:
            assert done.code == 1 and path.name in done.stderr, done.stderr
            assert not output.exists()
        rejections += done.code
    assert rejections > 10  # payloads carry checksums


def test_zip_bomb(run_carina, tmp_path):
    bomb = tmp_path / "bomb.pt2"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("m/archive_format", "pt2")
        archive.writestr("m/archive_version", "0")
        archive.writestr("m/byteorder", "little")
        archive.writestr("m/models/model.json", b" " * (1 << 30))
    rejected(run_carina, compile_args(tmp_path / "out.pte", bomb), 1, "bomb.pt2")


def test_missing_model(run_carina, tmp_path):
    rejected(run_carina, compile_args(tmp_path / "out.pte", tmp_path / "nowhere.pt2"), 1, "nowhere.pt2", "No such file")


def test_unknown_target_lists_the_valid_ones(run_carina, tmp_path):
    rejected(
        run_carina, compile_args(tmp_path / "out.pte", MODEL, "ethos-u55-999"), 2, "ethos-u55-999", "ethos-u55-128"
    )


def test_unknown_memory_mode_lists_the_valid_ones(run_carina, tmp_path):
    rejected(
        run_carina,
        compile_args(tmp_path / "out.pte", MODEL, "ethos-u55-128", "--memory-mode", "Flash_Only"),
        2,
        "Flash_Only",
        "Shared_Sram",
    )


def test_unknown_option_is_a_usage_error(run_carina, tmp_path):
    run_carina(["compile", MODEL, "--no-such-option"], expect=2)
    run_carina([], expect=2)


def test_int8_without_calibration_data(run_carina, tmp_path):
    rejected(
        run_carina,
        ["compile", MODEL, "--target", "ethos-u55-128", "--quantize", "int8", "-o", tmp_path / "out.pte"],
        2,
        "--calibrate",
    )


def test_calibration_of_another_shape(run_carina, tmp_path):
    np.savez(tmp_path / "wrong.npz", x=np.zeros((4, 3, 8, 8), np.float32))
    args = [
        "compile",
        MODEL,
        "--target",
        "ethos-u55-128",
        "--calibrate",
        tmp_path / "wrong.npz",
        "-o",
        tmp_path / "out.pte",
    ]
    rejected(run_carina, args, 1, "wrong.npz", "[1,1,8,8]", "[4,3,8,8]")


def test_unwritable_output(run_carina, tmp_path):
    rejected(run_carina, compile_args(tmp_path / "no_folder" / "out.pte"), 1, "no_folder")


def test_a_failed_run_keeps_the_previous_output(run_carina, tmp_path):
    output = tmp_path / "out.pte"
    output.write_bytes(b"previous")
    rejected(run_carina, compile_args(output, tmp_path / "nowhere.pt2"), 1)
    assert output.read_bytes() == b"previous"
    assert [p.name for p in tmp_path.iterdir()] == ["out.pte"]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ([], None),
        ([np.zeros((1, 1, 8, 8), np.float32)] * 2, ("number of inputs", "expected 1")),
        ([np.zeros((1, 1, 9, 8), np.float32)], ("[1,1,8,8]", "[1,1,9,8]")),
        ([np.zeros((1, 1, 8, 8), np.float64)], ("fp32", "fp64")),
    ],
)
def test_inputs_of_a_run(run_carina, program, tmp_path, arrays, words):
    args = ["run", program]
    for i, array in enumerate(arrays):
        np.save(tmp_path / f"{i}.npy", array)
        args += ["-i", tmp_path / f"{i}.npy"]
    if words is None:
        run_carina(args)  # inputs of ones, as in ExecuTorch's runner
    else:
        rejected(run_carina, args, 1, *words)


@pytest.mark.parametrize("command", ["run", "inspect", "disasm"])
def test_damaged_programs_never_crash(run_carina, program, tmp_path, command):
    data = program.read_bytes()
    rng = np.random.default_rng(11)
    for i in range(12):
        broken = bytearray(data[: len(data) if i % 3 else int(rng.integers(0, len(data)))])
        for at in rng.integers(0, max(len(broken), 1), 3):
            if broken:
                broken[at] ^= 1 << int(rng.integers(8))
        path = tmp_path / f"broken_{i}.pte"
        path.write_bytes(broken)
        done = run_carina([command, path], expect=1 if i % 3 == 0 else None)  # truncated files are always detected
        assert (done.code, bool(done.stdout), path.name in done.stderr) in ((0, True, False), (1, False, True)), done


def test_a_network_that_does_not_fit_says_by_how_much(run_carina, tmp_path):
    done = run_carina(compile_args(tmp_path / "out.pte", MODEL, "ethos-u55-128", "--arena-budget", "64"), expect=1)
    assert "arena" in done.stderr
    assert "64" in done.stderr


class Unsupported(torch.nn.Module):
    def forward(self, x):
        return torch.special.bessel_j0(torch.relu(x)) + torch.linalg.det(x).view(-1, 1, 1)


def test_what_has_neither_lowering_nor_kernel_is_named_at_once(run_carina, tmp_path):
    program = torch.export.export(Unsupported().eval(), (torch.rand(2, 3, 3),))
    torch.export.save(program, tmp_path / "model.pt2")
    args = ["compile", tmp_path / "model.pt2", "--target", "ethos-u55-128", "-o", tmp_path / "out.pte"]
    rejected(run_carina, args, 1, "aten.special_bessel_j0.default", "aten.linalg_det.default")
    assert not (tmp_path / "out.pte").exists()
