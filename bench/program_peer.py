"""Runs a program in the official ExecuTorch runtime: for bench/run.py.

usage: program_peer.py make MODEL.pt2 FOLDER             writes FOLDER/portable.pte (undelegated, float) and FOLDER/xnnpack.pte
       program_peer.py run PROGRAM.pte INPUT.npy         prints {"cpu": seconds, "wall": seconds} of the fastest inference, one thread
"""

import json
import sys
import time
from pathlib import Path


def make(model, folder):
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge, to_edge_transform_and_lower

    def exported():
        return torch.export.load(model)

    programs = {"portable": to_edge(exported()), "xnnpack": to_edge_transform_and_lower(exported(), partitioner=[XnnpackPartitioner()])}
    for name, program in programs.items():
        (Path(folder) / f"{name}.pte").write_bytes(program.to_executorch().buffer)


def run(program, input_file):
    import numpy as np
    import torch
    from executorch.extension.pybindings import portable_lib

    torch.set_num_threads(1)
    portable_lib._threadpool_reset_threadpool(1) if hasattr(portable_lib, "_threadpool_reset_threadpool") else None
    method = portable_lib._load_for_executorch(program)
    inputs = [torch.from_numpy(np.load(input_file))]
    method.forward(inputs)
    best, end, calls = (float("inf"), 0.0), time.perf_counter() + 2, 0
    while calls < 3 or time.perf_counter() < end:
        wall, cpu = time.perf_counter(), time.process_time()
        method.forward(inputs)
        best = min(best, (time.process_time() - cpu, time.perf_counter() - wall))
        calls += 1
    print(json.dumps({"cpu": best[0], "wall": best[1]}))


if __name__ == "__main__":
    make(*sys.argv[2:4]) if sys.argv[1] == "make" else run(*sys.argv[2:4])
