# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.partitioner import *  # noqa: F403
