# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.noops import *  # noqa: F403
