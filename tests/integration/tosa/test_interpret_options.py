"""Tests `carina interpret --dump` and `--profile` on the command line. The official tools read the graph."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def ran(cases_folder, run_carina, tmp_path_factory):
    folder = tmp_path_factory.mktemp("interpreted")
    case = cases_folder / "ds_cnn"
    base = ["interpret", case / "out.tosa", "-i", case / "tosa_in_0.npy", "-o", folder / "out", "--json"]
    run_carina([*base, "--dump", folder / "dump"])
    return case, folder, run_carina([*base, "--profile"]).json


def test_every_value_is_dumped_and_the_last_one_is_the_output(ran):
    from tosa.TosaGraph import TosaGraph

    case, folder, _ = ran
    block = TosaGraph.GetRootAs(bytearray((case / "out.tosa").read_bytes()), 0).Regions(0).Blocks(0)
    made = {
        block.Operators(i).Outputs(j).decode()
        for i in range(block.OperatorsLength())
        for j in range(block.Operators(i).OutputsLength())
    }
    constants = {
        block.Tensors(i).Name().decode() for i in range(block.TensorsLength()) if block.Tensors(i).DataLength()
    }
    shapes = {block.Shapes(i).Name().decode() for i in range(block.ShapesLength())}
    inputs = {block.Inputs(i).decode() for i in range(block.InputsLength())}
    dumped = {path.stem: np.load(path) for path in (folder / "dump").glob("*.npy")}
    assert set(dumped) == (made - constants - shapes) | inputs
    output = block.Outputs(0).decode()
    np.testing.assert_array_equal(dumped[output], np.load(case / "tosa_out_0.npy"))
    np.testing.assert_array_equal(dumped[output], np.load(folder / "out" / "output_0.npy"))


def test_the_profile_has_a_row_for_each_step(ran):
    rows = ran[2]["profile"]
    assert {row["op"] for row in rows} >= {"tosa.CONV2D", "tosa.DEPTHWISE_CONV2D", "tosa.AVG_POOL2D", "tosa.REDUCE_SUM"}
    assert all(row["nanoseconds"] > 0 and not row["nested"] for row in rows)
    convolutions = [row for row in rows if row["op"].endswith("CONV2D")]
    assert all(row["with"] == ["tosa.RESCALE"] for row in convolutions)
