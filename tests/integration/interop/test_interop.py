"""A sample of the matrix of programs and runtimes: Carina's programs in the official runtime, and ExecuTorch's in Carina's. All rows: `make
conformance`, docs/interop.md."""

import re
import sys

import matrix
import matrix_page
import pytest
import rows
from cases.store import CASES
from cases_fixtures import cases_folders
from conftest import ROOT

SAMPLE = [
    "Carina/add_int32/int32, CPU", "Carina/kws/float, CPU", "Carina/kws/int8, CPU", "Carina/lstm/int8, ethos-u85-256", "Carina/resnet8/int8, 2 delegates, ethos-u55-128",
    "Carina/kws/int8, int8 in and out, ethos-u55-128", "Carina/kws/int8, vgf", "Carina/24 inputs and outputs of 4 types/float and integers, CPU", "Carina/2 methods/int8, ethos-u55-128, packed by ExecuTorch",
    "ExecuTorch/ds_cnn/int8, ethos-u65-256, by Vela", "ExecuTorch/kws/int8, portable kernels", "ExecuTorch/2 methods/float, portable kernels",
    "ExecuTorch/constants in a .ptd/float, portable kernels", "ExecuTorch/a loop over rows/float, portable kernels", "ExecuTorch/state, third run/float, portable kernels", "ExecuTorch/channels last/float, portable kernels",
    "ExecuTorch/fewer and smaller images than planned/float, portable kernels",
]  # fmt: skip


@pytest.fixture(scope="module")
def official(carina):
    sys.path.insert(0, str(carina.parents[1] / "python"))  # for rows that take Carina's Python package
    runtime = matrix.Official(carina.parents[1] / "lib" / "libcarina_executorch.so", carina.parents[1] / "python")
    yield runtime
    runtime.close()


def found(folder):
    return {row.name: row for row in rows.rows(folder)}


def sample():
    """Rows that do not use the cases are the same for both folders."""
    for folder in cases_folders():
        for name in SAMPLE:
            if folder == CASES or name.split("/")[1] in rows.MODELS:
                yield pytest.param(folder, name, id=f"{'' if folder == CASES else 'shared: '}{name}")


@pytest.mark.parametrize(("folder", "name"), sample())
def test_both_runtimes_give_the_same(folder, name, official, carina):
    outcome = matrix.check(found(folder)[name], carina, folder, official)
    assert not outcome.problem, outcome.problem
    assert outcome.integers + outcome.floats > 0


def test_a_difference_is_found(official, carina):
    """The comparison rejects other numbers."""
    made = found(CASES)["Carina/kws/float, CPU"]

    def other(shop):
        program = made.make(shop)
        program.calls[0].wanted = [official.run(program, program.calls[0], shop.folder)[0] + 1e-3]
        return program

    def with_inputs(shop):
        import numpy as np

        np.savez(shop.folder / "inputs.npz", **{f"input_{i}": x for i, x in enumerate(shop.inputs("kws"))})
        return other(shop)

    outcome = matrix.check(rows.Row("Carina", "kws", "other", with_inputs), carina, CASES, official)
    assert "floats differ" in outcome.problem


def test_the_page_counts_every_row_and_no_failure(cases_folder):
    text = (ROOT / "docs" / "interop.md").read_text()
    listed = re.findall(r"^\| (\w+) \| (.+?) \| (\d+) \| (\d+) \|", text, re.M)
    expected = found(cases_folder)
    assert sum(int(programs) for *_, programs, _ in listed) == len(expected)
    assert all(programs == agree for *_, programs, agree in listed)
    for name, row in expected.items():
        assert any(producer == row.producer and form == row.form for producer, form, *_ in listed), name
    assert matrix_page.HEAD in text
