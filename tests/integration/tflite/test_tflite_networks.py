"""Networks of LiteRT's users, from a folder beside the repository: the bits of the reference kernels, or a message that names the operator.

CASES is the number of networks and of operators in that folder whose inputs and outputs have the bits of LiteRT; docs/guide/tflite.md has
these numbers.
"""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from tier_plugin import every, sampled

SHARED = Path(os.environ.get("CARINA_SHARED", Path(__file__).resolve().parents[4] / "shared"))
TARGETS = ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"]
EXACT = {"litert": 31, "litert_ops": 139}


def folders(kind):
    return sorted(p.parent for p in (SHARED / kind).glob("*/case.json"))


def arrays(folder, what, k):
    one = folder / f"{what}_{k}.npy"
    numbered = sorted(folder.glob(f"{what}_{k}_*.npy"), key=lambda p: int(re.search(r"_(\d+)\.npy$", p.name).group(1)))
    return [np.load(p) for p in ([one] if one.exists() else numbered)]


def same_bits(run_carina, program, folder, work):
    is_model = program.suffix == ".tflite"  # in a program, uint8 is int8 with the same bits
    for k in range(json.loads((folder / "case.json").read_text())["inferences"]):
        inputs = []
        for j, array in enumerate(arrays(folder, "in", k)):
            np.save(work / f"in_{j}.npy", array if is_model or array.dtype != np.uint8 else array.view(np.int8))
            inputs += ["-i", work / f"in_{j}.npy"]
        run_carina(["run", program, *inputs, "-o", work / "out"])
        for j, expected in enumerate(arrays(folder, "out", k)):
            got = np.load(work / "out" / f"output_{j}.npy")
            assert got.tobytes() == expected.tobytes() and (got.dtype == expected.dtype or not is_model), (
                f"{folder.name}: inference {k}, output {j}"
            )


@pytest.mark.parametrize("kind", EXACT)
def test_as_many_networks_are_exact_as_the_guide_says(kind, run_carina, tmp_path):
    cases = folders(kind)
    if not cases:
        pytest.skip(f"no {SHARED / kind}")
    exact = 0
    for folder in cases:
        found = run_carina(["tosa", folder / "model.tflite", "--io=int8", "-o", tmp_path / "m.tosa"], expect=None)
        assert found.code in (0, 1), found.stderr
        if found.code == 1:
            assert re.search(r"model\.tflite: \S+", found.stderr), found.stderr
            continue
        same_bits(run_carina, folder / "model.tflite", folder, tmp_path)
        exact += 1
    assert exact == EXACT[kind]


@pytest.mark.parametrize("folder", every(4, folders("litert")), ids=lambda p: p.name)
def test_networks_have_the_same_bits_on_npus(folder, run_carina, tmp_path):
    if run_carina(["tosa", folder / "model.tflite", "-o", tmp_path / "m.tosa"], expect=None).code:
        pytest.skip("not supported")
    for target in TARGETS[: sampled(1, 3)]:
        run_carina(["compile", folder / "model.tflite", "--target", target, "-o", tmp_path / "m.pte"])
        same_bits(run_carina, tmp_path / "m.pte", folder, tmp_path)
