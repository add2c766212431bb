"""Fixtures of the integration tests: Carina's program, and other programs to compare with.

carina           path of the program ($CARINA_BIN, else build/release/bin/carina); a missing program fails the test
package          the Python package `carina` of the build, imported into this process
forked_python    forked_python("torch").run(source, *arguments) -> as `python -c`, with imports done before (forked_python.py)
run_carina       run_carina(["compile", ...], expect=0) -> Result(stdout, stderr, code, .json)
case, cases_folder, shared   networks: cases_fixtures.py
reference_model  reference_model(tosa bytes or path, [arrays in graph input order]) -> [arrays], official TOSA reference model
vela             vela(path, "ethos-u55-128", extra=[...]) -> path of Vela's raw .npz, kept in build/test-env/cache
et_runtime       et_runtime(pte bytes or path, [arrays or tensors]) -> [arrays], the official ExecuTorch runtime
explorer         explorer(path of a .tosa) -> the graph as Model Explorer's TOSA adapter reads it (optional environment)
"""

import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
import tier_plugin
from forked_python import ForkedPython

tier_plugin.set_defaults()  # before the imports of tests, which read the variables
from cases.targets import VELA_DEFAULTS  # noqa: E402
from cases_fixtures import make_cases, pytest_generate_tests, shared  # noqa: E402, F401

ROOT = Path(__file__).resolve().parents[2]
TEST_ENV = Path(os.environ["CARINA_TEST_ENV"])
PACKAGE = Path(os.environ["CARINA_BIN"]).parents[1] / "python"
CACHE = TEST_ENV / "cache"

# Also in xdist's own process, which imports the classes of the warnings that its workers report.
sys.path.insert(0, str(PACKAGE))


def pytest_configure(config):
    for noise in ("DeprecationWarning", "FutureWarning", "PendingDeprecationWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::{noise}")
    config.pluginmanager.register(tier_plugin)
    config.addinivalue_line("markers", "cases(*names, either=False): only these cases")
    make_cases(config)


def pytest_collection_finish():
    tier_plugin.export_quickly()


# --- carina --------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    code: int
    stdout: str
    stderr: str

    @cached_property
    def json(self):
        return json.loads(self.stdout)


@pytest.fixture(scope="session")
def carina():
    path = Path(os.environ["CARINA_BIN"])
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make build`")
    return path


@pytest.fixture(scope="session")
def package(carina):
    """The package of the build, imported into this process."""
    import carina as package

    assert package.__file__.startswith(str(PACKAGE)), "another carina was imported first"
    return package


@pytest.fixture(scope="session")
def run_carina(carina):
    def run(args, expect=0, cwd=None, timeout=600, env=None):
        command = [str(carina), *map(str, args)]
        done = subprocess.run(
            command, cwd=cwd, timeout=timeout, capture_output=True, text=True, env={**os.environ, **(env or {})}
        )
        if expect is not None and done.returncode != expect:
            pytest.fail(
                f"{' '.join(command)}\nexit code {done.returncode}, expected {expect}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
            )
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def forked_python():
    """forked_python("torch", ...) -> a ForkedPython whose programs find these modules already imported."""
    servers = {}

    def server_of(*modules):
        if modules not in servers:
            servers[modules] = ForkedPython(*modules)
        return servers[modules]

    yield server_of
    for server in servers.values():
        server.close()


# --- references --------------------------------------------------------------------------------------------------------


def content_of(source):
    return source if isinstance(source, (bytes, bytearray, memoryview)) else Path(source).read_bytes()


@pytest.fixture(scope="session")
def reference_model():
    import tosa_reference_model as model

    def run(tosa, inputs):
        outputs, status = model.run(
            bytes(content_of(tosa)), [np.ascontiguousarray(x) for x in inputs], verbosity="NONE"
        )
        assert status == model.GraphStatus.TOSA_VALID, f"the TOSA reference model says {status}"
        return [np.asarray(y) for y in outputs]

    return run


class VelaError(AssertionError):
    """Vela rejected the file or crashed. The text is Vela's output."""


def vela_flags(config, system_config, memory_mode, extra):
    family = config.rsplit("-", 1)[0]
    default_system, default_memory = VELA_DEFAULTS[family]
    return [
        f"--accelerator-config={config}",
        "--config=Arm/vela.ini",
        "--output-format=raw",
        f"--system-config={system_config or default_system}",
        f"--memory-mode={memory_mode or default_memory}",
        *extra,
    ]


RUN_VELA = "import sys; from ethosu.vela.vela import main; sys.exit(main())"


@pytest.fixture(scope="session")
def vela(forked_python):
    version = importlib.metadata.version("ethos-u-vela")

    def run(tosa, config="ethos-u55-128", extra=(), system_config=None, memory_mode=None):
        content = bytes(content_of(tosa))
        flags = vela_flags(config, system_config, memory_mode, extra)
        key = hashlib.sha256("\0".join([version, *flags, ""]).encode() + content).hexdigest()[:24]
        kept = CACHE / f"vela-{key}.npz"
        if kept.exists():
            return kept
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            source = Path(folder, "out.tosa")
            source.write_bytes(content)
            done = forked_python("ethosu.vela.vela").run(
                RUN_VELA, *flags, f"--output-dir={folder}/output", source, cwd=folder
            )
            made = Path(folder, "output", "out_vela.npz")
            if done.returncode != 0 or not made.exists():
                raise VelaError(f"vela {' '.join(flags)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
            made.rename(kept)  # same folder, so other processes see a complete file or none
        return kept

    return run


@pytest.fixture(scope="session")
def et_runtime():
    import torch
    import executorch.kernels.quantized  # noqa: F401  registers quantize/dequantize kernels
    from executorch.runtime import Runtime, Verification

    runtime = Runtime.get()

    def run(pte, inputs, method="forward"):
        program = runtime.load_program(bytes(content_of(pte)), verification=Verification.InternalConsistency)
        tensors = [x if isinstance(x, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(x)) for x in inputs]
        # Copied: the outputs are in the method's memory, which is freed with the method.
        return [y.clone().numpy() for y in program.load_method(method).execute(tensors)]

    return run


@pytest.fixture(scope="session")
def explorer():
    python = TEST_ENV / "explorer" / "bin" / "python"
    if not python.exists():
        # Optional and big, so `make test` does not install it; setup.sh explorer does.
        pytest.skip("not run: no Model Explorer adapter (tests/integration/setup.sh explorer)")

    def run(tosa_path):
        script = (
            "import json, sys; from tosa_adapter_model_explorer.main import TosaFlatbufferAdapter as A; "
            "g = A().convert(sys.argv[1], {})['graphs']; "
            "print(json.dumps([{'id': x.id, 'nodes': [n.label for n in x.nodes]} for x in g]))"
        )
        done = subprocess.run([python, "-c", script, str(tosa_path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
