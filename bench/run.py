#!/usr/bin/env python3
"""Runs benchmarks and the peers that do the same, in the same minute on the same core. Prints ratios and asserts nothing.

usage: bench/run.py [--quick] [--only WORD]... [--json FILE]         (make bench; the reference implementations' Python)

--quick  without the peer's whole compile flow, which takes half a minute per model
--only   only rows whose names contain this word; `against-vela` is the part that writes docs/against-vela.md

Needs build/release (make build) and the environment of the reference implementations (tests/integration/setup.sh). Without ../shared
($CARINA_SHARED), only the rows of models/digits are measured. Both sides use one thread, unless a row says two. Times are CPU time, the
best of several runs, so that other work on the machine has little effect. On an idle machine CPU time equals wall time; --json has both.
Rows with two threads compare wall times, which are meaningful on an idle machine only. Memory is the peak of the process.
"""

import argparse
import contextlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import against_vela
from processes import (
    ROOT,
    SHARED,
    Cost,
    best_of,
    carina,
    commit,
    google_benchmark,
    peer_inference,
    process,
    program_peer,
)
from streams import deit_tiny

DIGITS = ROOT / "models" / "digits"
TARGET = "ethos-u55-128"
BATCH = 200  # samples of one process


@dataclass
class Row:
    name: str
    ours: Cost
    peer: Cost | None
    peer_name: str


# The peak memory of a process includes that of measured.py, which starts it.
LAUNCHER_MB = 10

# --- measuring -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def silence():
    """Hides the output of C++ libraries on the terminal."""
    sys.stdout.flush(), sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1), os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            for descriptor, copy in zip((1, 2), kept):
                os.dup2(copy, descriptor)
                os.close(copy)


def reference_model(model):
    """Cost of one inference of the official TOSA reference model."""
    import numpy as np
    import tosa_reference_model

    content, inputs = model.tosa.read_bytes(), [np.load(path) for path in model.tosa_inputs]
    with silence():
        return best_of(lambda: tosa_reference_model.run(content, inputs, verbosity="NONE"))


def reference_program(model, work):
    """Cost of the official TOSA reference model as a separate program, to measure its memory."""
    import tosa_reference_model
    from tosa.TosaGraph import TosaGraph

    block = TosaGraph.GetRootAs(bytearray(model.tosa.read_bytes()), 0).Regions(0).Blocks(0)
    inputs = [block.Inputs(i).decode() for i in range(block.InputsLength())]
    outputs = [block.Outputs(i).decode() for i in range(block.OutputsLength())]
    folder = Path(tosa_reference_model.__file__).resolve().parents[1] / "bin"
    graph = work / "graph.tosa"  # the program takes the text after the first dot of a name as the file type
    shutil.copyfile(model.tosa, graph)
    files = ["--tosa_file", graph, "--flatbuffer_dir", "/", "--output_dir", work, "--operator_fbs", folder / "tosa.fbs"]
    values = ["--ifm_name", ",".join(inputs), "--ifm_file", ",".join(map(str, model.tosa_inputs))]
    results = ["--ofm_name", ",".join(outputs), "--ofm_file", ",".join(f"result_{n}.npy" for n in range(len(outputs)))]
    return process([folder / "tosa_reference_model", *files, *values, *results])[0]


def two_threads(tosa, inputs):
    """(wall time with two threads, wall time with one). The bursts are short, and the best one counts."""
    costs = google_benchmark(
        "interpret_bench", "--benchmark_filter=warm|two", tosa, *inputs, repetitions=25, seconds=0.03
    )
    return (Cost(costs[name].wall, costs[name].wall) for name in ("two", "warm"))


def interpreter_memory(tosa, inputs):
    """Peak memory of `carina interpret`."""
    flags = [word for path in inputs for word in ("-i", path)]
    return process(carina("interpret", tosa, *flags))[0].megabytes


# --- the models ----------------------------------------------------------------------------------------------------


@dataclass
class Model:
    name: str
    float_model: Path
    input_file: Path
    tosa: Path  # an integer graph with its inputs
    tosa_inputs: list


