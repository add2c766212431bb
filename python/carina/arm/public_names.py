# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.public_names import *  # noqa: F403
