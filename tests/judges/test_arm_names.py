"""carina.arm in the Arm backend's place: the tutorials' scripts with other imports, and unchanged behind install(); their programs in the official
runtime, through the simulator, against the command line's; and the Arm backend's own tests of its API against our classes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TUTORIALS = Path(__file__).parent / "arm_tutorials"
NAMES = ("ethos_u", "builder")

RUN = """
import sys
import numpy as np, torch
import carina.executorch as npu
npu.register(timed=False)
import executorch.kernels.quantized
from executorch.runtime import Runtime
for name in sys.argv[1:]:
    data = open(name + ".pte", "rb").read()  # the runtime reads it where it lies
    program = Runtime.get().load_program(data)
    method = program.load_method("forward")
    np.save(name + "_official.npy", method.execute([torch.from_numpy(np.load(name + "_input.npy"))])[0].numpy())
"""
OWN = """
import sys, torch, torchao.quantization.pt2e
import carina, carina.arm
for name in sys.argv[1:]:
    spec = carina.arm.EthosUCompileSpec("ethos-u55-128").dump_intermediate_artifacts_to("own")
    partitioner = carina.arm.EthosUPartitioner(spec)
    manager = carina.to_edge_transform_and_lower(torch.export.load(name + ".pt2"), partitioner=[partitioner])
    with open(name + "_own.pte", "wb") as file:
        manager.to_executorch().write_to_file(file)
assert "executorch.exir" not in sys.modules
"""


@pytest.fixture(scope="module")
def python(carina):
    """python(source, *arguments, folder): runs a program with the package of our build."""
    build = carina.parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(build / "python"), str(TUTORIALS)]),
        "CARINA_EXECUTORCH_LIBRARY": str(build / "lib" / "libcarina_executorch.so"),
        "OMP_NUM_THREADS": "1",
    }

    def run(source, *arguments, folder):
        command = [sys.executable, "-W", "ignore", "-c", source, *map(str, arguments)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return done

    return run


def with_other_imports(script):
    """The script's text, in which only what stands between `from` and `import` differs."""
    text, count = re.subn(r"(?m)^from executorch\.backends\.arm[\w.]* import", "from carina.arm import", script.read_text())
    assert count >= 2
    return text


@pytest.fixture(scope="module")
def converted(python, tmp_path_factory):
    """A folder with what the scripts wrote after their imports were changed."""
    folder = tmp_path_factory.mktemp("converted")
    texts = [with_other_imports(TUTORIALS / f"{name}.py") for name in NAMES]
    python("\n".join(f"exec(compile({text!r}, 'script', 'exec'), {{}})" for text in texts), folder=folder)
    return folder


@pytest.fixture(scope="module")
def unchanged(python, tmp_path_factory):
    """A folder with what the unchanged scripts wrote behind install()."""
    folder = tmp_path_factory.mktemp("unchanged")
    run = "import runpy, sys, carina.arm\ncarina.arm.install()\nfor script in sys.argv[1:]: runpy.run_path(script)"
    python(run, *(TUTORIALS / f"{name}.py" for name in NAMES), folder=folder)
    return folder


def test_scripts_give_the_programs_of_the_command_line(converted, unchanged, python, run_carina):
    python(RUN, *NAMES, folder=converted)
    for name in NAMES:
        assert (converted / f"{name}.pte").read_bytes() == (unchanged / f"{name}.pte").read_bytes()
        run_carina(["compile", converted / f"{name}.pt2", "--target", "ethos-u55-128", "-o", converted / f"{name}_cli.pte"])
        report = run_carina(["run", converted / f"{name}_cli.pte", "-i", converted / f"{name}_input.npy", "-o", converted / name, "--json"]).json
        official = np.load(converted / f"{name}_official.npy")
        np.testing.assert_array_equal(official, np.load(converted / name / "output_0.npy"))
        step = np.diff(np.unique(official)).min()
        assert np.abs(official - np.load(converted / f"{name}_eager.npy")).max() <= 2 * step
        assert report


def test_our_own_way_gives_the_bytes_of_the_command_line(converted, python, run_carina):
    python(OWN, *NAMES, folder=converted)
    for name in NAMES:
        run_carina(["compile", converted / f"{name}.pt2", "--target", "ethos-u55-128", "-o", converted / f"{name}_cli.pte"])
        assert (converted / f"{name}_own.pte").read_bytes() == (converted / f"{name}_cli.pte").read_bytes()
    assert any((converted / "own").glob("output_tag0_*.tosa"))
