"""Tests output paths: an existing special file is written through or kept, an input is never overwritten, and a full disk or a closed
stdout is an error. FIFOs stand for devices."""

import json
import os
import resource
import signal
import stat
import subprocess
import threading
import time

import numpy as np
import pytest
from conftest import ROOT
from tier_plugin import hangs_up

MODEL = ROOT / "models" / "digits" / "digits.pt2"
CALIBRATION = ROOT / "models" / "digits" / "calibration.npz"
COMPILE = ["compile", MODEL, "--target", "ethos-u55-128", "--calibrate", CALIBRATION]


@pytest.fixture(scope="module")
def work(run_carina, tmp_path_factory):
    """digits as .pte, .tosa and Vela's raw file, each made once."""
    folder = tmp_path_factory.mktemp("outputs")
    run_carina([*COMPILE, "--dump", folder / "dump", "-o", folder / "digits.pte"])
    run_carina(["tosa", MODEL, "--calibrate", CALIBRATION, "-o", folder / "digits.tosa"])
    return folder


def test_a_fifo_is_written_into(carina, work, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    got = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()), daemon=True)
    reader.start()
    done = subprocess.run([carina, *COMPILE, "-o", fifo], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    reader.join(30)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert got == [(work / "digits.pte").read_bytes()]
    assert os.listdir(tmp_path) == ["fifo"]


def test_a_link_keeps_pointing_and_its_target_is_new(run_carina, work, tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "program.pte"
    target.write_bytes(b"old")
    (tmp_path / "link.pte").symlink_to("real/program.pte")
    (tmp_path / "dangling.tosa").symlink_to("real/new.tosa")
    run_carina([*COMPILE, "-o", tmp_path / "link.pte"])
    assert (tmp_path / "link.pte").is_symlink()
    assert target.read_bytes() == (work / "digits.pte").read_bytes()
    run_carina(["tosa", work / "digits.tosa", "-o", tmp_path / "dangling.tosa"])
    assert (tmp_path / "dangling.tosa").is_symlink()
    assert (tmp_path / "real" / "new.tosa").stat().st_size > 0
    assert sorted(os.listdir(tmp_path / "real")) == ["new.tosa", "program.pte"]


def test_mode_and_hard_links_are_kept(run_carina, work, tmp_path):
    first, second = tmp_path / "a.tosa", tmp_path / "b.tosa"
    first.write_bytes(b"old")
    first.chmod(0o640)
    run_carina(["tosa", work / "digits.tosa", "-o", first])
    assert stat.S_IMODE(first.stat().st_mode) == 0o640
    os.link(first, second)
    first_inode = first.stat().st_ino
    run_carina(["tosa", work / "digits.tosa", "--tosa-version", "0.80", "-o", second])
    assert second.stat().st_ino == first_inode == first.stat().st_ino
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("link", ["same", "symbolic", "hard"])
def test_an_input_is_never_overwritten(run_carina, work, tmp_path, link):
    def other_name(path):
        name = tmp_path / ("other" + path.suffix)
        name.unlink(missing_ok=True)
        if link == "same":
            return path
        name.symlink_to(path) if link == "symbolic" else os.link(path, name)
        return name

    model, data, tosa = tmp_path / "m.pt2", tmp_path / "c.npz", tmp_path / "m.tosa"
    model.write_bytes(MODEL.read_bytes())
    data.write_bytes(CALIBRATION.read_bytes())
    tosa.write_bytes((work / "digits.tosa").read_bytes())
    ini = tmp_path / "v.ini"
    ini.write_text("[System_Config.X]\n")
    stream = tmp_path / "stream.npz"
    stream.write_bytes((work / "dump" / "output_tag0_vela.npz").read_bytes())
    compile_ = ["compile", model, "--target", "ethos-u55-128", "--calibrate", data, "--config", ini]
    for args, victim in [
        (compile_, model),
        (compile_, data),
        (compile_, ini),
        (["tosa", tosa], tosa),
        (["tosa", model, "--calibrate", data], data),
    ]:
        before = victim.read_bytes()
        done = run_carina([*args, "-o", other_name(victim)], expect=2)
        assert "is an input of this command" in done.stderr and "--output" in done.stderr
        assert victim.read_bytes() == before
    done = run_carina(["npu", "run", stream, "--trace", other_name(stream)], expect=2)
    assert "--trace" in done.stderr
    assert stream.read_bytes() == (work / "dump" / "output_tag0_vela.npz").read_bytes()


def test_an_input_in_the_output_folder_is_never_overwritten(run_carina, work, tmp_path):
    x = np.zeros((1, 1, 8, 8), np.float32)
    np.save(tmp_path / "output_0.npy", x)
    before = (tmp_path / "output_0.npy").read_bytes()
    done = run_carina(["run", work / "digits.pte", "-i", tmp_path / "output_0.npy", "-o", tmp_path], expect=2)
    assert "is an input of this command" in done.stderr
    dump = tmp_path / "dump"
    dump.mkdir()
    name = next(p.name for p in (work / "dump").glob("*.tosa"))
    (dump / name).write_bytes((work / "dump" / name).read_bytes())
    run_carina(
        ["compile", dump / name, "--target", "ethos-u55-128", "--dump", dump, "-o", tmp_path / "x.pte"], expect=2
    )
    assert (tmp_path / "output_0.npy").read_bytes() == before
    np.save(tmp_path / "image.npy", x)  # another name in the folder of the outputs: allowed
    run_carina(["run", work / "digits.pte", "-i", tmp_path / "image.npy", "-o", tmp_path / "out"])


def test_a_dumped_value_never_overwrites_an_input(run_carina, work, tmp_path):
    values = json.loads(run_carina(["inspect", work / "digits.tosa", "--json"]).stdout)["text"]
    name = values.split("input %")[1].split(":")[0]
    np.save(tmp_path / f"{name}.npy", np.ones((1, 1, 8, 8), np.int8))
    args = ["interpret", work / "digits.tosa", "-i", tmp_path / f"{name}.npy", "--dump", tmp_path]
    before = (tmp_path / f"{name}.npy").read_bytes()
    done = run_carina(args, expect=2)
    assert "is an input of this command" in done.stderr
    assert os.listdir(tmp_path) == [f"{name}.npy"] and (tmp_path / f"{name}.npy").read_bytes() == before


@pytest.mark.parametrize("args", [["compile", "x.pt2", "-t", "ethos-u55-128", "-o", ""], ["tosa", "x.tosa", "-o", ""],
                                  ["run", "x.pte", "-o", ""], ["npu", "run", "x.npz", "--trace", ""]])  # fmt: skip
def test_an_empty_path_says_where(run_carina, args):
    done = run_carina(args, expect=2)
    assert f"{'--trace' if 'npu' in args else '--output'}: the path is empty" in done.stderr


def test_a_folder_is_no_output_file(run_carina, tmp_path):
    done = run_carina([*COMPILE, "-o", tmp_path], expect=2)
    assert "is a folder" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_nothing(carina, tmp_path, number):
    fifo = tmp_path / "stdout"
    os.mkfifo(fifo)
    (tmp_path / "out").mkdir()
    # The program blocks in print() after writing its temporary file, because the pipe is full and has no reader.
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    child = subprocess.Popen(
        [carina, *COMPILE, "-o", tmp_path / "out" / "x.pte"], stdout=writer, stderr=subprocess.PIPE, preexec_fn=hangs_up
    )
    for _ in range(600):
        if os.listdir(tmp_path / "out"):
            break
        time.sleep(0.1)
    assert [name for name in os.listdir(tmp_path / "out") if name.startswith("x.pte.tmp")]
    child.send_signal(number)
    assert child.wait(30) == -number
    assert os.listdir(tmp_path / "out") == []
    os.close(reader)
    os.close(writer)


def without_stdout():
    os.close(1)


def on_a_full_disk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["compile", "--help"], ["ops"], ["inspect", MODEL], ["inspect", MODEL, "--json"],
                                  ["explain", MODEL, "--target", "ethos-u55-128"]])  # fmt: skip
