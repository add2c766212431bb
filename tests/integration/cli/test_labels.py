"""Labels of a data file under their usual names; unused arrays are named in a message."""

import numpy as np
import pytest
from conftest import ROOT

DIGITS = ROOT / "models" / "digits"


@pytest.mark.parametrize("name", ["y", "label", "labels", "target"])
def test_labels_by_their_usual_names(run_carina, tmp_path, name):
    compiled = [
        "compile",
        DIGITS / "digits.pt2",
        "--target",
        "ethos-u55-128",
        "--calibrate",
        DIGITS / "calibration.npz",
    ]
    run_carina([*compiled, "-o", tmp_path / "o.pte"])
    test = np.load(DIGITS / "test.npz")
    np.savez(tmp_path / "d.npz", **{"x": test["x"][:40], name: test["y"][:40], "extra": np.zeros(3)})
    done = run_carina(["accuracy", DIGITS / "digits.pt2", tmp_path / "o.pte", "--data", tmp_path / "d.npz"])
    assert "on 40 labeled samples" in done.stdout and "float model right" in done.stdout
    assert "extra: not an input of the model, and not read" in done.stderr and f"{name}:" not in done.stderr
