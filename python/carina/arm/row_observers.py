# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.row_observers import *  # noqa: F403
