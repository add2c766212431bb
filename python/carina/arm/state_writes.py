# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.state_writes import *  # noqa: F403
