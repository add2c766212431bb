"""CMake finds the programs of the build although an active virtual environment has others of the same names."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(schemas LANGUAGES NONE)
add_subdirectory("{ROOT}/facts/schemas" schemas)
"""


def configured(folder, *options, path=os.environ["PATH"]):
    """CMake's result for the schemas alone, with `path` as PATH."""
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(PROJECT)
    command = ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", *options]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PATH": path})


def test_flatc_is_the_one_of_the_headers_version(tmp_path):
    of_executorch = Path(sys.executable).parent / "flatc"
    assert of_executorch.exists(), "ExecuTorch's wheel puts it beside its Python"
    done = configured(tmp_path / "both", path=f"{of_executorch.parent}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    cache = (tmp_path / "both" / "build" / "CMakeCache.txt").read_text()
    found = next(line.split("=")[1] for line in cache.splitlines() if line.startswith("FLATC:"))
    assert subprocess.check_output([found, "--version"], text=True) != subprocess.check_output(
        [of_executorch, "--version"], text=True
    )


def test_without_such_a_flatc_the_message_says_which_one_is_missing(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "flatc").write_text("#!/bin/sh\necho flatc version 0.1.2\n")
    (tools / "flatc").chmod(0o755)
    nowhere_else = ("-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF")
    done = configured(
        tmp_path / "other",
        f"-DCMAKE_PROGRAM_PATH={tools}",
        f"-DCMAKE_MAKE_PROGRAM={shutil.which('ninja')}",
        *nowhere_else,
    )
    assert done.returncode == 1 and "the version of the headers in" in done.stderr, done.stderr
