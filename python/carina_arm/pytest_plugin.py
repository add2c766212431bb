"""The Arm backend's own pytest files on Carina: pytest -p carina.arm.pytest_plugin backends/arm/test/ops/test_add.py

Loading it is install(): everything that the files import from executorch.backends.arm and that Carina has comes from
Carina; their tester, and what is internal to the Arm backend, stay ExecuTorch's.
"""

import carina.arm

carina.arm.install()


def pytest_report_header() -> str:
    """What the run is about."""
    return f"carina.arm {carina.__version__} in the place of executorch.backends.arm"