def digits(work):
    import numpy as np

    image = np.load(DIGITS / "test.npz")["x"][:1]
    np.save(work / "digits.npy", image)
    process(
        carina(
            "compile",
            DIGITS / "digits.pt2",
            "--target",
            TARGET,
            "--calibrate",
            DIGITS / "calibration.npz",
            "--dump",
            work / "digits",
            "-o",
            work / "digits.pte",
        )
    )
    np.save(work / "digits_int8.npy", np.zeros(image.shape, np.int8))
    return Model(
        "digits",
        DIGITS / "digits.pt2",
        work / "digits.npy",
        next((work / "digits").glob("*.tosa")),
        [work / "digits_int8.npy"],
    )


def shared_case(name):
    folder = SHARED / "cases" / name
    part = "p0_" if (folder / "out_p0.tosa").exists() else ""
    tosa = folder / ("out_p0.tosa" if part else "out.tosa")
    return Model(name, folder / "model.pt2", folder / "input_0.npy", tosa, sorted(folder.glob(f"tosa_{part}in_*.npy")))


# --- the rows ------------------------------------------------------------------------------------------------------


def compile_rows(model, work, options):
    out = work / f"{model.name}.pte"
    dump = work / f"dump_{model.name}"
    command = carina(
        "compile",
        model.float_model,
        "--target",
        TARGET,
        "--quantize",
        "int8",
        "--calibrate",
        model.input_file,
        "--threads",
        "1",
        "-o",
        out,
    )
    ours, _ = process(command, repeat=5)
    peer = None
    if not options.quick:
        peer, text = process(
            [
                sys.executable,
                ROOT / "bench" / "peer_flow.py",
                model.float_model,
                model.input_file,
                TARGET,
                work / "peer.pte",
            ],
            cwd=work,
        )
        phases = json.loads(text.splitlines()[-1])
        print(
            f"  the peer's phases for {model.name}: "
            + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in phases.items()),
            file=sys.stderr,
        )
    yield Row(f"compile {model.name}: float .pt2 to .pte", ours, peer, "ExecuTorch Arm backend, fresh process")
    process([*command, "--dump", dump])
    tosa = next(dump.glob("*.tosa"))
    ours, _ = process(carina("compile", tosa, "--target", TARGET, "-o", out), repeat=5)
    flags = [
        f"--accelerator-config={TARGET}",
        "--output-format=raw",
        "--config=Arm/vela.ini",
        "--system-config=Ethos_U55_High_End_Embedded",
        "--memory-mode=Shared_Sram",
    ]
    peer, _ = process(
        [sys.executable, "-m", "ethosu.vela", *flags, f"--output-dir={work}/vela_{model.name}", tosa],
        repeat=2,
        cwd=work,
    )
    yield Row(f"compile {model.name}: TOSA to NPU", ours, peer, "Vela, fresh process")


ASKED = {"mobilenet_v2": 0.15, "deit_tiny": 0.5}  # goals: seconds on one core


def front_end(name, model, image, work):
    """Import, quantization with one sample, and lowering."""
    command = carina(
        "tosa",
        model,
        "--quantize",
        "int8",
        "--calibrate",
        image,
        "--threads",
        "1",
        "-o",
        work / f"{name}_front_end.tosa",
    )
    ours, _ = process(command, repeat=8)
    return Row(f"front end {name}: .pt2 to INT TOSA", ours, Cost(ASKED[name], ASKED[name]), "what is asked for")


def front_end_rows(model, work, options):
    yield front_end(model.name, model.float_model, model.input_file, work)
    if not options.quick:
        deit, image = deit_tiny(work)
        yield front_end("deit_tiny", deit, image, work)


