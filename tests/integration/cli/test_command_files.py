"""Outputs that would overwrite each other, extensions of another format, and the files that a stopped run leaves."""

import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import ROOT
from tier_plugin import hangs_up

DIGITS = ROOT / "models" / "digits"
COMPILE = ["compile", DIGITS / "digits.pt2", "--target", "ethos-u55-128", "--calibrate", DIGITS / "calibration.npz"]


@pytest.fixture(scope="module")
def program(run_carina, tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "digits.pte"
    run_carina([*COMPILE, "-o", path])
    return path


@pytest.mark.parametrize(
    "args",
    [
        ["-o", "o.pte", "--report", "o.pte"],
        ["-o", "o.pte", "--report", "./o.pte"],
        ["-o", "o.pte", "--dump", ".", "--report", "output_tag0_vela.npz"],
        ["-o", "o.pte", "--summary", "s.csv", "--per-layer", "s.csv"],
    ],
)
def test_two_outputs_of_one_file_are_rejected(run_carina, tmp_path, args):
    done = run_carina([*COMPILE, *args], expect=2, cwd=tmp_path)
    assert "one would overwrite the other" in done.stderr and not list(tmp_path.iterdir())


@pytest.mark.parametrize("args", [["--etdump", "e", "--report", "e"], ["--bundle", "z.bpte", "--etdump", "z.bpte"]])
def test_two_outputs_of_run_are_rejected(run_carina, program, tmp_path, args):
    assert "one would overwrite the other" in run_carina(["run", program, *args], expect=2, cwd=tmp_path).stderr
    assert not list(tmp_path.iterdir())


def test_devices_take_several_outputs(run_carina, tmp_path):
    run_carina([*COMPILE, "-o", "/dev/null", "--report", "/dev/null"], cwd=tmp_path)


def test_names_that_are_no_utf8_are_written(run_carina, tmp_path):
    """Every file of --dump and every report is written for a model whose names are other bytes."""
    run_carina(["tosa", DIGITS / "digits.pt2", "--calibrate", DIGITS / "calibration.npz", "-o", tmp_path / "m.tosa"])
    model = (tmp_path / "m.tosa").read_bytes()
    assert b"linear" in model
    (tmp_path / "bad.tosa").write_bytes(model.replace(b"linear", b"\xffinea\xfe"))
    args = [
        "compile",
        tmp_path / "bad.tosa",
        "--target",
        "ethos-u55-128",
        "--dump",
        tmp_path / "dump",
        "-o",
        tmp_path / "o.pte",
    ]
    told = run_carina([*args, "--report", tmp_path / "r.html", "--per-layer", tmp_path / "l.csv", "--json"]).json
    assert told and list((tmp_path / "dump").glob("*operators*.json"))


@pytest.mark.parametrize("name", ["q.tosa", "q.xyz", "q.onnx", "q.html"])
def test_a_misleading_extension_is_rejected(run_carina, tmp_path, name):
    done = run_carina([*COMPILE, "-o", tmp_path / name], expect=2)
    assert ".pte, .bpte" in done.stderr and not list(tmp_path.iterdir())


def test_minus_is_no_file(run_carina, tmp_path):
    done = run_carina(["tosa", DIGITS / "digits.pt2", "-o", "-"], expect=2, cwd=tmp_path)
    assert "/dev/stdout" in done.stderr and not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--output", "--dump"])
def test_minus_is_no_folder(run_carina, tmp_path, option):
    args = ["interpret", "x.tosa"] if option == "--dump" else ["run", "x.pte"]
    assert f"{option}: - is not the name of a folder" in run_carina([*args, option, "-"], expect=2, cwd=tmp_path).stderr
    assert not list(tmp_path.iterdir())


def test_a_file_is_no_folder(run_carina, program, tmp_path):
    (tmp_path / "taken").touch()
    assert (
        "taken is a file: expected the name of a folder"
        in run_carina(["run", program, "-o", "taken"], expect=2, cwd=tmp_path).stderr
    )


def test_a_link_to_a_new_file_is_that_file(run_carina, program, tmp_path):
    (tmp_path / "link").symlink_to("new")
    done = run_carina(["run", program, "--etdump", "new", "--report", "link"], expect=2, cwd=tmp_path)
    assert "one would overwrite the other" in done.stderr and not (tmp_path / "new").exists()


def test_failed_write_is_not_reported_as_wrote(run_carina):
    done = run_carina(["tosa", DIGITS / "digits.pt2", "-o", "/dev/full"], expect=1)
    assert "wrote" not in done.stdout and "No space" in done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["--test-inputs", "nonexistent.npz"],
        ["--quantize", "none", "--calibrate", "nonexistent.npz"],
        ["--no-delegate", "--config", "nonexistent.ini"],
    ],
)
def test_files_that_are_not_there_are_errors(run_carina, tmp_path, args):
    command = ["compile", DIGITS / "digits.pt2", "--target", "ethos-u55-128", *args, "-o", tmp_path / "o.pte"]
    assert run_carina(command, expect=None, cwd=tmp_path).code in (1, 2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "args, said",
    [
        (["--sram-budget", "99999999999999999999"], "not a number of bytes"),
        (["--sram-budget", "9999999999G"], "not a number of bytes"),
        (["--quantize", "int8+minmax+mse"], "both set the ranges"),
        (["--quantize", "int8+per-tensor+per-channel"], "both set the granularity"),
        (["--quantize", "int9"], "auto, none"),
    ],
)
def test_meaningless_option_values_are_rejected(run_carina, tmp_path, args, said):
    assert said in run_carina([*COMPILE, *args, "-o", tmp_path / "o.pte"], expect=2).stderr


