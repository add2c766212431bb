"""Every row of include/carina/options.def is an option of the command line, of Python and of the page."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import generate_options  # noqa: E402

ROWS = generate_options.rows()


def test_generated_files_are_current():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate_options.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_generator_reads_every_row_of_the_table():
    text = generate_options.TABLE.read_text()
    calls = sum(
        line.startswith(
            (
                "CARINA_TARGET",
                "CARINA_QUANTIZE",
                "CARINA_PARTITION",
                "CARINA_SCHEDULE",
                "CARINA_PIPELINE",
                "CARINA_DRIVER",
            )
        )
        for line in text.splitlines()
    )
    assert len(ROWS) == calls > 20
    names = [name for row in ROWS for name in row.names]
    assert len(names) == len(set(names)), "two rows have the same name"


def test_compile_help_lists_every_option(run_carina):
    text = " ".join(run_carina(["compile", "--help"]).stdout.split())
    for row in ROWS:
        for name in row.names:
            assert name in text, name


@pytest.mark.parametrize(
    ("arguments", "key", "value"),
    [
        (["--sram-budget", "300K"], "sram_budget_bytes", 300 << 10),
        (["--flash-budget", "1M"], "flash_budget_bytes", 1 << 20),
        (["--arena-budget", "300K"], "arena_budget_bytes", 300 << 10),
        (["-Os"], "optimize", "size"),
        (["--optimise", "Performance"], "optimize", "speed"),
        (["-O3"], "optimize", "search"),
        (["--dynamic-weights"], "dynamic_weights", True),
    ],
    ids=lambda value: str(value),
)
def test_json_reports_the_option(run_carina, arguments, key, value):
    model = ROOT / "models" / "digits" / "digits.pt2"
    report = json.loads(run_carina(["explain", model, "-t", "ethos-u55-128", "--json", *arguments]).stdout)
    assert report[key] == value


def test_flags_of_one_member_exclude_each_other(run_carina):
    failed = run_carina(
        ["explain", "model.pt2", "-t", "ethos-u55-128", "--delegate-all", "--legalize", "--loop-rounds", "0"], expect=2
    )
    assert "--loop-rounds" in failed.stderr
    failed = run_carina(
        ["compile", "model.pt2", "-t", "ethos-u55-128", "--delegate-all", "--no-delegate", "-o", "model.pte"], expect=2
    )
    assert "excludes" in failed.stderr
