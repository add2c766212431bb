# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.scatters import *  # noqa: F403
