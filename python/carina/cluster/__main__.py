"""The program behind `carina sweep --scheduler ...` and `carina accuracy --scheduler ...`."""

import json
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from carina.cluster.faults import ClusterError


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _prepare_process() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # `nohup` ignores SIGHUP
            signal.signal(number, _interrupt)
    if sys.stderr is None:  # closed by the caller
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _report(error: ClusterError, is_json: bool) -> None:
    print(f"carina: error: {error}" + (f"\n  hint: {error.hint}" if error.hint else ""), file=sys.stderr)
    if is_json:
        one = {
            "kind": "error",
            "rule": "",
            "where": "--scheduler",
            "what": str(error),
            "expected": "",
            "got": "",
            "hint": error.hint,
        }
        print(json.dumps({"file": "", "status": "failed", "errors": [one]}, indent=2))


def _run(name: str, words: Sequence[str]) -> int:
    try:
        from carina.cluster import accuracy, sweep
    except ModuleNotFoundError as error:
        if error.name != "distributed":
            raise
        raise ClusterError("Dask is not installed", hint="pip install dask distributed") from error
    return {"sweep": sweep.main, "accuracy": accuracy.main}[name](words)


def main(arguments: Sequence[str]) -> int:
    """Runs the command line. Returns the exit code."""
    name, *words = arguments
    _prepare_process()
    try:
        return _run(name, words)
    except ClusterError as error:
        _report(error, "--json" in words)
        return error.code
    except KeyboardInterrupt:
        print("carina: error: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
