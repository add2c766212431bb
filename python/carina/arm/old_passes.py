# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.old_passes import *  # noqa: F403
