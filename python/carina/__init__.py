"""Carina for Python programs: PyTorch models on Arm Ethos-U NPUs. The compiler itself is C++ (`carina._native`).

    import carina

    program = carina.compile(model, (x,), target="ethos-u55-128", quantize="int8", calibration=samples)
    y = program.run(x)[0]
    print(program.explain())
    program.save("model.pte")

Options have the names and the defaults of the command line (`carina compile --help`), with underscores. PyTorch is needed
where a model of PyTorch is given, and not otherwise. What is wrong comes as carina.CarinaError, whose `diagnostics` say
what, where, what was expected, what was found and what to do.
"""

from carina._measure import accuracy, compare
from carina._native import __version__, targets
from carina._program import Explanation, Program, Report, compile, explain, tosa
from carina._run import Run, interpret, npu, run
from carina.errors import CarinaError, CarinaWarning, Diagnostic, EnvironmentFailure, InputError, InternalError, UsageError

__all__ = [
    "CarinaError",
    "CarinaWarning",
    "Diagnostic",
    "EnvironmentFailure",
    "Explanation",
    "InputError",
    "InternalError",
    "Program",
    "Report",
    "Run",
    "UsageError",
    "__version__",
    "accuracy",
    "compare",
    "compile",
    "explain",
    "interpret",
    "npu",
    "run",
    "targets",
    "tosa",
]
