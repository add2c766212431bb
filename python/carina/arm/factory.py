# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.factory import *  # noqa: F403
