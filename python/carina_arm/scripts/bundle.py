"""Bundled programs (.bpte): a program with inputs and expected outputs."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from carina import Program

__all__ = ["bundle"]

_METHOD = "forward"


def bundle(program: Program, inputs: Sequence[Any], expected: Sequence[Any]) -> bytes:
    """A bundled program with one test case of the method "forward".

    inputs, expected: the leaves of its arguments and results, in order: tensors, ints, floats, bools. ExecuTorch's own package writes the
    file, so that its runner and Carina's can read it. Raises: ImportError without that package.
    """
    try:
        from executorch.devtools import BundledProgram
        from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
        from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
    except ImportError as error:
        raise ImportError(
            f"--bundleio needs the package executorch, which writes bundled programs: pip install executorch ({error})"
        ) from error
    suite = MethodTestSuite(
        method_name=_METHOD, test_cases=[MethodTestCase(inputs=list(inputs), expected_outputs=list(expected))]
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.pte"
        program.save(path)
        file: bytes = serialize_from_bundled_program_to_flatbuffer(BundledProgram(None, [suite], str(path)))
    return file
