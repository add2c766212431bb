"""Models that the newest torch exports become the same programs as those of the torch that the other tests use."""

import os
import subprocess
from pathlib import Path

import export_models
import numpy as np
import pytest
import torch

PYTHON = Path(os.environ["CARINA_TEST_ENV"], "torch", "bin", "python")
HERE = Path(__file__).resolve().parent
pytestmark = pytest.mark.long  # an environment of its own
KINDS = [*export_models.MODELS, *(f"{name}_int8" for name in export_models.MODELS if name != "lstm")]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Two folders with a .pt2 file of each of KINDS: of the newest torch, and of this one. Both have the same weights."""
    if not PYTHON.exists():
        pytest.skip("not run: the newest torch is not installed (tests/integration/setup.sh torch)")
    newest, own = tmp_path_factory.mktemp("newest"), tmp_path_factory.mktemp("own")
    export_models.write_weights(newest)
    export_models.export(newest, own)
    done = subprocess.run([PYTHON, "-W", "ignore", HERE / "export_models.py", newest], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split()[-1] != torch.__version__, done.stdout
    return newest, own


@pytest.mark.parametrize("kind", KINDS)
def test_program_has_the_same_bytes(kind, exported, run_carina, tmp_path):
    rng = np.random.default_rng(2026)
    _, shape = export_models.MODELS[kind.removesuffix("_int8")]
    np.savez(tmp_path / "calibration.npz", x=rng.standard_normal((4, *shape[1:]), dtype=np.float32))
    options = [] if kind.endswith("_int8") else ["--quantize", "int8", "--calibrate", tmp_path / "calibration.npz"]
    programs = []
    for folder in exported:
        program = tmp_path / f"{folder.name}.pte"
        report = run_carina(
            ["compile", folder / f"{kind}.pt2", "--target", "ethos-u55-128", *options, "-o", program, "--json"]
        ).json
        assert report["delegates"], "something runs on the NPU"
        programs.append(program.read_bytes())
    assert programs[0] == programs[1]
