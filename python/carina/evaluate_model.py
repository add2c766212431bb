"""Compares a compiled model with PyTorch, with the arguments of ExecuTorch's evaluate_model.py: `carina evaluate-model`."""

import sys
from collections.abc import Sequence

from carina_arm.scripts.evaluate_options import check, parser
from carina_arm.scripts.failures import failure_code

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script. Returns its exit code: 0 success, 1 error in the input, 2 usage, 3 error of Carina."""
    args = parser().parse_args(arguments)
    try:
        check(args)
        from carina_arm.scripts.evaluation import evaluate

        evaluate(args)
    except Exception as error:  # noqa: BLE001  a script always ends with a message and a code
        return failure_code(error, show_trace=args.debug)
    return 0


if __name__ == "__main__":
    sys.exit(main())
