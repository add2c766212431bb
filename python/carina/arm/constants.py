# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.constants import *  # noqa: F403
