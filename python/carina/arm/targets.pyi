# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.targets import *  # noqa: F403
