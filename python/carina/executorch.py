"""Ethos-U and VGF programs in the official ExecuTorch runtime: Carina's simulator as its delegate "EthosUBackend", its interpreter as "VgfBackend".

    import carina.executorch as npu
    from executorch.runtime import Runtime

    npu.register()
    method = Runtime.get().load_program("model.pte").load_method("forward")
    outputs = method.execute([x])
    print(npu.reports()[-1]["npu"]["cycles"])

Needs the package `executorch`, and the library libcarina_executorch.so that Carina's build makes where that package is.
"""

import ctypes
import json
import os
from pathlib import Path
from typing import Any

__all__ = ["clear_reports", "last_error", "register", "reports"]

_NAME = "libcarina_executorch.so"
_loaded: ctypes.CDLL | None = None


def _find() -> Path:
    """The library: $CARINA_EXECUTORCH_LIBRARY, beside this file, or in the build of the source tree around it."""
    if named := os.environ.get("CARINA_EXECUTORCH_LIBRARY"):
        return Path(named)
    here = Path(__file__).resolve().parent
    for place in (here / _NAME, here.parents[1] / "build" / "release" / "lib" / _NAME):
        if place.exists():
            return place
    raise FileNotFoundError(f"{_NAME} is neither beside {here} nor in the build: build Carina where the package executorch is (CARINA_EXECUTORCH), or set CARINA_EXECUTORCH_LIBRARY")


def _library() -> ctypes.CDLL:
    if _loaded is None:
        raise RuntimeError("carina.executorch.register() was not called")
    return _loaded


def register(*, timed: bool = True) -> None:
    """Lets `executorch.runtime` run Ethos-U delegates on the simulator and VGF delegates in the interpreter, in this process from now on.

    timed: estimate cycles (docs/cycle-model.md) of delegates that are loaded from now on; without it runs are faster.
    Raises: FileNotFoundError where Carina's library is not; ImportError where the package executorch is not; RuntimeError
    when another EthosUBackend or VgfBackend is registered already.
    """
    global _loaded
    if _loaded is None:
        from executorch.runtime import Runtime  # loads the runtime whose registry the library joins

        registered = Runtime.get().backend_registry.registered_backend_names
        for name in {"EthosUBackend", "VgfBackend"} & set(registered):
            raise RuntimeError(f"another {name} is registered in this process")
        library = ctypes.CDLL(str(_find()))
        library.carina_executorch_set_timed.argtypes = [ctypes.c_bool]
        library.carina_executorch_set_timed.restype = None
        library.carina_executorch_report_count.restype = ctypes.c_size_t
        library.carina_executorch_report.argtypes = [ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)]
        library.carina_executorch_report.restype = ctypes.c_char_p
        library.carina_executorch_clear_reports.restype = None
        library.carina_executorch_last_error.restype = ctypes.c_char_p
        _loaded = library
    _loaded.carina_executorch_set_timed(timed)


def reports() -> list[dict[str, Any]]:
    """One report per delegate call since the start or the last clear_reports(), as `carina run --json` prints them."""
    library, size = _library(), ctypes.c_size_t()
    texts = (library.carina_executorch_report(i, ctypes.byref(size)) for i in range(library.carina_executorch_report_count()))
    return [json.loads(text) for text in texts if text is not None]


def clear_reports() -> None:
    """Forgets the reports and the last error."""
    _library().carina_executorch_clear_reports()


def last_error() -> str:
    """Why the last delegate failed to load or to run; "" when none did. ExecuTorch's own exception says no more than a number."""
    text: bytes = _library().carina_executorch_last_error()
    return text.decode()
