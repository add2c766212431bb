"""The NPU's built-in sigmoid and tanh of 16 bits, which Vela uses for LOGISTIC and TANH: Vela's stream on the simulator has LiteRT's bits."""

import numpy as np
import pytest
from tflite_models import litert
from tflite_operators import Case, logistic, tanh

RUN_VELA = "import sys; from ethosu.vela.vela import main; sys.exit(main())"


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("function", [logistic, tanh], ids=lambda f: f.__name__)
def test_simulator_has_bits_of_reference_kernels(function, target, forked_python, run_carina, tmp_path):
    wrong = 0
    for seed in range(6):
        case = Case(seed, np.int16)
        function(case)
        content, inputs = case.done()
        (tmp_path / "m.tflite").write_bytes(content)
        flags = [f"--accelerator-config={target}", "--output-format=raw", f"--output-dir={tmp_path}"]
        done = forked_python("ethosu.vela.vela").run(RUN_VELA, *flags, tmp_path / "m.tflite", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        np.save(tmp_path / "x.npy", inputs[0])
        run_carina(["npu", "run", tmp_path / "m_vela.npz", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
        got = np.load(next((tmp_path / "out").glob("*.npy")))
        expected = litert(content, inputs)[0]
        wrong += int((got.reshape(-1) != expected.reshape(-1)).sum())
    assert wrong == 0
