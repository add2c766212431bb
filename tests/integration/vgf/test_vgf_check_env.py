"""`python -m carina.vgf.check_env` in the modes of the Arm backend's check_env, and VgfCompileSpec.validate_environment()."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

PROGRAM = [sys.executable, "-m", "carina.vgf.check_env"]


@pytest.fixture
def check_env(carina):
    """check_env("--aot", ...) -> exit code, output."""

    def run(*arguments, **variables):
        environment = {
            "PYTHONPATH": str(carina.parents[1] / "python"),
            "CARINA_BIN": str(carina),
            "PATH": "/usr/bin:/bin",
            **variables,
        }
        done = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, env=environment)
        return done.returncode, done.stdout + done.stderr

    return run


def test_compilation_needs_carina_alone(check_env):
    code, said = check_env("--aot", "--json")
    report = json.loads(said)
    assert code == 0 and (report["mode"], report["ok"]) == ("aot", True)
    assert [check["name"] for check in report["checks"]] == ["carina", "TOSA serializer", "Model converter"]
    assert all("not needed" in check["detail"] for check in report["checks"][1:])
    code, said = check_env("--aot")
    assert said.startswith("VGF environment preflight (aot): OK\n\n[PASS] carina\n")


def test_the_runtime_has_the_backend_or_the_action_is_named(check_env, carina):
    code, said = check_env("--runtime", "--json")
    (backend,) = (check for check in json.loads(said)["checks"] if check["name"] == "VGF runtime backend")
    built = (carina.parents[1] / "lib" / "libcarina_executorch.so").exists()
    assert (code == 0) == built == (backend["status"] == "PASS") == (backend["action"] is None)


def test_a_build_folder_is_looked_at(check_env, carina, tmp_path):
    built = (carina.parents[1] / "lib" / "libcarina_executorch.so").exists()
    assert check_env("--source-build", "--build-dir", carina.parents[1])[0] == (0 if built else 1)
    (tmp_path / "CMakeCache.txt").write_text("CMAKE_PROJECT_NAME:STATIC=executorch\n")
    code, said = check_env("--source-build", "--build-dir", tmp_path / "CMakeCache.txt")
    assert code == 1 and "the build of another project" in said and "[FAIL] VGF library" in said and "Action: " in said
    assert check_env("--source-build", "--build-dir", tmp_path / "none")[1].count("no such file") == 1


def test_modes_exclude_each_other(check_env):
    assert check_env("--aot", "--runtime")[0] == 2
    assert (
        check_env("--build-dir", "x")[0] == 2
        and "--build-dir requires --source-build" in check_env("--build-dir", "x")[1]
    )


VALIDATE = """
from carina.arm import VgfCompileSpec
report = VgfCompileSpec().validate_environment()
assert report.ok and report.mode == "aot" and not report.failures and report.to_dict()["checks"]
try:
    VgfCompileSpec().validate_environment("no/such/folder", require_runtime_build=True)
except RuntimeError as error:
    print(error)
"""


def test_a_compile_spec_validates_its_environment(forked_python, carina):
    environment = {"PYTHONPATH": str(carina.parents[1] / "python"), "CARINA_BIN": str(carina)}
    done = forked_python("torch").run(VALIDATE, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    assert "VGF environment validation failed:" in done.stdout and "[FAIL] VGF library" in done.stdout
