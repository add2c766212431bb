# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.opaque import *  # noqa: F403
