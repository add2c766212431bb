# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.builder import *  # noqa: F403
