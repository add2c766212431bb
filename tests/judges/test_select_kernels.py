"""Tables of a few kernels: what is asked for is in them, what does not exist is refused by name, and so is a program that an image cannot run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]


def select(output, *arguments):
    command = [sys.executable, ROOT / "scripts" / "select_kernels.py", *arguments, "-o", output]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program that adds and takes the sigmoid."""
    from executorch.exir import to_edge

    class Model(torch.nn.Module):
        def forward(self, x, y):
            return torch.sigmoid(x + y)

    exported = torch.export.export(Model(), (torch.ones(2, 3), torch.ones(3)))
    path = tmp_path_factory.mktemp("program") / "model.pte"
    path.write_bytes(to_edge(exported).to_executorch().buffer)
    return path


def test_a_table_of_a_model_s_kernels(program, tmp_path):
    done = select(tmp_path / "table.cpp", "--ops-from", program, "--ops", "aten::relu.out")
    assert done.returncode == 0, done.stderr
    rows = [line.strip() for line in (tmp_path / "table.cpp").read_text().splitlines() if line.strip().startswith('{"')]
    assert rows == ['{"aten::add.out", add},', '{"aten::relu.out", relu},', '{"aten::sigmoid.out", sigmoid},']


def test_a_kernel_that_does_not_exist_is_named(tmp_path):
    done = select(tmp_path / "table.cpp", "--ops", "aten::add.out,aten::no_such.out")
    assert done.returncode != 0 and "aten::no_such.out" in done.stderr and not (tmp_path / "table.cpp").exists()


def test_what_is_no_program_is_refused(tmp_path):
    (tmp_path / "bad.pte").write_bytes(b"not a program")
    done = select(tmp_path / "table.cpp", "--ops-from", tmp_path / "bad.pte")
    assert done.returncode != 0 and "bad.pte" in done.stderr


def test_an_image_without_a_kernel_is_refused_before_anything_runs(program, run_carina, tmp_path):
    carina = Path(os.environ.get("CARINA_BIN", ROOT / "build" / "release" / "bin" / "carina"))
    whole = carina.parent.parent / "share" / "carina" / "firmware" / "corstone300-host.elf"
    assert whole.exists(), f"{whole} is missing: run `make build`"
    run_carina(["firmware", program, "--image", whole, "-o", tmp_path / "app.elf"])
    image = tmp_path / "few.elf"
    image.write_bytes(whole.read_bytes().replace(b"aten::sigmoid.out\0", b"aten::removed.out\0"))
    done = run_carina(["firmware", program, "--image", image, "-o", tmp_path / "few_app.elf"], expect=1)
    assert "no kernel aten::sigmoid.out" in done.stderr and "aten::add.out" not in done.stderr