def test_an_entry_twice_in_json_is_rejected(run_carina, tmp_path):
    (tmp_path / "q.json").write_text('{"scheme": "int8", "scheme": "int16x8"}')
    done = run_carina([*COMPILE, "--quantize-config", tmp_path / "q.json", "-o", tmp_path / "o.pte"], expect=None)
    assert done.code in (1, 2) and "scheme is there twice" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_stopped_run_leaves_no_dump(carina, tmp_path, number):
    """Stdout is a full pipe. All files are written, and the run blocks there when the signal arrives."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b" " * 65536)
    except BlockingIOError:
        os.set_blocking(writer, True)
    out = tmp_path / "out"
    out.mkdir()
    command = [carina, *COMPILE, "--dump", out / "deep" / "dump", "-o", out / "o.pte"]
    child = subprocess.Popen(command, stdout=writer, stderr=subprocess.DEVNULL, preexec_fn=hangs_up)
    for _ in range(600):
        if any(path.name.startswith("o.pte") for path in out.iterdir()):
            break
        time.sleep(0.05)
    assert list((out / "deep" / "dump").iterdir()), "the dump is written"
    child.send_signal(number)
    assert child.wait(timeout=30) == -number
    os.close(reader)
    os.close(writer)
    assert not list(out.iterdir())


def test_a_failed_run_leaves_no_folder(run_carina, program, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((1, 2), "f4"))
    run_carina(["run", program, "-i", tmp_path / "x.npy", "-o", tmp_path / "a" / "b"], expect=1)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_a_failed_run_keeps_what_was_there(run_carina, program, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    np.save(tmp_path / "x.npy", np.zeros((1, 2), "f4"))
    run_carina(["run", program, "-i", tmp_path / "x.npy", "-o", tmp_path / "out"], expect=1)
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"


def test_a_full_disk_leaves_nothing(carina, tmp_path, run_carina):
    def small_files():
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000))

    run_carina(["tosa", DIGITS / "digits.pt2", "-o", tmp_path / "m.tosa"])
    done = subprocess.run(
        [carina, *COMPILE, "--dump", tmp_path / "dump", "-o", tmp_path / "o.pte"],
        capture_output=True,
        preexec_fn=small_files,
    )
    assert done.returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["m.tosa"]


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


OTHER_NPU = ["compile", DIGITS / "digits.pt2", "--target", "ethos-u85-256", "--calibrate", DIGITS / "calibration.npz"]


@pytest.mark.parametrize("limit", [0, 500, 3_000, 6_000, 10_000])
def test_a_failed_compile_keeps_the_dump_of_an_earlier_one(carina, run_carina, tmp_path, limit):
    """A limit of 3,000 bytes ends the second compile in one of the dump's files, 10,000 bytes in the program."""

    def small_files():
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    run_carina([*COMPILE, "--dump", tmp_path / "dump", "-o", tmp_path / "o.pte"])
    before = files_in(tmp_path / "dump")
    done = subprocess.run(
        [carina, *OTHER_NPU, "--dump", tmp_path / "dump", "-o", tmp_path / "o.pte"],
        capture_output=True,
        preexec_fn=small_files,
    )
    assert done.returncode == 1 and files_in(tmp_path / "dump") == before
    run_carina(
        [
            "accuracy",
            DIGITS / "digits.pt2",
            tmp_path / "o.pte",
            "--data",
            DIGITS / "test.npz",
            "--dump",
            tmp_path / "dump",
        ]
    )


