# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.targets import *  # noqa: F403
