"""Benchmarks measure the programs of the build folder that make uses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("module, name", [("processes", "BUILD"), ("kernels", "IMAGE")])
def test_programs_are_taken_from_the_build_folder_of_make(module, name, tmp_path):
    def place_of(build):
        text = f"import {module}; print({module}.{name})"
        environment = {**os.environ, "CARINA_BUILD": str(build)}
        done = subprocess.run(
            [sys.executable, "-c", text], cwd=ROOT / "bench", env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return Path(done.stdout.strip())

    for build in (tmp_path, Path("build")):
        assert place_of(build).is_relative_to(ROOT / build / "release")
