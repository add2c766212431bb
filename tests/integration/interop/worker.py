"""Runs the official ExecuTorch runtime in its own process, with Carina's simulator and interpreter as delegates.

Reads jobs from stdin, one JSON object per line: {"program", "method", "inputs": .npz, "data": .ptd or null, "outputs": .npz,
"channels_last": [input numbers], "times": runs on one loaded program}. Answers each job with a line: {} or {"error": text}. The .npz files
contain input_<n> and output_<n>, the outputs of the last run.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch

import carina.executorch as npu

npu.register(timed=False)
import executorch.kernels.quantized  # noqa: E402,F401  registers quantize and dequantize
from executorch.extension.pybindings import portable_lib  # noqa: E402


def tensors(job):
    arrays = np.load(job["inputs"])
    found = [torch.from_numpy(arrays[f"input_{i}"]) for i in range(len(arrays.files))]
    for i in job["channels_last"]:
        found[i] = found[i].to(memory_format=torch.channels_last)
    return found


def run(job):
    program = Path(job["program"]).read_bytes()
    data = Path(job["data"]).read_bytes() if job["data"] else None
    module = portable_lib._load_for_executorch_from_buffer(program, data_map_buffer=data)
    for _ in range(job["times"]):
        outputs = module.run_method(job["method"], tuple(tensors(job)))
    np.savez(job["outputs"], **{f"output_{i}": y.contiguous().numpy() for i, y in enumerate(outputs)})
    return {}


for line in sys.stdin:
    try:
        answer = run(json.loads(line))
    except (RuntimeError, ValueError) as error:
        answer = {"error": f"{error} {npu.last_error() or ''}".strip()}
    print(json.dumps(answer), flush=True)
