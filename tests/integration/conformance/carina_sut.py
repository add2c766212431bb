"""Carina as a system under test of the official TOSA test runner (tosa_verif_run_tests --sut-module carina_sut).

CARINA_SUT names the program, which is asked to `interpret` the test's graph as a user would ask it.
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


# How carina marks data that break a REQUIRE of the specification, which makes the result unpredictable; all else that it
# refuses is an error of the graph.
BROKEN_REQUIRE = "REQUIRE broken"


def refusal(done):
    """What the runner is told of a run that gave no outputs."""
    message = (done.stderr or done.stdout).strip()[-2000:]
    if done.returncode != 1:
        return GraphResult.OTHER_ERROR, message
    return GraphResult.TOSA_UNPREDICTABLE if BROKEN_REQUIRE in message else GraphResult.TOSA_ERROR, message


class TosaSUTRunner(TosaTestRunner):
    def commands(self, folder):
        """What a user would ask carina for, in this order; the last one writes the outputs to the folder."""
        return [["interpret", self.testDirPath / self.testDesc["tosa_file"], *self.inputs(), "-o", folder]]

    def inputs(self):
        return [word for name in self.testDesc["ifm_file"] for word in ("-i", self.testDirPath / name)]

    def runTestGraph(self):
        test = self.testDirPath
        with tempfile.TemporaryDirectory() as temporary:
            for command in self.commands(temporary):
                line = [os.environ["CARINA_SUT"], *map(str, command)]
                done = subprocess.run(line, capture_output=True, text=True, timeout=600)
                if done.returncode != 0:
                    return refusal(done)
            written = [Path(temporary) / f"output_{n}.npy" for n in range(len(self.testDesc["ofm_file"]))]
            for name, file, path in zip(self.testDesc["ofm_name"], self.testDesc["ofm_file"], written, strict=True):
                self.keep(name, path, test / file)
        return GraphResult.TOSA_VALID, None

    def keep(self, name, path, to):
        array = np.load(path, allow_pickle=False)
        types = self.testDesc.get("meta", {}).get("compliance", {}).get("tensors", {})
        narrow = NARROW.get(types.get(name, {}).get("data_type"))
        np.save(to, array.view(narrow) if narrow else array)
