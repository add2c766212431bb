# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.masks import *  # noqa: F403
