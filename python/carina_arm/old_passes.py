"""Passes of the Arm backend that its later releases lack, for scripts that pass them to ExecuTorch."""

from __future__ import annotations

from typing import Any

from executorch.exir.pass_base import ExportPass, PassResult
from torch.fx import GraphModule


class InsertCastForOpsWithInt64InputPass(ExportPass):  # type: ignore[misc]
    """Changes nothing: Carina's partitioners accept int64 inputs and convert them to int32 within delegates."""

    def __init__(self, *args: Any, **more: Any) -> None:
        del args, more
        super().__init__()

    def call(self, graph_module: GraphModule) -> PassResult:
        """Returns the graph unchanged."""
        return PassResult(graph_module, False)
