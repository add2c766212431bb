"""Puts a program into a firmware image with the arguments of ExecuTorch's build_executor_runner.sh: `carina arm-build`."""

import sys
from collections.abc import Sequence

from carina_arm.scripts.failures import failure_code
from carina_arm.scripts.options import check_meaning
from carina_arm.scripts.runner_options import BUILD_OPTIONS, build_parser

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script. Returns the exit code of `carina firmware`."""
    options = build_parser()
    args = options.parse_args(arguments)
    try:
        check_meaning(args, options, BUILD_OPTIONS)
        from carina_arm.scripts.build import build

        return build(args)
    except Exception as error:  # noqa: BLE001  a script always ends with a message and a code
        return failure_code(error, show_trace=False)


if __name__ == "__main__":
    sys.exit(main())
