"""Inputs of `carina run`: many samples, images, text, raw bytes. The references are torch, and Pillow for images."""

import re

import numpy as np
import pytest
import torch
from conftest import ROOT
from PIL import Image
from torch import nn

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Halves(nn.Module):
    """One result with the batch axis, and one without."""

    def forward(self, x, y):
        return x + y, (x * y).sum()


def program(folder, module, *inputs):
    from executorch.exir import EdgeCompileConfig, to_edge

    edge = to_edge(
        torch.export.export(module.eval(), inputs), compile_config=EdgeCompileConfig(_check_ir_validity=False)
    )
    (folder / "model.pte").write_bytes(edge.to_executorch().buffer)
    return folder / "model.pte"


def outputs(run_carina, folder, path, *args):
    report = run_carina(["run", path, "-o", folder / "out", "--json", *args]).json
    return report, [np.load(tensor["file"]) for tensor in report["outputs"]]


def normal(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


@pytest.mark.parametrize("join", ["first axis", "new axis"])
def test_samples_of_a_file_are_run_and_their_outputs_joined(run_carina, tmp_path, join):
    path = program(tmp_path, Halves(), normal(2, 3), normal(2, 3))
    xs, y = normal(5, 2, 3), normal(2, 3)
    np.save(tmp_path / "x.npy", xs if join == "new axis" else xs.reshape(10, 3))
    np.save(tmp_path / "y.npy", y)
    report, (added, summed) = outputs(run_carina, tmp_path, path, "-i", tmp_path / "x.npy", "-i", tmp_path / "y.npy")
    wanted = xs + y
    assert report["samples"] == 5
    np.testing.assert_allclose(added, wanted if join == "new axis" else wanted.reshape(10, 3), rtol=1e-6)
    np.testing.assert_allclose(summed, (xs * y).sum((1, 2)), rtol=1e-5)


def test_samples_of_an_archive_and_counts_that_differ(run_carina, tmp_path):
    path = program(tmp_path, Halves(), normal(2, 3), normal(2, 3))
    xs, ys = normal(4, 2, 3), normal(4, 2, 3)
    np.savez(tmp_path / "xy.npz", input_0=xs, input_1=ys)
    _, (added, _) = outputs(run_carina, tmp_path, path, "-i", tmp_path / "xy.npz")
    np.testing.assert_allclose(added, xs + ys, rtol=1e-6)
    np.savez(tmp_path / "xy.npz", input_0=xs, input_1=ys[:3])
    failed = run_carina(["run", path, "-i", tmp_path / "xy.npz"], expect=1)
    assert "different numbers of samples: expected 1 or 4 (input_0), got 3 (input_1)" in failed.stderr


def test_one_sample_keeps_its_shape(run_carina, tmp_path):
    path = program(tmp_path, nn.ReLU(), normal(2, 3))
    np.save(tmp_path / "x.npy", normal(2, 3))
    report, (result,) = outputs(run_carina, tmp_path, path, "-i", tmp_path / "x.npy")
    assert (report["samples"], result.shape) == (1, (2, 3))


def test_numbers_and_csv(run_carina, tmp_path):
    path = program(tmp_path, Halves(), normal(2, 3), normal(2, 3))
    rows = normal(4, 6).numpy()
    np.savetxt(tmp_path / "x.csv", rows, delimiter=",", header="a,b,c,d,e,f", comments="")
    report, (added, _) = outputs(run_carina, tmp_path, path, "-i", tmp_path / "x.csv", "-i", "input_1=0.5")
    assert report["samples"] == 4
    np.testing.assert_allclose(added.reshape(4, 6), rows + np.float32(0.5), rtol=1e-6)
    np.savetxt(tmp_path / "one.csv", rows[:1].reshape(2, 3), delimiter=";")
    _, (added, _) = outputs(run_carina, tmp_path, path, "-i", tmp_path / "one.csv", "-i", "1,2,3,4,5,6")
    np.testing.assert_allclose(
        added, rows[0].reshape(2, 3) + np.arange(1, 7, dtype=np.float32).reshape(2, 3), rtol=1e-6
    )
    assert "expected 6 for fp32 [2,3], got 2" in run_carina(["run", path, "-i", "1,2", "-i", "1"], expect=1).stderr
    (tmp_path / "bad.csv").write_text("1,2,3,4,5,6\n1,2,x,4,5,6\n")
    assert (
        "bad.csv:2: not a number" in run_carina(["run", path, "-i", tmp_path / "bad.csv", "-i", "1"], expect=1).stderr
    )


def test_raw_bytes(run_carina, tmp_path):
    path = program(tmp_path, nn.ReLU(), torch.zeros(1, 4, dtype=torch.int32))
    values = np.arange(-6, 6, dtype=np.int32)
    values.tofile(tmp_path / "x.bin")
    _, (result,) = outputs(run_carina, tmp_path, path, "-i", tmp_path / "x.bin")
    np.testing.assert_array_equal(result, values.clip(0).reshape(3, 4))
    values[:5].tofile(tmp_path / "x.bin")
    assert "expected 16 bytes" in run_carina(["run", path, "-i", tmp_path / "x.bin"], expect=1).stderr


def images(folder, kind, count=3, mode="RGB"):
    folder.mkdir()
    pixels = np.random.default_rng(3).integers(0, 256, (count, 9, 7, 3), dtype=np.uint8)
    for i, image in enumerate(pixels):
        Image.fromarray(image).convert(mode).save(folder / f"{i}.{kind}", **({"quality": 90} if kind == "jpg" else {}))
    return [np.asarray(Image.open(folder / f"{i}.{kind}")) for i in range(count)]


@pytest.mark.parametrize("kind", ["png", "jpg"])
def test_a_folder_of_pictures_is_as_torchvision_has_it(run_carina, tmp_path, kind):
    path = program(tmp_path, nn.Hardtanh(-100, 100), normal(1, 3, 9, 7))
    loaded = np.stack(images(tmp_path / "photos", kind)).astype(np.float32) / 255
    wanted = ((loaded - np.float32(MEAN)) / np.float32(STD)).transpose(0, 3, 1, 2)
    options = ["--mean", ",".join(map(str, MEAN)), "--std", ",".join(map(str, STD))]
    report, (result,) = outputs(run_carina, tmp_path, path, "-i", tmp_path / "photos", *options)
    assert report["samples"] == 3
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)
    _, (result,) = outputs(run_carina, tmp_path, path, "-i", tmp_path / "photos" / f"1.{kind}")
    np.testing.assert_allclose(result, loaded[1:2].transpose(0, 3, 1, 2), rtol=1e-6)


