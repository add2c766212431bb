"""Measures the overhead of dividing a sweep among many workers: bench/cluster.py --workers 1000 --rows 100000.

The compiler is a stub (cluster_stub.py), so only the work of Dask and of python/carina/cluster remains. Workers are real Dask workers with
one thread, many in one process. For each part, prints the CPU time of the scheduler and of the client, the bytes through the loopback
device, and the peak memory of client and scheduler. The bytes include all programs on the machine, unless it runs under `unshare -rn`.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")
IDLE_SECONDS = 15
# A worker monitors itself every 20 ms. With 250 workers in a process, this would take all CPU time.
CALM = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "60s",
    "DASK_DISTRIBUTED__ADMIN__TICK__CYCLE": "60s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "60s",
    "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False",
}
WORKERS = """
import asyncio, os, signal, sys
from distributed import Worker
async def main(address, folder, first, count):
    workers = [Worker(address, nthreads=1, name=str(n), local_directory=f"{folder}/w{n}", memory_limit=0, dashboard=False) for n in range(first, first + count)]
    for begin in range(0, count, 20):
        await asyncio.gather(*workers[begin:begin + 20])
    print("ready", flush=True)
    await asyncio.gather(*(worker.finished() for worker in workers))
if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
"""


def figures(process):
    """CPU seconds and peak bytes of a running process."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    peak = next(
        line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    return (int(fields[11]) + int(fields[12])) / TICKS, int(peak.split()[1]) * 1024


def loopback_bytes():
    line = next(line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


def make_stub(folder):
    stub = folder / "carina"
    stub.write_text(f'#!/bin/sh\nexec {os.path.realpath(sys.executable)} -I -S {HERE / "cluster_stub.py"} "$@"\n')
    stub.chmod(0o755)
    return stub


def start_scheduler(folder):
    file = folder / "scheduler.json"
    words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file]
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *words], stderr=subprocess.DEVNULL
    )
    while not (file.exists() and file.read_text().endswith("}")):
        time.sleep(0.05)
    return process, json.loads(file.read_text())["address"]


def start_workers(address, folder, count, per_process, environment):
    started = []
    for first in range(0, count, per_process):
        command = [sys.executable, "-c", WORKERS, address, folder, str(first), str(min(per_process, count - first))]
        started.append(
            subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=open(folder / f"workers{first}.log", "wb"),
                text=True,
            )
        )
    for process in started:
        assert process.stdout.readline() == "ready\n"
    return started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--row-bytes", type=int, default=9000, help="a row of mobilenet_v2 has 9,000")
    parser.add_argument("--modes", type=int, default=6, help="rows of a block")
    parser.add_argument("--seconds", type=float, default=0.05, help="what a row takes; the stub sleeps")
    parser.add_argument("--per-process", type=int, default=250)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "python")}
    environment |= {
        "STUB_TARGETS": str(-(-given.rows // given.modes)),
        "STUB_MODES": str(given.modes),
        "STUB_ROW_BYTES": str(given.row_bytes),
        "STUB_SECONDS": str(given.seconds),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment["CARINA_BIN"] = str(make_stub(folder))
        scheduler, address = start_scheduler(folder)
        workers = start_workers(address, folder, given.workers, given.per_process, {**environment, **CALM})
        started, _ = figures(scheduler)
        time.sleep(IDLE_SECONDS)
        idle_cpu, _ = figures(scheduler)
        idle_rate = (idle_cpu - started) / IDLE_SECONDS
        before = loopback_bytes()
        begin = time.monotonic()
        command = [
            sys.executable,
            "-m",
            "carina.cluster",
            "sweep",
            "m",
            "--scheduler",
            address,
            "--state",
            str(folder / "state"),
            "--progress",
            str(folder / "progress"),
        ]
        client = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        printed = client.stdout.read()
        _, status, usage = os.wait4(client.pid, 0)
        seconds = time.monotonic() - begin
        cpu, peak = figures(scheduler)
        rows = sum(1 for _ in open(folder / "state" / "key.jsonl", encoding="utf-8"))
        parts = json.loads((folder / "progress").read_text().splitlines()[-1])["parts"]
        moved = loopback_bytes() - before
        for process in [*workers, scheduler]:
            process.send_signal(signal.SIGTERM)
            process.wait()
    print(
        printed.strip(),
        f"exit code {os.waitstatus_to_exitcode(status)}, {rows} rows kept, {parts} parts, {seconds:.1f} s",
    )
    client_cpu = usage.ru_utime + usage.ru_stime
    used = cpu - idle_cpu
    idle = idle_rate * seconds
    print(
        f"scheduler: {used:.1f} CPU s, {1e3 * used / parts:.2f} ms a part, {1e3 * (used - idle) / parts:.2f} without the {idle:.1f} s that it takes when idle; peak {peak / 1e6:.0f} MB"
    )
    print(
        f"client: {client_cpu:.1f} CPU s, {1e3 * client_cpu / parts:.2f} ms a part; peak {usage.ru_maxrss * 1024 / 1e6:.0f} MB"
    )
    print(f"loopback: {moved / 1e6:.0f} MB, {moved / parts / 1e3:.1f} kB a part")


if __name__ == "__main__":
    main()
