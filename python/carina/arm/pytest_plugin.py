# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.pytest_plugin import *  # noqa: F403