def test_pictures_with_the_channels_last_grey_ones_and_integers(run_carina, tmp_path):
    path = program(tmp_path, nn.Hardtanh(-100, 100), normal(1, 9, 7, 3))
    loaded = images(tmp_path / "color", "png")
    _, (result,) = outputs(run_carina, tmp_path, path, "-i", tmp_path / "color" / "0.png")
    np.testing.assert_allclose(result[0], loaded[0].astype(np.float32) / 255, rtol=1e-6)

    path = program(tmp_path, nn.Hardtanh(-100, 100), normal(1, 1, 9, 7))
    gray = images(tmp_path / "gray", "png", 1, "L")[0]
    _, (result,) = outputs(run_carina, tmp_path, path, "-i", tmp_path / "gray" / "0.png")
    np.testing.assert_allclose(result[0, 0], gray.astype(np.float32) / 255, rtol=1e-6)

    path = program(tmp_path, nn.Identity(), torch.zeros(1, 1, 9, 7, dtype=torch.int8))
    failed = run_carina(["run", path, "-i", tmp_path / "gray" / "0.png"], expect=1)
    assert "the program does not contain their scale" in failed.stderr


def test_pictures_that_do_not_fit(run_carina, tmp_path):
    path = program(tmp_path, nn.ReLU(), normal(1, 3, 8, 7))
    images(tmp_path / "photos", "png", 1)
    file = tmp_path / "photos" / "0.png"
    assert "expected 7 x 8, got 7 x 9" in run_carina(["run", path, "-i", file], expect=1).stderr
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert "the PNG cannot be decoded" in run_carina(["run", path, "-i", file], expect=1).stderr
    path = program(tmp_path, nn.ReLU(), normal(1, 3, 9, 7))
    run_carina(["run", path, "-i", file], expect=1)
    file.write_bytes(whole)
    assert "the number of values differs" in run_carina(["run", path, "-i", file, "--mean", "1,2"], expect=2).stderr


# --- memory of given sizes -------------------------------------------------------------------------------------------


def test_pools_of_a_given_size(run_carina, tmp_path):
    """As on a device: the log shows use and size of each pool. If memory is missing, the message names the pool and the missing bytes, and with
    so much more memory the run succeeds."""
    program = tmp_path / "model.pte"
    run_carina(
        [
            "compile",
            ROOT / "models/digits/digits.pt2",
            "-t",
            "ethos-u55-128",
            "--calibrate",
            ROOT / "models/digits/calibration.npz",
            "-o",
            program,
        ]
    )
    said = run_carina(["run", program, "--method-pool", "64K", "--temp-pool", "32K", "-o", tmp_path / "pools"]).stdout
    used = int(re.search(r"method_allocator_used: (\d+) / 65536  free: \d+ \( used: \d+ % \)", said)[1])
    temp = int(re.search(r"temp_allocator: (\d+) / 32768  free", said)[1])
    run_carina(["run", program, "-o", tmp_path / "plain"])
    assert (tmp_path / "pools/output_0.npy").read_bytes() == (tmp_path / "plain/output_0.npy").read_bytes()
    run_carina(["run", program, "--method-pool", used, "--temp-pool", temp])
    for pool, size in (("method", used), ("temp", temp)):
        rejected = run_carina(["run", program, f"--{pool}-pool", size - 64], expect=1).stderr
        lacks = int(re.search(rf"the {pool} pool lacks at least (\d+) bytes", rejected)[1])
        assert 0 < lacks <= 80, rejected
