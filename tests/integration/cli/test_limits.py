"""Memory and time are bounded by the size of a file, whatever numbers it contains. Processes run with a limit on address space or CPU time,
and their peak memory is measured."""

import io
import json
import os
import struct
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest
from conftest import ROOT

MODEL = ROOT / "models" / "digits" / "digits.pt2"
CALIBRATION = ROOT / "models" / "digits" / "calibration.npz"
MB = 1 << 20


@pytest.fixture(scope="module")
def stream(run_carina, tmp_path_factory):
    """Vela's raw file of digits, as arrays."""
    folder = tmp_path_factory.mktemp("limits")
    run_carina(
        [
            "compile",
            MODEL,
            "--target",
            "ethos-u55-128",
            "--calibrate",
            CALIBRATION,
            "--dump",
            folder,
            "-o",
            folder / "x.pte",
        ]
    )
    return dict(np.load(folder / "output_tag0_vela.npz"))


# A process inherits the peak memory of the process that forked it, so a small process starts it.
LAUNCHER = """
import json, os, resource, subprocess, sys
cpu_seconds, *command = sys.argv[1:]
limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds),) * 2)
child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limit)
stderr = child.stderr.read().decode(errors="replace")
_, status, usage = os.wait4(child.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), stderr, usage.ru_maxrss * 1024]))
"""


