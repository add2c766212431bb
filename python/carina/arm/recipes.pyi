# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.recipes import *  # noqa: F403
