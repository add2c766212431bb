"""Options to inspect and skip passes: --print-after, --stop-after, --disable-pass."""

import pytest


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    import torch

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.softmax(torch.flatten(x, 1), dim=-1)

    path = tmp_path_factory.mktemp("passes") / "model.pt2"
    torch.export.save(torch.export.export(Model().eval(), (torch.rand(1, 2, 3),)), path)
    return path


def test_the_graph_is_printed_after_a_pass(model, run_carina, tmp_path):
    printed = run_carina(
        ["tosa", model, "-o", tmp_path / "m.tosa", "--print-after", "canonicalize,merge-duplicates"]
    ).stderr
    assert "# after canonicalize\n" in printed and "# after decompose\n" not in printed
    canonical, clean = printed.split("# after merge-duplicates\n")
    assert (
        "aten.view.default" in canonical
        and "flatten" not in canonical.replace("%flatten", "")
        and "aten.softmax" in canonical
    )
    assert "tosa.EXP" in clean and "aten." not in clean


def test_passes_are_left_out(model, run_carina, tmp_path):
    printed = run_carina(
        ["tosa", model, "-o", tmp_path / "m.tosa", "--disable-pass", "fold-movement", "--print-after", "fold-movement"]
    ).stderr
    assert "# after" not in printed
    printed = run_carina(
        [
            "tosa",
            model,
            "-o",
            tmp_path / "m.tosa",
            "--stop-after",
            "sink-transposes",
            "--print-after",
            "sink-transposes,merge-duplicates",
        ]
    ).stderr
    assert "# after sink-transposes\n" in printed and "# after merge-duplicates\n" not in printed


def test_what_a_later_pass_needs_is_not_left_out(model, run_carina, tmp_path):
    done = run_carina(["tosa", model, "-o", tmp_path / "m.tosa", "--disable-pass", "canonicalize"], expect=2)
    assert "remove-identities needs one-spelling" in done.stderr
    done = run_carina(["tosa", model, "-o", tmp_path / "m.tosa", "--print-after", "nothing"], expect=2)
    assert "merge-duplicates" in done.stderr
