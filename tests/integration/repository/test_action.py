"""The GitHub Action: the step of action.yml and the script that it runs, on a small repository."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

DIGITS = ROOT / "models" / "digits"
CHECK = ROOT / "scripts" / "check_budget.py"
OPTIONS = "--quantize int8 --calibrate calibration.npz"


def git(folder, *words):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", folder, *words], check=True, capture_output=True
    )


@pytest.fixture(scope="module")
def repository(tmp_path_factory, carina):
    """A clone of a repository with a model. Its origin has the branch main."""
    origin, clone = tmp_path_factory.mktemp("origin"), tmp_path_factory.mktemp("clone") / "work"
    for name in ("digits.pt2", "calibration.npz", "test.npz"):
        (origin / name).write_bytes((DIGITS / name).read_bytes())
    subprocess.run(
        [carina, "tosa", "digits.pt2", *OPTIONS.split(), "-o", "model.tosa"],
        cwd=origin,
        check=True,
        capture_output=True,
    )
    git(origin, "init", "-b", "main")
    git(origin, "add", ".")
    git(origin, "commit", "-m", "a model")
    subprocess.run(["git", "clone", "-q", origin, clone], check=True)
    return clone


def run_action(repository, carina, folder, **inputs):
    """Runs the step as GitHub does. Returns the exit code, the summary, and what the step printed."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "carina"]
    given = {name: row.get("default", "") for name, row in action["inputs"].items()} | inputs
    variables = {name: given.get(name.lower(), "") for name in step["env"]} | {
        "ACTION": str(ROOT),
        "WORK": str(folder / "runner"),
    }
    files = {"GITHUB_STEP_SUMMARY": folder / "summary.md", "GITHUB_OUTPUT": folder / "output"}
    environment = {
        **os.environ,
        **variables,
        **{name: str(path) for name, path in files.items()},
        "CARINA_BIN": str(carina),
    }
    done = subprocess.run(["bash", "-c", step["run"]], cwd=repository, env=environment, capture_output=True, text=True)
    summary = files["GITHUB_STEP_SUMMARY"].read_text() if files["GITHUB_STEP_SUMMARY"].exists() else ""
    return done.returncode, summary, done.stdout + done.stderr


def test_step_passes_if_nothing_changed(repository, carina, tmp_path):
    code, summary, said = run_action(
        repository,
        carina,
        tmp_path,
        model="digits.pt2",
        target="ethos-u55-128",
        options=OPTIONS,
        budgets="--max-growth 0",
        base="main",
    )
    assert code == 0, said
    assert "### digits.pt2 on ethos-u55-128" in summary and "+0.0 %" in summary and "exceeded" not in summary
    figures = Path((tmp_path / "output").read_text().strip().partition("figures=")[2])
    assert json.loads(figures.read_text())["cycles"] > 0