def sweep_rows(model, work, options):
    """All NPUs with their legal memory modes in one command from the float model, compared with as many runs of Vela alone from TOSA."""
    words = [
        "sweep",
        model.float_model,
        "--targets",
        "all",
        "--memory-modes",
        "all",
        "--quantize",
        "int8",
        "--calibrate",
        model.input_file,
    ]
    ours, text = process(carina(*words, "--json"), repeat=2)
    rows = [row for row in json.loads(text)["rows"] if row["status"] == "compiled"]
    peer = None
    if not options.quick:
        peer = Cost(0.0, 0.0)
        for row in rows:
            flags = [
                f"--accelerator-config={row['target']}",
                "--output-format=raw",
                "--config=Arm/vela.ini",
                f"--system-config={row['system_config']}",
                f"--memory-mode={row['memory_mode']}",
            ]
            one, _ = process(
                [sys.executable, "-m", "ethosu.vela", *flags, f"--output-dir={work}/vela_sweep", model.tosa], cwd=work
            )
            peer = Cost(peer.seconds + one.seconds, peer.wall + one.wall, max(peer.megabytes, one.megabytes))
    yield Row(f"sweep {model.name}: {len(rows)} programs", ours, peer, f"Vela alone, {len(rows)} processes")
    print(
        f"  wall time of the sweep: {ours.wall:.1f} s"
        + (f", of Vela's processes one after the other: {peer.wall:.1f} s" if peer else ""),
        file=sys.stderr,
    )


def interpret_rows(model, work, options):
    ours = google_benchmark("interpret_bench", "--benchmark_filter=warm", model.tosa, *model.tosa_inputs)["warm"]
    ours.megabytes = interpreter_memory(model.tosa, model.tosa_inputs)
    peer = reference_model(model)
    peer.megabytes = reference_program(model, work).megabytes
    yield Row(
        f"interpret {model.name}: int8, warm", ours, peer, "tosa_reference_model, in process; memory of its program"
    )
    yield Row(
        f"interpret {model.name}: int8, two threads",
        *two_threads(model.tosa, model.tosa_inputs),
        "Carina with one thread, wall time",
    )


def simulate_rows(model, work, options):
    peer = reference_model(model)
    process(
        carina(
            "compile",
            model.tosa,
            "--target",
            TARGET,
            "--dump",
            work / f"stream_{model.name}",
            "-o",
            work / "stream.pte",
        )
    )
    streams = {"our stream": next((work / f"stream_{model.name}").glob("*_vela.npz"))}
    for target, name in {
        TARGET: "Vela's stream",
        "ethos-u65-512": "Vela's, U65-512",
        "ethos-u85-256": "Vela's, U85-256",
    }.items():
        vela = SHARED / "cases" / model.name / target / "out_vela.npz"
        if vela.exists():
            streams[name] = vela
    for name, stream in streams.items():
        costs = google_benchmark("simulate_bench", stream)
        for speed in ("cold", "warm", "timed"):
            yield Row(
                f"simulate {model.name}: {name}, {speed}",
                costs[speed],
                peer,
                "tosa_reference_model (no NPU), in process",
            )


def eager_rows(model, work, options):
    import numpy as np
    import torch

    torch.set_num_threads(1)
    tosa = work / f"{model.name}_float.tosa"
    process(carina("tosa", model.float_model, "-o", tosa))
    ours = google_benchmark("interpret_bench", "--benchmark_filter=warm", tosa, model.input_file)["warm"]
    ours.megabytes = interpreter_memory(tosa, [model.input_file])
    module = torch.export.load(str(model.float_model)).module(check_guards=False)
    example = torch.from_numpy(np.load(model.input_file))
    with torch.no_grad():
        peer = best_of(lambda: module(example))
    yield Row(f"interpret {model.name}: fp32, warm", ours, peer, "eager PyTorch, one thread")
    yield Row(
        f"interpret {model.name}: fp32, two threads",
        *two_threads(tosa, [model.input_file]),
        "Carina with one thread, wall time",
    )


