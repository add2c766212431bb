"""Carina as a system under test of the official TOSA test runner (tosa_verif_run_tests --sut-module carina_sut).

CARINA_SUT is the path of the program. The test's graph is run with `carina interpret`, as a user would run it.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
from runner.tosa_test_runner import TosaTestRunner

# NumPy lacks these types. Carina writes their bits as integers, but tosa_verify expects '<V2' and '<V1' in the file's
# header, as ml_dtypes writes them. It expects integers for FP8E5M2.
NARROW = {"BF16": ml_dtypes.bfloat16, "FP8E4M3": ml_dtypes.float8_e4m3fn}

GraphResult = TosaTestRunner.TosaGraphResult


# Carina's mark for data that break a REQUIRE of the specification: the result is then unpredictable. Any other
# rejection is an error of the graph.
BROKEN_REQUIRE = "REQUIRE broken"


def failure_status(done):
    """The runner's status for a run without outputs."""
    message = (done.stderr or done.stdout).strip()[-2000:]
    if done.returncode != 1:
        return GraphResult.OTHER_ERROR, message
    return GraphResult.TOSA_UNPREDICTABLE if BROKEN_REQUIRE in message else GraphResult.TOSA_ERROR, message


class TosaSUTRunner(TosaTestRunner):
    def commands(self, folder):
        """The carina commands of a user, in order. The last one writes the outputs to the folder."""
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
                    return failure_status(done)
            written = [Path(temporary) / f"output_{n}.npy" for n in range(len(self.testDesc["ofm_file"]))]
            for name, file, path in zip(self.testDesc["ofm_name"], self.testDesc["ofm_file"], written, strict=True):
                self.keep(name, path, test / file)
        return GraphResult.TOSA_VALID, None

    def keep(self, name, path, to):
        array = np.load(path, allow_pickle=False)
        types = self.testDesc.get("meta", {}).get("compliance", {}).get("tensors", {})
        narrow = NARROW.get(types.get(name, {}).get("data_type"))
        np.save(to, array.view(narrow) if narrow else array)
