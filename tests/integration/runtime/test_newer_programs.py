"""Programs of a later ExecuTorch, whose schema has fields that ours does not know: they load, and give the same outputs.

ExecuTorch 1.6 is to have scratch buffers of delegates in the memory plan (pull request 21985). While no public schema has them, lists of
numbers stand here at the ends of the tables that could get them. A reader of flatbuffers skips what it does not know.
"""

import json
import shutil
import subprocess

import numpy as np
import pytest
from conftest import ROOT

DIGITS = ROOT / "models" / "digits"
SCHEMA = (ROOT / "facts" / "schemas" / "program.fbs").read_text()


def later_schema():
    """program.fbs with one more field in three tables."""
    schema = SCHEMA
    for table in ("DelegateCall", "BackendDelegate", "ExecutionPlan"):
        start = schema.index(f"table {table} {{")
        end = schema.index("}", start)
        schema = f"{schema[:end]} planned_scratch: [int32]; {schema[end:]}"
    return schema + 'file_identifier "ET12";\n'


def fill(program):
    """Gives the new fields values."""
    (plan,) = program["execution_plan"]
    plan["planned_scratch"] = [4096]
    for delegate in plan["delegates"]:
        delegate["planned_scratch"] = [0, 4096]
    calls = [
        row["instr_args"]
        for chain in plan["chains"]
        for row in chain["instructions"]
        if row["instr_args_type"] == "DelegateCall"
    ]
    for call in calls:
        call["planned_scratch"] = [0]
    return len(calls)


def later_program(data, folder):
    """The program as a later ExecuTorch would write it. It has its data inside, so the file is one flatbuffer."""
    (folder / "program.bin").write_bytes(data)
    (folder / "now.fbs").write_text(SCHEMA)
    (folder / "later.fbs").write_text(later_schema())
    flatc = [shutil.which("flatc"), "-o", folder]
    subprocess.run(
        [*flatc, "--json", "--strict-json", "--raw-binary", folder / "now.fbs", "--", folder / "program.bin"],
        check=True,
    )
    program = json.loads((folder / "program.json").read_text())
    assert fill(program) == 1
    (folder / "program.json").write_text(json.dumps(program))
    subprocess.run([*flatc, "--binary", folder / "later.fbs", folder / "program.json"], check=True)
    return (folder / "program.bin").read_bytes()


@pytest.fixture(scope="module")
def programs(run_carina, tmp_path_factory):
    folder = tmp_path_factory.mktemp("later")
    run_carina(
        [
            "compile",
            DIGITS / "digits.pt2",
            "--target",
            "ethos-u55-128",
            "--calibrate",
            DIGITS / "calibration.npz",
            "-o",
            folder / "now.pte",
        ]
    )
    (folder / "later.pte").write_bytes(later_program((folder / "now.pte").read_bytes(), folder))
    return folder / "now.pte", folder / "later.pte"


@pytest.mark.parametrize("options", ([], ["--on", "qemu"]), ids=("host", "firmware"))
def test_a_program_with_fields_of_a_later_schema_runs(options, programs, run_carina, tmp_path):
    image = np.load(DIGITS / "test.npz")["x"][:1]
    np.save(tmp_path / "image.npy", image)
    outputs = []
    for program in programs:
        run_carina(["run", program, "-i", tmp_path / "image.npy", "-o", tmp_path / program.stem, *options])
        outputs.append(np.load(tmp_path / program.stem / "output_0.npy"))
    assert np.array_equal(*outputs)
    assert outputs[0].any()


def test_the_official_reader_takes_the_same_program(programs):
    from executorch.exir._serialize._program import deserialize_pte_binary

    plans = [deserialize_pte_binary(program.read_bytes()).program.execution_plan[0] for program in programs]
    assert plans[0] == plans[1]
