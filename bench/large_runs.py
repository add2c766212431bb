"""Measures runs of large models for large.py: on the simulated NPU, in the interpreter, and as a timed report."""

import numpy as np
from processes import ROOT, best_of, carina, google_benchmark, peer_inference, process, program_peer


def report_row(bench):
    """Compares the text output of `run --timed` with its JSON output."""
    row = "run --timed vit_base: as text"
    if not bench.is_wanted(row):
        return
    program = bench.program("vit_base")
    command = carina("run", program, "-i", bench.model("vit_base")[1], "--timed", "--threads", 1)
    text, _ = process(command, repeat=2)
    data, _ = process([*command, "--json"], repeat=2)
    print(
        f"{row:46} {text.seconds:7.2f} s, as JSON {data.seconds:.2f} s ({text.seconds / data.seconds:.2f} times, 1.3 asked)  {text.megabytes:6.0f} MB",
        flush=True,
    )


def int8_row(bench):
    """Compares the interpreter on an integer graph with ExecuTorch's XNNPACK."""
    row = "interpret resnet50: int8, warm"
    if not bench.is_wanted(row):
        return
    model, image = bench.model("resnet50")
    program_peer("xnnpack8", model, image, bench.work)
    peer = peer_inference(bench.work / "xnnpack8.pte", image)
    raw = bench.work / "resnet50_int8.npy"
    np.save(raw, np.zeros(np.load(image).shape, np.int8))
    ours = google_benchmark("interpret_bench", "--benchmark_filter=warm", bench.tosa("resnet50"), raw)["warm"]
    print(
        f"{row:46} {ours.seconds * 1e3:7.1f} ms, XNNPACK {peer.seconds * 1e3:.1f} ms ({ours.seconds / peer.seconds:.2f} times, 1.5 asked)",
        flush=True,
    )


def float_row(bench):
    """Compares the interpreter on a float graph with eager PyTorch."""
    row = "interpret vit_small: fp32, warm"
    if not bench.is_wanted(row):
        return
    import torch

    torch.set_num_threads(1)
    model, image = bench.model("vit_small")
    tosa = bench.work / "vit_small_float.tosa"
    process(carina("tosa", model, "-o", tosa))
    ours = google_benchmark("interpret_bench", "--benchmark_filter=warm", tosa, image)["warm"]
    module, example = torch.export.load(str(model)).module(check_guards=False), torch.from_numpy(np.load(image))
    with torch.no_grad():
        peer = best_of(lambda: module(example), seconds=2)
    print(
        f"{row:46} {ours.seconds * 1e3:7.1f} ms, eager PyTorch {peer.seconds * 1e3:.1f} ms ({ours.seconds / peer.seconds:.2f} times, 1 asked)",
        flush=True,
    )


def simulator_row(bench):
    """A network of 24 MB on the simulator: the first inference, later ones, and the peak memory of `carina run`, compared with a tiny
    network."""
    row = "simulate resnet50"
    if not bench.is_wanted(row):
        return
    peaks, streams = {}, {}
    for name, model, data in (
        ("resnet50", *bench.model("resnet50")),
        ("digits", ROOT / "models/digits/digits.pt2", ROOT / "models/digits/calibration.npz"),
    ):
        dump, program = bench.work / f"stream_{name}", bench.work / f"{name}_stream.pte"
        process(
            carina(
                "compile",
                model,
                "--target",
                "ethos-u55-128",
                "--quantize",
                "int8",
                "--calibrate",
                data,
                "--dump",
                dump,
                "-o",
                program,
            )
        )
        streams[name] = next(dump.glob("*_vela.npz"))
        image = bench.work / f"{name}_image.npy"
        np.save(image, np.load(data) if name == "resnet50" else np.load(data)["x"][:1])
        peaks[name] = process(carina("run", program, "-i", image, "--threads", 1))[0].megabytes
    costs = google_benchmark("simulate_bench", "--benchmark_filter=cold|warm", streams["resnet50"])
    size, peak, above = (
        streams["resnet50"].stat().st_size / 2**20,
        peaks["resnet50"],
        peaks["resnet50"] - peaks["digits"],
    )
    print(
        f"{row:46} {costs['cold'].seconds * 1e3:7.0f} ms cold (150 asked), {costs['warm'].seconds * 1e3:.0f} ms warm;"
        f" {peak:.0f} MB, {above:.0f} MB above digits, stream {size:.1f} MB ({peak / size:.2f} and {above / size:.2f} times, 2 asked)",
        flush=True,
    )


def run_rows(bench):
    for row in (report_row, int8_row, float_row, simulator_row):
        row(bench)
