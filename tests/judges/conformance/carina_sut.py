"""Carina as a system under test of the official TOSA test runner (tosa_verif_run_tests --sut-module carina_sut).

CARINA_SUT names the program: `carina` itself, or the test program tosa_tool. Both take the test's arrays as .npy and write
each output as .npy.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
from runner.tosa_test_runner import TosaTestRunner

# NumPy has no such types: Carina writes their bits as integers, tosa_verify wants '<V2' and '<V1' in the file's header (but
# integers for FP8E5M2), which ml_dtypes writes.
NARROW = {"BF16": ml_dtypes.bfloat16, "FP8E4M3": ml_dtypes.float8_e4m3fn}

GraphResult = TosaTestRunner.TosaGraphResult


def command(program, model, inputs, folder, outputs):
    """The command line, and where it leaves its outputs."""
    written = [folder / f"output_{n}.npy" for n in range(outputs)]
    if program.name == "tosa_tool":
        return [program, "run", model, *inputs, "-o", *written], written
    flags = [word for path in inputs for word in ("-i", path)]
    return [program, "interpret", model, *flags, "-o", folder], written


# tosa_tool tells refusals from broken REQUIREs; carina says 1 for both.
RESULTS = {"tosa_tool": {1: GraphResult.TOSA_UNPREDICTABLE, 2: GraphResult.TOSA_ERROR}, "carina": {1: GraphResult.TOSA_ERROR}}


class TosaSUTRunner(TosaTestRunner):
    def runTestGraph(self):
        program = Path(os.environ["CARINA_SUT"])
        test = self.testDirPath
        with tempfile.TemporaryDirectory() as temporary:
            inputs = [test / name for name in self.testDesc["ifm_file"]]
            line, written = command(
                program, test / self.testDesc["tosa_file"], inputs, Path(temporary), len(self.testDesc["ofm_file"])
            )
            done = subprocess.run([str(word) for word in line], capture_output=True, text=True, timeout=600)
            if done.returncode != 0:
                message = (done.stderr or done.stdout).strip()[-2000:]
                return RESULTS[program.name].get(done.returncode, GraphResult.OTHER_ERROR), message
            for name, file, path in zip(self.testDesc["ofm_name"], self.testDesc["ofm_file"], written, strict=True):
                self.keep(name, path, test / file)
        return GraphResult.TOSA_VALID, None

    def keep(self, name, path, to):
        array = np.load(path, allow_pickle=False)
        types = self.testDesc.get("meta", {}).get("compliance", {}).get("tensors", {})
        narrow = NARROW.get(types.get(name, {}).get("data_type"))
        np.save(to, array.view(narrow) if narrow else array)
