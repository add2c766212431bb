# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.external_blocks import *  # noqa: F403