def test_the_step_fails_on_a_regression_of_two_percent(repository, carina, tmp_path):
    """The figures of the base are changed: 2 % and 1.8 % fewer cycles."""
    arguments = [CHECK, "digits.pt2", "-t", "ethos-u55-128", "-o", tmp_path / "x.pte", "--max-growth", "1.9"]
    environment = {**os.environ, "CARINA_BIN": str(carina)}
    subprocess.run(
        [*arguments[:-2], "--figures", tmp_path / "base.json", "--", *OPTIONS.split()],
        cwd=repository,
        env=environment,
        check=True,
        capture_output=True,
    )
    base = json.loads((tmp_path / "base.json").read_text())
    for cycles, code in [(base["cycles"] / 1.02, 1), (base["cycles"] / 1.018, 0)]:
        (tmp_path / "base.json").write_text(json.dumps({**base, "cycles": cycles}))
        done = subprocess.run(
            [*arguments, "--base", tmp_path / "base.json", "--", *OPTIONS.split()],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert ("check_budget: exceeded: NPU cycles per inference" in done.stderr) == (code == 1)


def test_a_model_that_the_base_does_not_have_is_held_against_budgets(repository, carina, tmp_path):
    (repository / "new.tosa").write_bytes((repository / "model.tosa").read_bytes())
    code, summary, said = run_action(
        repository, carina, tmp_path, model="new.tosa", target="ethos-u55-128", budgets="--max-cycles 100", base="main"
    )
    assert code == 1 and "**exceeded**" in summary and "main has no new.tosa" in said
    assert run_action(repository, carina, tmp_path, model="none.tosa", target="ethos-u55-128", base="")[0] == 1


def test_accuracy_is_a_budget(repository, carina, tmp_path):
    arguments = [CHECK, "digits.pt2", "-t", "ethos-u55-128", "-o", tmp_path / "x.pte", "--data", "test.npz"]
    environment = {**os.environ, "CARINA_BIN": str(carina)}
    for percent, code in [("98", 0), ("99.9", 1)]:
        done = subprocess.run(
            [*arguments, "--min-right", percent, "--", *OPTIONS.split()],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
    assert (
        subprocess.run(
            [*arguments[:-2], "--min-right", "9"], cwd=repository, env=environment, capture_output=True
        ).returncode
        == 2
    )


def test_budgets_have_the_units_of_the_program(repository, carina, tmp_path):
    environment = {**os.environ, "CARINA_BIN": str(carina)}
    for limit, code in [("1G", 0), ("1K", 1), ("1X", 2)]:
        command = [
            CHECK,
            "digits.pt2",
            "-t",
            "ethos-u55-128",
            "-o",
            tmp_path / "x.pte",
            "--max-sram",
            limit,
            "--",
            *OPTIONS.split(),
        ]
        done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        verdicts = {
            line.split("|")[1].strip(): line.split("|")[-2].strip()
            for line in done.stdout.splitlines()
            if line.startswith("| ")
        }
        if code < 2:
            assert (
                verdicts["SRAM, bytes"] == ("ok" if code == 0 else "**exceeded**") and verdicts["flash, bytes"] == ""
            ), "no limit, no verdict"


def run_install(folder, release, in_path=False):
    """Runs the step that installs, with programs that only record how they are called. `release`: whether there is a wheel."""
    tools = folder / "tools"
    tools.mkdir()
    action = folder / "action"
    (action / "scripts").mkdir(parents=True)
    record = 'echo "$(basename "$0") $*" >>"$RECORD"\n'
    programs = {
        "gh": record + ('touch "$WORK/wheels/carina-0.1.0-py3-none-any.whl"\n' if release else "exit 1\n"),
        "python3": record,
    }
    if in_path:
        programs["carina"] = "echo carina 0.1.0\n"
    for name, text in programs.items():
        (tools / name).write_text("#!/bin/bash\n" + text)
        (tools / name).chmod(0o755)
    (action / "scripts" / "setup.sh").write_text("#!/bin/bash\n" + record)
    (action / "scripts" / "setup.sh").chmod(0o755)
    for name in ("bash", "mkdir", "basename", "head", "touch"):
        (tools / name).symlink_to(shutil.which(name))
    step = next(
        step
        for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
        if step.get("id") == "install"
    )
    values = {
        "ACTION": str(action),
        "REPOSITORY": "owner/carina",
        "REF": "v0.1.0",
        "WORK": str(folder / "runner"),
        "GH_TOKEN": "none",
    }
    assert set(step["env"]) == set(values) and step["if"] == "inputs.install == ''"
    environment = {**values, "PATH": str(tools), "RECORD": str(folder / "record")}
    script = step["run"].replace("$ACTION", str(ROOT))
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "record").read_text().splitlines() if (folder / "record").exists() else []


def test_the_action_installs_its_own_release(tmp_path):
    said = run_install(tmp_path, release=True)
    assert (
        said[0]
        == f"gh release download v0.1.0 --repo owner/carina --pattern carina-*.whl --dir {tmp_path}/runner/wheels --clobber"
    )
    assert said[1:] == [
        "python3 -m pip install numpy",
        f"python3 -m pip install --no-deps --no-index --find-links {tmp_path}/runner/wheels carina",
    ]


def test_the_action_builds_its_checkout_where_there_is_no_release(tmp_path):
    assert run_install(tmp_path, release=False)[1:] == ["setup.sh ", f"python3 -m pip install {tmp_path}/action"]


def test_the_action_takes_a_program_that_is_installed(tmp_path):
    assert run_install(tmp_path, release=True, in_path=True) == []


def test_nothing_installs_carina_from_a_package_index_by_name():
    """The name is not this project's there. Where the files are named (`--no-index`), the name chooses among them."""
    files = subprocess.run(
        ["git", "ls-files", "*.yml", "*.yaml", "*.md", "*.sh", "*.py", "*.cpp", "*.toml", "Makefile"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = []
    for name in files.stdout.split():
        if name.startswith(("tests/", "CHANGELOG")):
            continue
        lines = (ROOT / name).read_text(errors="replace").splitlines()
        found += [
            f"{name}: {line.strip()}"
            for line in lines
            if re.search(r"pip3? install [^\n;`]*\bcarina(\[|['\"]|\s|$)", line) and "--no-index" not in line
        ]
    assert not found
