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