def test_a_dump_replaces_the_files_of_an_earlier_compile_and_no_others(run_carina, tmp_path):
    folder = tmp_path / "dump"
    folder.mkdir()
    for name in ("output_tag7_vela.npz", "output_tag0_old.tosa", "mine.txt", "output_tagged.npz"):
        (folder / name).write_text("old")
    run_carina([*COMPILE, "--dump", folder, "-o", tmp_path / "o.pte"])
    once = files_in(folder)
    assert {"mine.txt", "output_tagged.npz"} < set(once) and not {"output_tag7_vela.npz", "output_tag0_old.tosa"} & set(
        once
    )
    run_carina([*COMPILE, "--dump", folder, "-o", tmp_path / "o.pte"])
    assert files_in(folder) == once


def test_a_folder_that_two_compiles_dump_into_has_the_files_of_one(carina, run_carina, tmp_path):
    alone = []
    for number, command in enumerate((COMPILE, OTHER_NPU)):
        run_carina([*command, "--dump", tmp_path / f"alone{number}", "-o", tmp_path / "o.pte"])
        alone.append(files_in(tmp_path / f"alone{number}"))
    for attempt in range(3):
        commands = [
            [carina, *command, "--dump", tmp_path / "dump", "-o", tmp_path / f"{attempt}-{i}.pte"]
            for i, command in enumerate([COMPILE, OTHER_NPU] * 3)
        ]
        children = [
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for command in commands
        ]
        errors = [child.communicate(timeout=120)[1] for child in children]
        assert [child.returncode for child in children] == [0] * len(children), errors
        assert files_in(tmp_path / "dump") in alone


def test_several_inputs_after_one_option(run_carina, program, tmp_path):
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", np.full((1, 1, 8, 8), i, "f4"))
    one = run_carina(["run", program, "-i", tmp_path / "0.npy"]).stdout
    assert run_carina(["run", program, "-i", tmp_path / "0.npy", "--timed", "--json"]).json
    for args in (["-i", "0.npy", "1.npy"], ["--input", "0.npy", "1.npy", "2.npy"]):
        several = run_carina(["run", program, *args], cwd=tmp_path, expect=None)
        repeated = run_carina(
            ["run", program, *[word for name in args[1:] for word in ("-i", name)]], cwd=tmp_path, expect=None
        )
        assert (several.code, several.stdout, several.stderr) == (repeated.code, repeated.stdout, repeated.stderr)
        assert "too many" not in several.stderr
    assert run_carina(["run", "-i", tmp_path / "0.npy", program]).stdout == one, (
        "the program behind an input, as before"
    )


def test_hints_of_usage(run_carina, program):
    assert "the model is missing" in run_carina(["compile"], expect=2).stderr
    assert "options follow the command" in run_carina(["--json", "targets"], expect=2).stderr
    assert re.search(
        r"model TEXT:PATH REQUIRED(.|\n)*--model_name TEXT:PATH +A \.pt2", run_carina(["compile", "--help"]).stdout
    )
    assert "takes no =" in run_carina(["run", program, "-i=x.npy"], expect=2).stderr


def test_a_reader_that_stops_is_no_error(carina):
    done = subprocess.run(f"'{carina}' ops | head -1", shell=True, capture_output=True, text=True)
    assert done.stdout and not done.stderr
