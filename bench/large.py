"""Measures time and memory of models with up to 125 million parameters, in comparison with goals and with Vela in the same run.

usage: large.py [--only WORD]...        make bench BENCH=large

One thread, unless a row says two. Times are CPU time, user and system, so that other work on the machine has little effect. A ratio above 1
is better than the goal (or than Vela).
"""

import argparse
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
from large_runs import run_rows
from processes import ROOT, carina, process

TARGET = "ethos-u55-128"
EXPORTER = ROOT / "build" / "test-env" / "arm" / "bin" / "python"
DIGITS = ROOT / "models" / "digits"
MANY = 64  # samples
# Pairs of models that differ in one size only: the smaller, the larger, and the ratio of the sizes.
GROWTH = {"nodes": ("chain_100", "chain_800", 8), "weights": ("wide_1000", "wide_4000", 16)}


class Bench:
    def __init__(self, work, only, models):
        self.work, self.only, self.models = work, only, models or work

    def model(self, name):
        """Returns the paths of the model and of its input (.pt2, .npy). They are exported at the first call."""
        files = self.models / f"{name}.pt2", self.models / f"{name}.npy"
        if not files[0].exists():
            process([EXPORTER, ROOT / "bench" / "large_models.py", name, *files])
        return files

    def is_wanted(self, row):
        return not self.only or any(word in row for word in self.only)

    def compile(self, name, data=None, threads=1, more=()):
        model, sample = self.model(name)
        words = [
            "--target",
            TARGET,
            "--quantize",
            "int8",
            "--calibrate",
            data or sample,
            "--threads",
            threads,
            "-o",
            self.work / f"{name}.pte",
        ]
        return process(carina("compile", model, *words, *more))[0]

    def program(self, name):
        """The model's .pte, compiled now."""
        self.compile(name)
        return self.work / f"{name}.pte"

    def tosa(self, name):
        """The model's integer graph, compiled once."""
        dump = self.work / f"dump_{name}"
        if not dump.exists():
            self.compile(name, more=["--dump", dump])
        return next(dump.glob("*.tosa"))

    def many(self, name, count=MANY):
        """A file with `count` samples of noise."""
        path = self.work / f"{name}_{count}.npy"
        shape = np.load(self.model(name)[1], mmap_mode="r").shape
        samples = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(count, *shape[1:]))
        noise = np.random.default_rng(0)
        for sample in samples:
            sample[:] = noise.standard_normal(shape[1:], dtype=np.float32)
        return path

    def asked(self, row, run, seconds, megabytes=0):
        if not self.is_wanted(row):
            return
        cost = run()
        memory = (
            f"{cost.megabytes:6.0f} MB of {megabytes:4.0f} ({megabytes / cost.megabytes:4.2f}x)"
            if megabytes
            else f"{cost.megabytes:6.0f} MB"
        )
        print(
            f"{row:46} {cost.seconds:7.2f} s of {seconds:4.1f} asked ({seconds / cost.seconds:4.2f}x)  {memory}",
            flush=True,
        )


def compile_rows(bench):
    for name, seconds, beside_map in (("resnet50", 0.9, 250), ("mlp125", 4.0, 300), ("vit_base", 4.0, 350)):
        of_file = (
            0
            if name == "resnet50"
            else bench.model(name)[0].stat().st_size / 2**20
            if bench.is_wanted(f"compile {name}")
            else 0
        )
        bench.asked(f"compile {name}, one sample", lambda name=name: bench.compile(name), seconds, beside_map + of_file)
    for name, seconds in (("resnet50", 4.0), ("mobilenet_v2_896", 8.0)):
        bench.asked(f"compile {name}, {MANY} samples", lambda name=name: bench.compile(name, bench.many(name)), seconds)
    bench.asked("compile convolutions_1024, one sample", lambda: bench.compile("convolutions_1024"), 2.0)