def program_rows(model, work, options):
    folder = work / f"programs_{model.name}"
    folder.mkdir()
    program_peer("make", model.float_model, folder)
    portable = folder / "portable.pte"
    ours = google_benchmark(
        "program_bench", "--benchmark_filter=host|two", portable, model.input_file, repetitions=8, seconds=0.1
    )
    costs = {name: peer_inference(folder / f"{name}.pte", model.input_file) for name in ("portable", "xnnpack")}
    yield Row(
        f"program {model.name}: fp32, undelegated",
        ours["host"],
        costs["portable"],
        "ExecuTorch's portable kernels, the same .pte",
    )
    yield Row(
        f"program {model.name}: fp32, undelegated",
        ours["host"],
        costs["xnnpack"],
        "ExecuTorch with XNNPACK, one thread",
    )
    tosa = folder / "float.tosa"
    process(carina("tosa", model.float_model, "-o", tosa))
    interpreter = google_benchmark("interpret_bench", "--benchmark_filter=warm", tosa, model.input_file)["warm"]
    yield Row(
        f"interpret {model.name}: fp32, warm", interpreter, costs["xnnpack"], "ExecuTorch with XNNPACK, one thread"
    )
    yield Row(
        f"program {model.name}: fp32, two threads",
        Cost(ours["two"].wall, ours["two"].wall),
        Cost(ours["host"].wall, ours["host"].wall),
        "Carina with one thread, wall time",
    )


def int8_program_rows(model, work, options):
    folder = work / f"programs8_{model.name}"
    folder.mkdir()
    for kind in ("cortex_m", "xnnpack8"):
        program_peer(kind, model.float_model, model.input_file, folder)
    ours = google_benchmark("program_bench", folder / "cortex_m.pte", model.input_file, repetitions=8, seconds=0.1)
    peer = peer_inference(folder / "xnnpack8.pte", model.input_file)
    yield Row(
        f"program {model.name}: int8, undelegated",
        ours["host"],
        peer,
        "ExecuTorch with XNNPACK's int8, one thread; ours: the Cortex-M backend's operators",
    )
    interpreter = google_benchmark("interpret_bench", "--benchmark_filter=warm", model.tosa, *model.tosa_inputs)["warm"]
    yield Row(f"interpret {model.name}: int8, warm", interpreter, peer, "ExecuTorch with XNNPACK's int8, one thread")
    yield Row(
        f"program {model.name}: int8, undelegated",
        ours["host"],
        ours["portable"],
        "Carina's kernels as firmware has them, the same .pte",
    )
    yield Row(
        f"program {model.name}: int8, two threads",
        Cost(ours["two"].wall, ours["two"].wall),
        Cost(ours["host"].wall, ours["host"].wall),
        "Carina with one thread, wall time",
    )


def session_rows(model, work, options):
    import numpy as np

    pte, samples = work / f"session_{model.name}.pte", work / "samples.npy"
    process(
        carina(
            "compile",
            model.float_model,
            "--target",
            TARGET,
            "--quantize",
            "int8",
            "--calibrate",
            model.input_file,
            "-o",
            pte,
        )
    )
    np.save(samples, np.concatenate([np.load(model.input_file)] * BATCH))
    batch, _ = process(carina("run", pte, "-i", samples, "-o", work / "outputs", "--threads", "1"), repeat=3)
    costs = google_benchmark("session_bench", pte, model.input_file, repetitions=8)
    yield Row(
        f"session {model.name}: a run on the simulated NPU",
        costs["one"],
        Cost(batch.seconds / BATCH, batch.wall / BATCH),
        f"carina run, a sample of {BATCH}",
    )
    yield Row(
        f"session {model.name}: two threads",
        Cost(costs["two"].wall, costs["two"].wall),
        Cost(costs["one"].wall, costs["one"].wall),
        "a session of one thread, wall time",
    )


def vgf_rows(model, work, options):
    import model_converter

    converter = Path(model_converter.__file__).parent / "binaries/bin/model-converter"
    graph, theirs = work / f"{model.name}_vgf.tosa", work / f"{model.name}_theirs.vgf"
    for kind, tosa in (("int8", model.tosa), ("fp32", work / f"{model.name}_float.tosa")):
        if kind == "fp32":
            process(carina("tosa", model.float_model, "--quantize", "none", "-o", tosa))
        shutil.copyfile(tosa, graph)  # a name that model-converter accepts
        ours, _ = process(carina("tosa", graph, "-o", work / f"{model.name}.vgf"), repeat=5)
        peer, _ = process([converter, "-i", graph, "-o", theirs], repeat=3, cwd=work)
        yield Row(f"vgf {model.name}: {kind} TOSA to .vgf", ours, peer, "Arm's model-converter, fresh process")
    ours, _ = process(
        carina("compile", model.float_model, "--target", "vgf", "-o", work / f"{model.name}.vgf"), repeat=5
    )
    yield Row(f"vgf {model.name}: float .pt2 to .vgf", ours, peer, "model-converter alone, from the TOSA file")