def measured(carina, args, cpu_seconds=60):
    """(exit code, stderr, largest memory in bytes)"""
    command = [sys.executable, "-S", "-c", LAUNCHER, str(cpu_seconds), str(carina), *map(str, args)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_an_archive_of_many_entries(carina, tmp_path):
    for name in ("many.npz", "many.pt2"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for i in range(30_000):
                archive.writestr(f"m/{i}", b"")
    for args in (["inspect", tmp_path / "many.npz"], ["inspect", tmp_path / "many.pt2"],
                 ["compile", tmp_path / "many.pt2", "-t", "ethos-u55-128", "-o", tmp_path / "x"]):  # fmt: skip
        code, stderr, memory = measured(carina, args)
        assert code == 1 and "many." in stderr, stderr
        assert memory < 150 * MB


@pytest.mark.parametrize("scratch", [1 << 31, 1 << 33, 1 << 40])
def test_scratch_that_nobody_touches_takes_no_memory(carina, stream, tmp_path, scratch):
    big = {**stream, "scratch_size": np.array(scratch), "scratch_shape": np.array([scratch])}
    np.savez(tmp_path / "big.npz", **big)
    code, stderr, memory = measured(carina, ["npu", "run", tmp_path / "big.npz"])
    assert memory < 300 * MB
    if scratch <= 1 << 32:
        assert code == 0, stderr
    else:
        assert code == 1 and "memory budget" in stderr and "big.npz" in stderr and "--memory-budget" in stderr, stderr
    code, stderr, _ = measured(carina, ["npu", "run", tmp_path / "big.npz", "--memory-budget", "1G"])
    assert code == 1 and "at most 1073741824 bytes" in stderr, stderr


@pytest.mark.parametrize("command", [["npu", "run"], ["disasm"]])
def test_a_stream_that_inflates(carina, stream, tmp_path, command):
    np.savez_compressed(tmp_path / "bomb.npz", **{**stream, "cmd_data": np.zeros(300 * MB, np.uint8)})
    code, stderr, memory = measured(carina, [*command, tmp_path / "bomb.npz"], cpu_seconds=20)
    assert code == 1 and "cmd_data" in stderr and "at most" in stderr, stderr
    assert memory < 1300 * MB


def test_arrays_that_inflate_over_the_budget(carina, stream, tmp_path):
    np.savez_compressed(tmp_path / "big.npz", **{**stream, "more": np.zeros(100 * MB, np.uint8)})
    code, stderr, memory = measured(carina, ["npu", "run", tmp_path / "big.npz", "--memory-budget", "50M"])
    assert code == 1 and "unpack" in stderr and "big.npz" in stderr, stderr
    assert memory < 60 * MB


@pytest.mark.parametrize("args", [["compile", "F", "-t", "ethos-u55-128", "-o", "x"], ["inspect", "F"], ["run", "F"], ["npu", "run", "F"],
                                  ["interpret", "F"], ["disasm", "F"]])  # fmt: skip
def test_a_fifo_is_no_input_and_is_not_waited_for(carina, tmp_path, args):
    os.mkfifo(tmp_path / "fifo.pte")
    done = subprocess.run([carina, *[str(tmp_path / "fifo.pte") if a == "F" else a for a in args]],
                          capture_output=True, text=True, timeout=30, cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1 and "not a regular file" in done.stderr


def test_an_input_that_changes_while_it_is_read_is_no_crash(carina, tmp_path):
    """A training script overwrites the file again and again. The result is output or a message, never a signal."""
    model = tmp_path / "m.pt2"
    data = MODEL.read_bytes() + bytes(8 * MB)  # data after the archive, which take long to read and have no effect
    stop = threading.Event()

    def save_again():
        while not stop.is_set():
            with open(model, "wb") as file:
                file.write(data[: MB // 2])
                file.flush()
                file.write(data[MB // 2 :])

    writer = threading.Thread(target=save_again)
    writer.start()
    try:
        codes = {
            subprocess.run([carina, "inspect", model], capture_output=True, timeout=60).returncode for _ in range(15)
        }
    finally:
        stop.set()
        writer.join()
    assert codes <= {0, 1}


# --- a long chain ---------------------------------------------------------------------------------------------------


def chain(path, length):
    """A .pt2 with a long chain of sigmoids, made from a torch.export of three, because exporting thousands takes minutes."""
    import torch

    class Three(torch.nn.Module):
        def forward(self, x):
            return torch.sigmoid(torch.sigmoid(torch.sigmoid(x * 2.0)))

    small = io.BytesIO()
    torch.export.save(torch.export.export(Three(), (torch.ones(1, 16),)), small)
    with zipfile.ZipFile(small) as archive:
        entries = {info.filename: archive.read(info) for info in archive.infolist()}
    name = next(n for n in entries if n.endswith("models/model.json"))
    model = json.loads(entries[name])
    graph = model["graph_module"]["graph"]
    links = [n for n in graph["nodes"] if "sigmoid" in n["target"]]
    first, template = links[0], json.dumps(links[1])
    before, last = links[0]["outputs"][0]["as_tensor"]["name"], links[2]["outputs"][0]["as_tensor"]["name"]
    of_template = links[1]["outputs"][0]["as_tensor"]["name"]
    value = json.dumps(graph["tensor_values"][of_template])
    nodes = graph["nodes"][: graph["nodes"].index(first) + 1]
    previous = before
    for i in range(length):
        own = last if i == length - 1 else f"link_{i}"
        node = template.replace(f'"{of_template}"', f'"{own}"').replace(f'"name": "{before}"', f'"name": "{previous}"')
        nodes.append(json.loads(node))
        graph["tensor_values"][own] = json.loads(value)
        previous = own
    graph["nodes"] = nodes
    entries[name] = json.dumps(model).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)


@pytest.mark.parametrize("kind", ["float", "int8"])
def test_a_chain_of_ten_thousand_nodes(carina, tmp_path, kind):
    chain(tmp_path / "chain.pt2", 10_000)
    np.save(tmp_path / "c.npy", np.random.default_rng(0).normal(size=(4, 16)).astype(np.float32))
    args = ["compile", tmp_path / "chain.pt2", "-t", "ethos-u55-128", "-o", tmp_path / "x.pte"]
    code, stderr, _ = measured(carina, [*args, *(["--calibrate", tmp_path / "c.npy"] if kind == "int8" else [])])
    assert code == 0, stderr  # -9 or -24: above the limit of CPU time


def test_zip64_sizes_of_numpy(run_carina, tmp_path):
    """Small entries in np.savez's format for 2 GiB and more: their sizes are only in zip64 fields."""
    array = io.BytesIO()
    np.save(array, np.arange(4, dtype=np.float32))
    data, name = array.getvalue(), b"x.npy"
    crc = zipfile.crc32(data)
    local = (
        struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0x21, crc, 0xFFFFFFFF, 0xFFFFFFFF, len(name), 20) + name
    )
    local += struct.pack("<HHQQ", 1, 16, len(data), len(data)) + data
    central = struct.pack(
        "<IHHHHHHIIIHHHHHII",
        0x02014B50,
        45,
        45,
        0,
        0,
        0,
        0x21,
        crc,
        0xFFFFFFFF,
        0xFFFFFFFF,
        len(name),
        20,
        0,
        0,
        0,
        0,
        0,
    )
    central += name + struct.pack("<HHQQ", 1, 16, len(data), len(data))
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1, 1, len(central), len(local), 0)
    (tmp_path / "x.npz").write_bytes(local + central + end)
    assert np.load(tmp_path / "x.npz")["x"][3] == 3
    assert "fp32 [4]" in run_carina(["inspect", tmp_path / "x.npz"]).stdout
