"""Tables of selected kernels: they contain the requested kernels. Unknown kernels are rejected by name, and so are programs that an image
cannot run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]


def select(output, *arguments):
    command = [sys.executable, ROOT / "scripts" / "select_kernels.py", *arguments, "-o", output]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program with an addition and a sigmoid."""
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


def test_a_program_that_is_missing_or_damaged_is_named(program, tmp_path):
    done = select(tmp_path / "table.cpp", "--ops-from", tmp_path / "none.pte")
    assert done.returncode != 0 and done.stderr.strip() == f"select_kernels: {tmp_path / 'none.pte'}: no such file"
    whole = program.read_bytes()
    for size in (0, 3, 7, 40, len(whole) // 2):
        (tmp_path / "cut.pte").write_bytes(whole[:size])
        done = select(tmp_path / "table.cpp", "--ops-from", tmp_path / "cut.pte")
        assert "Traceback" not in done.stderr and "usage" not in done.stdout + done.stderr
        assert done.returncode == 0 or "cut.pte: " in done.stderr


LISTS = f"""cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
include("{ROOT}/cmake/CarinaKernels.cmake")
add_library(app OBJECT empty.cpp)
carina_select_kernels(app OPS_FROM models/model.pte)
"""


def test_cmake_reads_the_program_again_when_it_changes(program, tmp_path):
    """The path is relative to the CMakeLists.txt, in the first configuration and in those of later builds, which run in the build folder. The
    flatc in PATH fails."""
    source, build, tools = (tmp_path / name for name in ("source", "build", "tools"))
    (source / "models").mkdir(parents=True)
    tools.mkdir()
    (tools / "flatc").write_text("#!/bin/sh\nexit 1\n")
    (tools / "flatc").chmod(0o755)
    (source / "CMakeLists.txt").write_text(LISTS)
    (source / "empty.cpp").write_text("")
    shutil.copy(program, source / "models" / "model.pte")

    def cmake(*words):
        return subprocess.run(
            ["cmake", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )

    done = cmake("-S", source, "-B", build, "-G", "Ninja")
    assert done.returncode == 0 and "app: 2 of " in done.stdout, done.stdout + done.stderr
    os.utime(source / "models" / "model.pte")
    done = cmake("--build", build, "--target", "help")
    assert done.returncode == 0 and "app: 2 of " in done.stdout, done.stdout + done.stderr
    (source / "models" / "model.pte").unlink()
    done = cmake("-S", source, "-B", build)
    assert done.returncode != 0 and f"{source / 'models' / 'model.pte'}: no such file" in " ".join(
        done.stderr.split()
    ), done.stderr


def test_a_kernel_that_does_not_exist_is_named(tmp_path):
    done = select(tmp_path / "table.cpp", "--ops", "aten::add.out,aten::no_such.out")
    assert done.returncode != 0 and "aten::no_such.out" in done.stderr and not (tmp_path / "table.cpp").exists()


def test_what_is_no_program_is_rejected(tmp_path):
    (tmp_path / "bad.pte").write_bytes(b"not a program")
    done = select(tmp_path / "table.cpp", "--ops-from", tmp_path / "bad.pte")
    assert done.returncode != 0 and "bad.pte" in done.stderr


def test_an_image_without_a_kernel_is_rejected_before_anything_runs(program, run_carina, tmp_path):
    carina = Path(os.environ["CARINA_BIN"])
    whole = carina.parent.parent / "share" / "carina" / "firmware" / "corstone300-host.elf"
    assert whole.exists(), f"{whole} is missing: run `make build`"
    run_carina(["firmware", program, "--image", whole, "-o", tmp_path / "app.elf"])
    image = tmp_path / "few.elf"
    image.write_bytes(whole.read_bytes().replace(b"aten::sigmoid.out\0", b"aten::removed.out\0"))
    done = run_carina(["firmware", program, "--image", image, "-o", tmp_path / "few_app.elf"], expect=1)
    assert "no kernel aten::sigmoid.out" in done.stderr and "aten::add.out" not in done.stderr


@pytest.fixture(scope="module")
def linked(program, run_carina):
    """The program in an image with only its kernels, and the command's output."""
    image = program.with_name("few.elf")
    report = run_carina(
        ["firmware", program, "--ops-from", program, "--image", "corstone300-host", "-o", image, "--json"]
    ).json
    return image, report


def test_an_image_is_linked_with_a_program_s_kernels_only(linked, program, run_carina, tmp_path):
    image, report = linked
    assert report["kernels"] == 2
    run_carina(["firmware", program, "-o", tmp_path / "all.elf"])
    assert image.stat().st_size < 0.4 * (tmp_path / "all.elf").stat().st_size
    content = image.read_bytes()
    assert b"aten::sigmoid.out\0" in content and b"aten::relu.out\0" not in content


def test_image_with_selected_kernels_gives_the_bytes_of_the_host(linked, program, run_carina, tmp_path):
    run_carina(["qemu", linked[0], "-o", tmp_path / "device"])
    run_carina(["run", program, "-o", tmp_path / "host", "--portable-kernels"])
    assert (tmp_path / "device" / "output_0.npy").read_bytes() == (tmp_path / "host" / "output_0.npy").read_bytes()


def test_kernels_that_are_missing_are_named_before_anything_runs(program, run_carina, tmp_path):
    done = run_carina(
        ["firmware", program, "--ops", "aten::add.out,aten::relu.out", "-o", tmp_path / "x.elf"], expect=1
    )
    assert (
        "no kernel aten::sigmoid.out" in done.stderr
        and "aten::add.out" not in done.stderr
        and "--ops-from" in done.stderr
    )
    done = run_carina(
        ["firmware", program, "--ops", "aten::no_such.out,aten::add.out,aten::nor_this", "-o", tmp_path / "x.elf"],
        expect=2,
    )
    assert "the runtime has no kernel aten::no_such.out, aten::nor_this" in done.stderr
    assert not (tmp_path / "x.elf").exists()


def test_without_a_cross_compiler_it_says_what_to_do(program, carina, tmp_path):
    command = [carina, "firmware", program, "--ops-from", program, "-o", tmp_path / "x.elf"]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env={**os.environ, "PATH": str(tmp_path)}
    )
    assert done.returncode != 0 and "arm-none-eabi-g++" in done.stderr and "scripts/setup.sh --full" in done.stderr


def test_an_image_of_one_s_own_is_not_linked_anew(program, linked, run_carina, tmp_path):
    (tmp_path / "own.elf").write_bytes((linked[0].parent / "few.elf").read_bytes())
    done = run_carina(
        ["firmware", program, "--ops-from", program, "--image", tmp_path / "own.elf", "-o", tmp_path / "x.elf"],
        expect=2,
    )
    assert "cannot be linked with other kernels" in done.stderr and "docs/porting.md" in done.stderr