@pytest.mark.parametrize("trouble", [without_stdout, on_a_full_disk])
def test_what_cannot_be_printed_is_an_error(carina, tmp_path, args, trouble):
    with open(tmp_path / "stdout", "w") as out:
        done = subprocess.run(
            [carina, *args], stdout=out, stderr=subprocess.PIPE, text=True, preexec_fn=trouble, timeout=60
        )
    assert done.returncode == 1
    assert "carina: error: standard output: cannot write: " in done.stderr


def test_all_streams_closed_is_an_exit_code_and_no_file(carina, tmp_path):
    """If the lowest file descriptors are free, an output file must not get the number of stdout or stderr."""
    line = 'exec 0<&- 1>&- 2>&-; exec "$@"'
    command = ["sh", "-c", line, "sh", carina, *COMPILE, "--report", tmp_path / "page.html", "-o", tmp_path / "x.pte"]
    assert subprocess.run(command, timeout=60).returncode == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["compile", "tosa"])
def test_a_run_that_cannot_print_writes_nothing(carina, tmp_path, command):
    args = COMPILE if command == "compile" else ["tosa", MODEL, "--calibrate", CALIBRATION]
    done = subprocess.run(
        [carina, *args, "-o", tmp_path / "out"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=without_stdout,
        timeout=60,
    )
    assert done.returncode == 1 and "standard output" in done.stderr
    assert os.listdir(tmp_path) == []


# --- names of any bytes ---------------------------------------------------------------------------------------------

ODD = b"m\xff\xfe-\xc3\xa9"


@pytest.fixture
def odd(work, tmp_path):
    folder = os.fsencode(tmp_path) + b"/" + ODD
    os.mkdir(folder)
    for source in ("digits.pte", "digits.tosa"):
        with open(folder + b"/" + source.encode(), "wb") as file:
            file.write((work / source).read_bytes())
    with open(folder + b"/digits.pt2", "wb") as file:
        file.write(MODEL.read_bytes())
    with open(folder + b"/stream.npz", "wb") as file:
        file.write((work / "dump" / "output_tag0_vela.npz").read_bytes())
    return folder


@pytest.mark.parametrize(
    "args",
    [
        ["compile", b"digits.pt2", "--target", "ethos-u55-128", "-o", b"x.pte"],
        ["compile", b"digits.tosa", "--target", "ethos-u55-128", "-o", b"x.pte"],
        ["explain", b"digits.pt2", "--target", "ethos-u55-128"],
        ["run", b"digits.pte", "--timed", "-o", b"out"],
        ["accuracy", b"digits.pt2", b"digits.pte", "--data", str(ROOT / "models" / "digits" / "test.npz")],
        ["interpret", b"digits.tosa", "--profile", "-o", b"out"],
        ["tosa", b"digits.tosa", "-o", b"x.tosa"],
        ["tosa", "--verify", b"digits.tosa"],
        ["inspect", b"digits.pt2"],
        ["inspect", b"digits.pte"],
        ["disasm", b"digits.pte"],
        ["npu", "run", b"stream.npz", "--timed"],
        ["interpret", b"missing.tosa"],
    ],
)  # fmt: skip
def test_json_of_a_path_that_is_not_utf8(carina, odd, args):
    words = [odd + b"/" + a if isinstance(a, bytes) else a for a in args]
    done = subprocess.run([carina, *words, "--json"], capture_output=True, timeout=120)
    assert done.returncode == (1 if b"missing.tosa" in args else 0), done.stderr
    json.loads(done.stdout)
