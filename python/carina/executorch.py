"""Ethos-U and VGF programs in the official ExecuTorch runtime.

Carina's simulator is the delegate "EthosUBackend", and its interpreter is the delegate "VgfBackend".

    import carina.executorch as npu
    from executorch.runtime import Runtime

    npu.register()
    method = Runtime.get().load_program("model.pte").load_method("forward")
    with npu.recorded() as calls:
        outputs = method.execute([x])
    print(calls[0]["npu"]["cycles"])

Needs the package `executorch`, and the library libcarina_executorch.so, which is in this package or in the build.
"""

import atexit
import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Report", "clear_reports", "last_error", "library_path", "recorded", "register", "reports"]

# The report of one delegate call, as `carina run --timed --json` prints it. For a timed Ethos-U delegate, "npu" has its
# cycles, layers, traffic and counters. For a VGF delegate, there is "vgf_nanoseconds".
Report = dict[str, Any]

_NAME = "libcarina_executorch.so"
_loaded: ctypes.CDLL | None = None


def _search_paths() -> list[Path]:
    """The paths of the library, in order: the package; the build of this package; the release build of the source."""
    package, source = Path(__file__).absolute().parent, Path(__file__).resolve().parent
    return [
        package / _NAME,
        package.parents[1] / "lib" / _NAME,
        source.parents[1] / "build" / "release" / "lib" / _NAME,
    ]


def library_path() -> Path:
    """The library that register() loads: $CARINA_EXECUTORCH_LIBRARY, or the first of _search_paths() that exists. Raises: FileNotFoundError."""
    if named := os.environ.get("CARINA_EXECUTORCH_LIBRARY"):
        return Path(named)
    if found := next((path for path in _search_paths() if path.exists()), None):
        return found
    paths = ", ".join(str(path.parent) for path in _search_paths())
    raise FileNotFoundError(
        f"{_NAME} is in none of {paths}: this package was built without it. `make test-env` and then `make wheel` make a wheel with it; "
        "or build Carina where the package executorch is (CARINA_EXECUTORCH); or set CARINA_EXECUTORCH_LIBRARY"
    )


@contextmanager
def _without_missing_kernels() -> Iterator[None]:
    """Hides ExecuTorch's stderr messages about kernels that the library requests and the runtime lacks. The library then adds its own
    kernels."""
    sys.stderr.flush()
    own = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(own, 2)
            os.close(own)
            said.seek(0)
            for line in said.read().splitlines(keepends=True):
                if b"not found" not in line:
                    os.write(2, line)


def _say_unregistered() -> None:
    if _loaded is None and "executorch.runtime" in sys.modules:
        print(
            "carina: warning: carina.executorch was imported, and register() was not called: nothing ran on the simulated NPU",
            file=sys.stderr,
        )


atexit.register(_say_unregistered)


def _library() -> ctypes.CDLL:
    if _loaded is None:
        raise RuntimeError("carina.executorch.register() was not called")
    return _loaded


def register(*, timed: bool = True) -> None:
    """Makes `executorch.runtime` in this process run Ethos-U and VGF delegates on the simulator and the interpreter.

    timed: estimate cycles (docs/cycle-model.md) of delegates that are loaded after this call; faster without it.
    Raises: FileNotFoundError without Carina's library; ImportError without the package executorch; RuntimeError if
    another EthosUBackend or VgfBackend is registered.
    """
    global _loaded
    if _loaded is None:
        from executorch.runtime import Runtime  # loads the runtime, in whose registry the library registers

        registered = Runtime.get().backend_registry.registered_backend_names
        for name in {"EthosUBackend", "VgfBackend"} & set(registered):
            raise RuntimeError(f"another {name} is registered in this process")
        with _without_missing_kernels():
            library = ctypes.CDLL(str(library_path()))
        library.carina_executorch_set_timed.argtypes = [ctypes.c_bool]
        library.carina_executorch_set_timed.restype = None
        library.carina_executorch_report_count.restype = ctypes.c_size_t
        library.carina_executorch_report.argtypes = [ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)]
        library.carina_executorch_report.restype = ctypes.c_char_p
        library.carina_executorch_clear_reports.restype = None
        library.carina_executorch_last_error.restype = ctypes.c_char_p
        _loaded = library
    _loaded.carina_executorch_set_timed(timed)


def reports() -> list[Report]:
    """One report per delegate call since the start or the last clear_reports(), as `carina run --json` prints them."""
    library, size = _library(), ctypes.c_size_t()
    texts = (
        library.carina_executorch_report(i, ctypes.byref(size)) for i in range(library.carina_executorch_report_count())
    )
    return [json.loads(text) for text in texts if text is not None]


@contextmanager
def recorded() -> Iterator[list[Report]]:
    """The reports of the delegate calls in a `with` block, in a list that is filled at its end. Drops earlier reports.

    Raises: RuntimeError before register().
    """
    calls: list[Report] = []
    clear_reports()
    try:
        yield calls
    finally:
        calls.extend(reports())


def clear_reports() -> None:
    """Drops the reports and the last error."""
    _library().carina_executorch_clear_reports()


def last_error() -> str:
    """The reason why the last delegate failed to load or to run, or "". ExecuTorch's own exception is a number."""
    text: bytes = _library().carina_executorch_last_error()
    return text.decode()
