"""Passes of the Arm backend that its later releases do not have, for scripts that hand them to ExecuTorch."""

from __future__ import annotations

from typing import Any

from executorch.exir.pass_base import ExportPass, PassResult
from torch.fx import GraphModule


class InsertCastForOpsWithInt64InputPass(ExportPass):  # type: ignore[misc]
    """Changes nothing: Carina's partitioners take inputs of int64 and make them int32 within delegates."""

    def __init__(self, *args: Any, **more: Any) -> None:
        del args, more
        super().__init__()

    def call(self, graph_module: GraphModule) -> PassResult:
        """The graph as it is."""
        return PassResult(graph_module, False)
