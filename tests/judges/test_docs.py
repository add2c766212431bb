"""What the documentation says is what the program does."""

from conftest import ROOT


def test_supported_ops_is_current(run_carina):
    printed = run_carina(["ops"]).stdout
    assert (ROOT / "docs" / "SUPPORTED_OPS.md").read_text() == printed, "run `carina ops > docs/SUPPORTED_OPS.md`"


def test_every_subcommand_has_help_with_examples(run_carina):
    listing = run_carina(["--help"]).stdout
    commands = [line.split()[0] for line in listing.split("Subcommands:")[1].splitlines() if line.startswith("  ")]
    assert {"compile", "run", "explain", "tosa", "interpret", "inspect", "disasm"} <= set(commands)
    for command in commands:
        assert "Examples:" in run_carina([command, "--help"]).stdout
