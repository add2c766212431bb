# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.row_observers import *  # noqa: F403
