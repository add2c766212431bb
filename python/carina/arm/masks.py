# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.masks import *  # noqa: F403
