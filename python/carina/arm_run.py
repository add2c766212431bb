"""Compiles and runs a PyTorch model with the arguments of ExecuTorch's run.sh and run_fvp.sh: `carina arm-run`."""

import sys
from collections.abc import Sequence

from carina_arm.scripts.failures import failure_code
from carina_arm.scripts.options import check_meaning
from carina_arm.scripts.runner_options import RUN_OPTIONS, parser

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script. Returns the exit code of the first command that failed, else 0."""
    options = parser()
    args = options.parse_args(arguments)
    try:
        check_meaning(args, options, RUN_OPTIONS)
        from carina_arm.scripts.run import run

        return run(args)
    except Exception as error:  # noqa: BLE001  a script always ends with a message and a code
        return failure_code(error, show_trace=False)


if __name__ == "__main__":
    sys.exit(main())