PLAN = [
    (compile_rows, ("digits", "ds_cnn", "mobilenet_v2")),
    (front_end_rows, ("mobilenet_v2",)),
    (interpret_rows, ("digits", "ds_cnn", "resnet20", "lstm", "mobilenet_v2")),
    (simulate_rows, ("digits", "ds_cnn", "mobilenet_v2")),
    (eager_rows, ("digits", "ds_cnn", "mobilenet_v2")),
    (program_rows, ("digits", "ds_cnn", "mobilenet_v2")),
    (int8_program_rows, ("mobilenet_v2",)),
    (session_rows, ("mobilenet_v2",)),
    (vgf_rows, ("digits", "mobilenet_v2")),
    (sweep_rows, ("mobilenet_v2",)),
]


# --- printing ------------------------------------------------------------------------------------------------------


def in_words(seconds):
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"


def in_megabytes(cost):
    if not cost.megabytes:
        return "-"
    return f"<{LAUNCHER_MB} MB" if cost.megabytes < LAUNCHER_MB else f"{cost.megabytes:.0f} MB"


def printed(row):
    memory = in_megabytes(row.ours)
    if row.peer is None:
        return f"{row.name:48} {in_words(row.ours.seconds):>9} {memory:>8} {'not run':>9} {'-':>8} {'-':>9}  {row.peer_name}"
    peer_memory = in_megabytes(row.peer)
    return f"{row.name:48} {in_words(row.ours.seconds):>9} {memory:>8} {in_words(row.peer.seconds):>9} {peer_memory:>8} {row.peer.seconds / row.ours.seconds:8.1f}x  {row.peer_name}"


def machine():
    try:
        model = next(line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    return f"{model}, {os.cpu_count()} cores, load {load}; {time.strftime('%Y-%m-%d')}, commit {commit()}"


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without the peer's whole compile flow")
    parser.add_argument(
        "--only", action="append", default=[], metavar="WORD", help="only rows whose name holds this word"
    )
    parser.add_argument("--json", metavar="FILE", help="write the rows there too")
    return parser.parse_args()


def wanted(options, name):
    return not options.only or any(word in name for word in options.only)


def measure_rows(options, work):
    """Prints rows as they are measured. Returns (rows, skipped rows with their reasons)."""
    rows, not_run = [], []
    own = digits(work)
    for make_rows, names in PLAN:
        kind = make_rows.__name__.removesuffix("_rows")
        for name in names:
            if not wanted(options, f"{kind} {name}"):
                continue
            if name != "digits" and not (SHARED / "cases" / name).is_dir():
                not_run.append(f"{kind} {name}: no ../shared")
                continue
            try:
                for row in make_rows(own if name == "digits" else shared_case(name), work, options):
                    rows.append(row)
                    print(printed(row), flush=True)
            except (RuntimeError, ImportError, StopIteration, json.JSONDecodeError) as error:
                not_run.append(f"{kind} {name}: {error}")
    return rows, not_run


def main():
    options = parse_options()
    print(machine())
    print(f"{'':48} {'Carina':>9} {'peak':>8} {'peer':>9} {'peak':>8} {'peer/ours':>9}  peer")
    with tempfile.TemporaryDirectory() as folder:
        rows, not_run = measure_rows(options, Path(folder))
        if wanted(options, "against-vela"):
            if (SHARED / "cases").is_dir():
                against_vela.write(ROOT / "docs" / "against-vela.md", Path(folder), machine())
            else:
                not_run.append("against-vela: no ../shared")
    for line in not_run:
        print(f"not run: {line}")
    if options.json:
        content = [
            {"name": r.name, "ours": vars(r.ours), "peer": vars(r.peer) if r.peer else None, "peer_name": r.peer_name}
            for r in rows
        ]
        Path(options.json).write_text(json.dumps({"machine": machine(), "rows": content}, indent=1) + "\n")
    return 1 if any("no ../shared" not in line for line in not_run) else 0


if __name__ == "__main__":
    sys.exit(main())
