"""Compiles a PyTorch model with the arguments of ExecuTorch's aot_arm_compiler.py: `python -m carina.aot_arm_compiler`, `carina aot`."""

import logging
import sys
from collections.abc import Sequence

from carina_arm.scripts.aot_options import OPTIONS, parser
from carina_arm.scripts.failures import failure_code
from carina_arm.scripts.options import check_meaning

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script. Returns its exit code: 0 success, 1 error in the input, 2 usage, 3 error of Carina."""
    options = parser()
    args = options.parse_args(arguments)
    logging.basicConfig(level=logging.DEBUG if args.debug else logging.WARNING, force=True)
    try:
        check_meaning(args, options, OPTIONS)
        from carina_arm.scripts.aot import build  # needs PyTorch; --help does not

        build(args)
    except Exception as error:  # noqa: BLE001  a script always ends with a message and a code
        return failure_code(error, show_trace=args.debug)
    return 0


if __name__ == "__main__":
    sys.exit(main())
