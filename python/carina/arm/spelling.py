# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.spelling import *  # noqa: F403
