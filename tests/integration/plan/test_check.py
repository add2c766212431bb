"""`compile` runs what it made beside the model before it writes it (docs/adr/0092)."""

import numpy as np
import pytest
import torch
from conftest import ROOT
from torch import nn

DIGITS = ROOT / "models" / "digits" / "digits.pt2"
TARGET = "ethos-u55-128"


@pytest.fixture(scope="module")
def large_images(tmp_path_factory):
    """Few weights and large images: the check of all operators takes longer than the compilation."""
    folder = tmp_path_factory.mktemp("large")
    model = nn.Sequential(*(nn.Conv2d(3 if i == 0 else 16, 16, 3, padding=1) for i in range(8))).eval()
    torch.export.save(torch.export.export(model, (torch.randn(1, 3, 256, 256),)), folder / "m.pt2")
    np.savez(folder / "c.npz", x=np.random.RandomState(0).randn(1, 1, 3, 256, 256).astype("f4"))
    return folder


CALIBRATED = ["--calibrate", DIGITS.with_name("calibration.npz")]


def compiled(run_carina, tmp_path, arguments):
    if arguments[0] == DIGITS and arguments[2] != "vgf":
        arguments = [*arguments, *CALIBRATED]
    return run_carina(["compile", *arguments, "-o", tmp_path / "m.pte", "--json"]).json


@pytest.mark.parametrize("check", [[], ["--check", "quick"], ["--check=full"]], ids=["default", "quick", "full"])
@pytest.mark.parametrize("target", [TARGET, "ethos-u65-512", "ethos-u85-256", "vgf", "TOSA-1.0+INT"])
def test_the_report_says_that_all_operators_were_checked(run_carina, tmp_path, target, check):
    report = compiled(run_carina, tmp_path, [DIGITS, "-t", target, *check])
    assert report["delegates"]
    for delegate in report["delegates"]:
        assert delegate["check"] == {
            "operators": delegate["tosa_operators"],
            "samples": 2,
            "unchecked": "",
            "left_out": "",
        }


@pytest.mark.parametrize("target", [TARGET, "vgf"])
def test_check_off_gives_the_same_program_without_a_check(run_carina, tmp_path, target):
    report = compiled(run_carina, tmp_path, [DIGITS, "-t", target, "--check=off"])
    unchecked = (tmp_path / "m.pte").read_bytes()
    assert all("check" not in delegate for delegate in report["delegates"])
    compiled(run_carina, tmp_path, [DIGITS, "-t", target, "--check=full"])
    assert (tmp_path / "m.pte").read_bytes() == unchecked


def test_text_and_page_say_what_was_checked(run_carina, tmp_path):
    done = run_carina(
        ["compile", DIGITS, "-t", TARGET, *CALIBRATED, "-o", tmp_path / "m.pte", "--report", tmp_path / "m.html"]
    )
    assert "checked: all operators, on two samples" in done.stdout
    assert '"check"' in (tmp_path / "m.html").read_text()


def test_large_images_are_checked_in_part(run_carina, tmp_path, large_images):
    arguments = [large_images / "m.pt2", "-t", TARGET, "--calibrate", large_images / "c.npz"]
    done = run_carina(["compile", *arguments, "-o", tmp_path / "m.pte"])
    assert "checked: the first " in done.stdout and "--check=full" in done.stdout
    one, two = (
        compiled(run_carina, tmp_path, [*arguments, "--threads", n])["delegates"][0]["check"] for n in ("1", "3")
    )
    assert one == two
    assert (
        0
        < one["operators"]
        < compiled(run_carina, tmp_path, [*arguments, "--check=full"])["delegates"][0]["check"]["operators"]
    )


def test_explain_checks_nothing(run_carina):
    report = run_carina(["explain", DIGITS, "-t", TARGET, "--json"]).json
    assert all("check" not in delegate for delegate in report["delegates"])
    assert "--check" in run_carina(["explain", DIGITS, "-t", TARGET, "--check=full"], expect=2).stderr


def test_unknown_extent_is_a_usage_error(run_carina, tmp_path):
    said = run_carina(["compile", DIGITS, "-t", TARGET, "--check=some", "-o", tmp_path / "m.pte"], expect=2).stderr
    assert "quick" in said and "full" in said and "off" in said


def test_python_takes_the_option(carina, monkeypatch):
    monkeypatch.syspath_prepend(str(carina.parents[1] / "python"))
    import carina as package

    for check, operators in (("full", True), ("quick", True), ("off", False)):
        program = package.compile(DIGITS, target=TARGET, check=check, quantize="int8", calibration=CALIBRATED[1])
        assert ("check" in program.report().details["delegates"][0]) == operators
