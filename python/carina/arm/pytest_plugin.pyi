# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.pytest_plugin import *  # noqa: F403
