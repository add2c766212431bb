"""Carina for Python programs: PyTorch models on Arm Ethos-U NPUs. The compiler itself is C++ (`carina._native`).

    import carina

    program = carina.compile(model, (x,), target="ethos-u55-128", quantize="int8", calibration=samples)
    y = program.run(x)[0]
    print(program.explain())
    program.save("model.pte")

Options have the names and the defaults of the command line (`carina compile --help`), with underscores. PyTorch is needed
only for PyTorch models. Errors are exceptions of type carina.CarinaError. Their `diagnostics` have what, where,
expected, got and hint.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from carina._command import DeviceRun as DeviceRun
    from carina._command import Sweep as Sweep
    from carina._command import disasm as disasm
    from carina._command import firmware as firmware
    from carina._command import qemu as qemu
    from carina._command import sweep as sweep
    from carina._finetune import Finetuned as Finetuned
    from carina._finetune import finetune as finetune
    from carina._inspect import inspect as inspect
    from carina._measure import Measured as Measured
    from carina._measure import accuracy as accuracy
    from carina._measure import compare as compare
    from carina._native import __version__ as __version__
    from carina._native import targets as targets
    from carina._option_table import Target as Target
    from carina._program import Explanation as Explanation
    from carina._program import Method as Method
    from carina._program import Port as Port
    from carina._program import Program as Program
    from carina._program import Report as Report
    from carina._program import compile as compile
    from carina._program import explain as explain
    from carina._program import tosa as tosa
    from carina._run import Run as Run
    from carina._run import TimedRun as TimedRun
    from carina._run import interpret as interpret
    from carina._run import npu as npu
    from carina._run import run as run
    from carina.errors import CarinaError as CarinaError
    from carina.errors import CarinaWarning as CarinaWarning
    from carina.errors import Diagnostic as Diagnostic
    from carina.errors import EnvironmentFailure as EnvironmentFailure
    from carina.errors import InputError as InputError
    from carina.errors import InternalError as InternalError
    from carina.errors import UsageError as UsageError

# The module of each name. A name is imported when it is first used, so that `import carina` loads nothing.
_HOMES = {
    "carina._command": ("DeviceRun", "Sweep", "disasm", "firmware", "qemu", "sweep"),
    "carina._finetune": ("Finetuned", "finetune"),
    "carina._inspect": ("inspect",),
    "carina._measure": ("Measured", "accuracy", "compare"),
    "carina._native": ("__version__", "targets"),
    "carina._option_table": ("Target",),
    "carina._program": ("Explanation", "Method", "Port", "Program", "Report", "compile", "explain", "tosa"),
    "carina._run": ("Run", "TimedRun", "interpret", "npu", "run"),
    "carina.errors": (
        "CarinaError",
        "CarinaWarning",
        "Diagnostic",
        "EnvironmentFailure",
        "InputError",
        "InternalError",
        "UsageError",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CarinaError",
    "CarinaWarning",
    "DeviceRun",
    "Diagnostic",
    "EnvironmentFailure",
    "Explanation",
    "Finetuned",
    "InputError",
    "InternalError",
    "Measured",
    "Method",
    "Port",
    "Program",
    "Report",
    "Run",
    "Sweep",
    "Target",
    "TimedRun",
    "UsageError",
    "__version__",
    "accuracy",
    "compare",
    "compile",
    "disasm",
    "explain",
    "finetune",
    "firmware",
    "inspect",
    "interpret",
    "npu",
    "qemu",
    "run",
    "sweep",
    "targets",
    "tosa",
]


_MODULES = ("arm", "vgf")  # imported when they are first used


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"carina.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'carina' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
