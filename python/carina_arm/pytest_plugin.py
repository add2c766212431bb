"""Runs the Arm backend's own pytest files on Carina: pytest -p carina.arm.pytest_plugin backends/arm/test/ops/test_add.py

Loading it calls install(). The names that the files import from executorch.backends.arm come from Carina, if Carina has them. The tester
and the internals of the Arm backend remain ExecuTorch's. Many of the tests expect a node on the CPU that Carina can delegate, so partitions
are limited to what the Arm backend delegates (install(arm_partition=True)); the environment variable CARINA_ARM_PARTITION=0 lifts the limit.
"""

import os

import carina

import carina_arm

carina_arm.install(arm_partition=os.environ.get("CARINA_ARM_PARTITION") != "0")


def pytest_report_header() -> str:
    """The line about Carina in pytest's header."""
    return f"carina.arm {carina.__version__} in the place of executorch.backends.arm"
