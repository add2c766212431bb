# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.arm_backend import *  # noqa: F403
