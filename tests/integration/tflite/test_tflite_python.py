"""LiteRT models in the Python package."""

import numpy as np
import pytest
from tflite_models import litert
from tflite_operators import conv_2d, make


@pytest.fixture
def package(carina, monkeypatch):
    monkeypatch.syspath_prepend(carina.parents[1] / "python")
    import carina as package

    return package


def test_compile_and_interpret_take_a_tflite(package, tmp_path):
    content, inputs = make(conv_2d, 3)
    expected = litert(content, inputs)[0]
    (tmp_path / "m.tflite").write_bytes(content)
    for model in (str(tmp_path / "m.tflite"), content):
        program = package.compile(model, target="ethos-u55-128")
        assert np.array_equal(program.run(inputs[0])[0], expected)
        assert np.array_equal(package.interpret(model, inputs)[0], expected)


def test_program_of_a_tflite_is_saved_as_a_tflite(package, run_carina, tmp_path):
    content, inputs = make(conv_2d, 3)
    (tmp_path / "m.tflite").write_bytes(content)
    package.compile(str(tmp_path / "m.tflite"), target="ethos-u65-256").save(tmp_path / "n.tflite")
    run_carina(["compile", tmp_path / "m.tflite", "--target", "ethos-u65-256", "-o", tmp_path / "cli.tflite"])
    assert (tmp_path / "n.tflite").read_bytes() == (tmp_path / "cli.tflite").read_bytes()
    np.save(tmp_path / "x.npy", inputs[0])
    run_carina(["run", tmp_path / "n.tflite", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), litert(content, inputs)[0])


def test_program_of_another_model_is_not_a_tflite(package, tmp_path):
    content, _ = make(conv_2d, 3)
    program = package.Program(package.compile(content, target="ethos-u55-128").pte)
    with pytest.raises(package.UsageError, match="a .tflite is made of the model that was compiled"):
        program.save(tmp_path / "n.tflite")
