# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.builder import *  # noqa: F403
