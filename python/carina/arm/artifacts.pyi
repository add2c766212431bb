# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.artifacts import *  # noqa: F403
