# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.constants import *  # noqa: F403
