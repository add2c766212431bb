"""`--rounding vela`: FULLY_CONNECTED and LSTM of int8 with the bits of Vela's streams.

They round FULLY_CONNECTED twice where LiteRT rounds once, and compute LSTM by the NPU's own functions.
"""

import numpy as np
import pytest
from test_tflite_state import lstm
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


def outputs_of(run_carina, program, samples, folder):
    """Returns one output per sample; the state goes on from each to the next."""
    words = []
    for i, sample in enumerate(samples):
        np.save(folder / f"in_{i}.npy", sample)
        words += ["-i", folder / f"in_{i}.npy"]
    run_carina(["run", program, *words, "-o", folder / "out"])
    return [np.load(folder / "out" / str(i) / "output_0.npy") for i in range(len(samples))]


@pytest.mark.parametrize(
    "target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256", "ethos-u55-32", "ethos-u85-1024"]
)
def test_lstm_has_bits_of_velas_stream(target, forked_python, run_carina, tmp_path):
    for seed in range(3):
        # Vela reads the clip as a whole number.
        content, samples = lstm(seed, time_major=seed == 2, cell_clip=1 if seed == 1 else 0)
        (tmp_path / "m.tflite").write_bytes(content)
        flags = [f"--accelerator-config={target}", f"--output-dir={tmp_path}"]
        done = forked_python("ethosu.vela.vela").run(RUN_VELA, *flags, tmp_path / "m.tflite", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        words = ["compile", tmp_path / "m.tflite", "--target", target, "--rounding", "vela", "-o"]
        assert "--rounding" not in run_carina([*words, tmp_path / "n.tflite"]).stderr
        theirs = outputs_of(run_carina, tmp_path / "m_vela.tflite", samples, tmp_path)
        ours = outputs_of(run_carina, tmp_path / "n.tflite", samples, tmp_path)
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True)), seed
        assert len({value for result in theirs for value in result.ravel().tolist()}) > 10


def test_note_says_what_the_bits_of_an_lstm_cost(run_carina, tmp_path):
    for coupled in (False, True):  # Vela leaves an LSTM without input gate on the CPU
        (tmp_path / "m.tflite").write_bytes(lstm(0, coupled=coupled)[0])
        words = [tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "n.tflite", "--json"]
        done = run_carina(["compile", *words])
        assert ("--rounding vela" in done.stderr) == (not coupled)
        cycles = run_carina(["compile", *words, "--rounding", "vela"]).json["cycles"]
        assert cycles == done.json["cycles"] if coupled else cycles < done.json["cycles"] / 2


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
