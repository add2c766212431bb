"""`--rounding vela`: FULLY_CONNECTED of int8 with the bits of Vela's streams, which round twice where LiteRT rounds once."""

import numpy as np
import pytest
from tflite_models import Model, litert

RUN_VELA = "import sys; from ethosu.vela.vela import main; sys.exit(main())"


def dense(per_channel, seed=0):
    """Results that are rounded at a right shift of some 6 bits, where the two roundings differ often."""
    random = np.random.default_rng(seed)
    m = Model()
    x = m.input("x", (64, 48), np.int8, 0.02, 3)
    scales = np.exp(random.uniform(np.log(0.004), np.log(0.03), 40 if per_channel else 1))
    w = m.constant("w", random.integers(-127, 128, (40, 48)).astype(np.int8), scale=scales)
    b = m.constant("b", random.integers(-900, 900, 40).astype(np.int32), scale=0.02 * scales)
    y = m.output("y", (64, 40), np.int8, 0.05, -2)
    m.op("FULLY_CONNECTED", [x, w, b], [y], "FullyConnectedOptions", version=7)
    return m.bytes(), random.integers(-128, 128, (64, 48)).astype(np.int8)


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_results_are_those_of_velas_stream(per_channel, target, forked_python, run_carina, tmp_path):
    content, data = dense(per_channel)
    (tmp_path / "m.tflite").write_bytes(content)
    flags = [f"--accelerator-config={target}", "--output-format=raw", f"--output-dir={tmp_path}"]
    done = forked_python("ethosu.vela.vela").run(RUN_VELA, *flags, tmp_path / "m.tflite", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    np.save(tmp_path / "x.npy", data)
    run_carina(["npu", "run", tmp_path / "m_vela.npz", "-i", tmp_path / "x.npy", "-o", tmp_path / "theirs"])
    theirs = np.load(next((tmp_path / "theirs").glob("*.npy"))).reshape(64, 40)
    outputs = {}
    for rounding in ("vela", "litert"):
        words = ["compile", tmp_path / "m.tflite", "--target", target, "--rounding", rounding]
        for program in ("n.tflite", "n.pte"):
            run_carina([*words, "-o", tmp_path / program])
            run_carina(["run", tmp_path / program, "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
            outputs[rounding, program] = np.load(tmp_path / "out" / "output_0.npy")
    expected = litert(content, [data])[0]
    for program in ("n.tflite", "n.pte"):
        assert np.array_equal(outputs["vela", program], theirs)
        assert np.array_equal(outputs["litert", program], expected)
    assert not np.array_equal(theirs, expected)


def test_option_without_effect_is_said(run_carina, tmp_path):
    content, _ = dense(False)
    (tmp_path / "m.tflite").write_bytes(content)
    run_carina(["tosa", tmp_path / "m.tflite", "-o", tmp_path / "m.tosa"])
    words = [
        "compile",
        tmp_path / "m.tosa",
        "--target",
        "ethos-u55-128",
        "--rounding",
        "vela",
        "-o",
        tmp_path / "m.pte",
    ]
    assert "--rounding: has no effect: the model is not a LiteRT file" in run_carina(words).stderr
