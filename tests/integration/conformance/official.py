"""Runs the official TOSA test runner over folders of tests, with Carina as the system under test."""

import contextlib
import os
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import runner.tosa_refmodel_compliance_sut_run as reference
import runner.tosa_verif_run_tests as official
from runner.tosa_test_runner import TosaTestRunner, getBoundsResultFilePath, getRunnerResultFilePath

HERE = Path(__file__).resolve().parent
PACKAGES = Path(official.__file__).resolve().parents[1]


@dataclass(frozen=True)
class Outcome:
    test: str  # folder relative to the corpus
    passed: bool
    skipped: bool
    message: str


class KeptReference(reference.TosaSUTRunner):
    """Uses the reference model's results of an earlier run over the same tests again, because they take most of the time."""

    def runTestGraph(self):
        files = [self.testDirPath / name for name in self.testDesc["ofm_file"]]
        kept = [(getRunnerResultFilePath(file, self.__module__), file) for file in files]
        bounds = [(getBoundsResultFilePath(file, self.__module__), getBoundsResultFilePath(file)) for file in files]
        if not kept or not all(path.exists() for path, _ in kept):
            return super().runTestGraph()
        for path, file in kept + [pair for pair in bounds if pair[0].exists()]:
            path.replace(file)
        return TosaTestRunner.TosaGraphResult.TOSA_VALID, None


# The runner names results after the module of the class.
KeptReference.__module__ = reference.TosaSUTRunner.__module__
reference.TosaSUTRunner = KeptReference


def check(corpus, tests, program, jobs, log, sut="carina_sut"):
    """Runs the tests (folders below `corpus`). Returns an Outcome for each, sorted by name. `log` is a file for the runner's output, `sut`
    the module that runs a test."""
    os.environ["CARINA_SUT"] = str(program)
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    report = Path(log).with_suffix(".xml")
    names = Path(log).with_suffix(".list")
    names.write_text("\n".join(map(str, tests)))
    arguments = [
        "--ref-model-path", PACKAGES / "bin" / "tosa_reference_model",
        "--generate-lib-path", PACKAGES / "tosa_reference_model" / "libtosa_reference_generate_lib.so",
        "--verify-path", PACKAGES / "bin" / "tosa_verify",
        "--schema-path", PACKAGES / "bin" / "tosa.fbs",
        "--flatc-path", PACKAGES / "bin" / "flatc",
        "--sut-module", sut, "--xunit-file", report, "--extension", "all", "--no-color",
        "-j", jobs, "-b", "-T", names,
    ]  # fmt: skip
    with open(log, "w") as out, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        official.main([str(word) for word in arguments])
    return sorted(outcomes(report, Path(corpus), sut), key=lambda outcome: outcome.test)


def outcomes(report, corpus, sut):
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        if suite.get("name") != sut:
            continue
        for case in suite.iter("testcase"):
            failure, skipped = case.find("failure"), case.find("skipped")
            message = "" if failure is None else (failure.get("message") or failure.text or "").strip()
            name = os.path.relpath(case.get("name"), corpus)
            yield Outcome(name, failure is None and skipped is None, skipped is not None, message)
