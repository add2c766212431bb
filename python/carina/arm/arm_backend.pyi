# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.arm_backend import *  # noqa: F403
