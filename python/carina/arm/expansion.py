# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.expansion import *  # noqa: F403
