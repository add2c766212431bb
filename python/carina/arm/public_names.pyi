# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.public_names import *  # noqa: F403
