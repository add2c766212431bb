# cmake -DSTUB=_native.pyi -P types.cmake: adds the types that the stub generator omits, so that mypy --strict accepts
# the file.
file(READ ${STUB} text)
string(REPLACE "Annotated[NDArray, dict(order='C', device='cpu', writable=False)]" "NDArray[Any]" text "${text}")
string(REPLACE "from typing import Annotated\n" "from typing import Any\n" text "${text}")
string(REGEX REPLACE "\nclass Diagnostic:" "\n__version__: str\n\nclass Diagnostic:" text "${text}")
file(WRITE ${STUB} "${text}")
