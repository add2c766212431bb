"""The connection to a scheduler. Errors: ClusterError."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from carina.cluster.faults import ClusterError

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_SECONDS = 30


def command() -> str:
    """The path of the command `carina` on this machine."""
    found = os.environ.get("CARINA_BIN") or shutil.which("carina")
    if found is None:
        raise ClusterError("the command carina is not in PATH", hint="set CARINA_BIN to its path")
    return found


def run(words: list[str], **more: Any) -> "subprocess.CompletedProcess[str]":
    """Runs the command with these arguments on this machine."""
    return subprocess.run([command(), *words], check=False, encoding="utf-8", errors="replace", **more)


def _security(ca: str, cert: str, key: str) -> Any:
    from distributed.security import Security

    if not (ca or cert or key):
        return None  # Dask reads its own configuration
    if not (ca and cert and key):
        raise ClusterError("--tls-ca, --tls-cert and --tls-key are needed together", code=2)
    return Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True)


@contextmanager
def connected(address: str, ca: str = "", cert: str = "", key: str = "") -> Iterator["Client"]:
    """A Dask client that is closed at the end."""
    from distributed import Client

    from carina.cluster.sharing import quiet

    quiet()
    security = _security(ca, cert, key)
    try:
        client = Client(address, timeout=f"{_CONNECT_SECONDS}s", security=security, set_as_default=False)
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        hint = (
            ""
            if not address.startswith("tls") or security
            else "a tls:// scheduler needs --tls-ca, --tls-cert and --tls-key, or Dask's own settings"
        )
        raise ClusterError(
            f"no connection to the scheduler {address}: {str(error).splitlines()[0]}", hint=hint
        ) from error
    try:
        yield client
    finally:
        client.close(timeout=5)


@contextmanager
def reported(client: "Client", file: str) -> Iterator[None]:
    """Writes Dask's performance report at the end, if `file` is not empty."""
    if not file:
        yield
        return
    try:
        import bokeh  # noqa: F401
    except ImportError as error:
        raise ClusterError("--performance-report needs bokeh", hint="pip install bokeh") from error
    from distributed import performance_report

    with client.as_current(), performance_report(filename=file):
        yield