def vela_row(bench):
    row = "resnet50: TOSA to NPU"
    if not bench.is_wanted(row):
        return
    tosa = bench.tosa("resnet50")
    ours, _ = process(
        carina("compile", tosa, "--target", TARGET, "--threads", 1, "-o", bench.work / "tosa.pte"), repeat=3
    )
    flags = [
        f"--accelerator-config={TARGET}",
        "--output-format=raw",
        "--config=Arm/vela.ini",
        "--system-config=Ethos_U55_High_End_Embedded",
        "--memory-mode=Shared_Sram",
    ]
    vela, _ = process(
        [sys.executable, "-m", "ethosu.vela", *flags, f"--output-dir={bench.work}/vela", tosa], repeat=2, cwd=bench.work
    )
    print(
        f"{row:46} {ours.seconds:7.2f} s, Vela {vela.seconds:.2f} s ({vela.seconds / ours.seconds:.2f}x, 4x asked)  {ours.megabytes:6.0f} MB, Vela {vela.megabytes:.0f} ({vela.megabytes / ours.megabytes:.2f}x)",
        flush=True,
    )


def thread_rows(bench):
    for name in ("resnet18", "resnet50"):
        row = f"compile {name}: two threads"
        if not bench.is_wanted(row):
            continue
        one, two = (
            min((bench.compile(name, threads=threads) for _ in range(3)), key=lambda cost: cost.wall)
            for threads in (1, 2)
        )
        print(
            f"{row:46} {two.wall:7.2f} s on the clock, one thread {one.wall:.2f} s ({one.wall / two.wall:.2f}x, 1.7x asked)",
            flush=True,
        )


def growth_rows(bench):
    """Exponents of time and memory in the size of a model."""
    for size, (small, large, times) in GROWTH.items():
        row = f"growth with {size}"
        if not bench.is_wanted(row):
            continue
        few, many = (
            min((bench.compile(name) for _ in range(3)), key=lambda cost: cost.seconds) for name in (small, large)
        )
        seconds, megabytes = (
            math.log(b / a, times) for a, b in ((few.seconds, many.seconds), (few.megabytes, many.megabytes))
        )
        print(
            f"{row:46} {few.seconds:7.2f} s and {many.seconds:.2f} s, {times} times the {size}: exponents {seconds:.2f} of time, {megabytes:.2f} of memory (1.05 asked)",
            flush=True,
        )


def stream_rows(bench):
    """Compares the peak memory for 2,000 samples with that for 10."""
    row = "compile resnet18: 2,000 samples"
    if not bench.is_wanted(row):
        return
    few, many = (bench.compile("resnet18", bench.many("resnet18", count)).megabytes for count in (10, 2000))
    print(f"{row:46} {many:7.1f} MB, of 10 samples {few:.1f} MB ({many / few:.2f} times, 1.2 asked)", flush=True)


def data_rows(bench):
    """Compares the peak memory for 100,000 samples with that for 10."""
    if not bench.is_wanted("digits: 100,000 samples"):
        return
    test = np.load(DIGITS / "test.npz")
    program = bench.work / "digits.pte"
    process(
        carina(
            "compile",
            DIGITS / "digits.pt2",
            "--target",
            TARGET,
            "--calibrate",
            DIGITS / "calibration.npz",
            "-o",
            program,
        )
    )
    peaks = {}
    for count in (10, 100_000):
        data = bench.work / f"digits_{count}.npz"
        order = np.arange(count) % len(test["x"])
        np.savez(data, x=test["x"][order], y=test["y"][order])
        peaks["accuracy", count] = process(carina("accuracy", DIGITS / "digits.pt2", program, "--data", data))[
            0
        ].megabytes
        peaks["compile", count] = process(
            carina("compile", DIGITS / "digits.pt2", "--target", TARGET, "--calibrate", data, "-o", program)
        )[0].megabytes
    for command in ("accuracy", "compile"):
        few, many = peaks[command, 10], peaks[command, 100_000]
        print(
            f"{f'{command} digits: 100,000 samples':46} {many:7.1f} MB, of 10 samples {few:.1f} MB ({many / few:.2f} times, 1.2 asked)",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", action="append", default=[], metavar="WORD", help="only rows whose name holds this word"
    )
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="where exported models are, and stay")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="carina_large_") as folder:
        bench = Bench(Path(folder), options.only, options.models)
        for rows in (compile_rows, vela_row, thread_rows, growth_rows, data_rows, stream_rows, run_rows):
            rows(bench)


if __name__ == "__main__":
    main()
