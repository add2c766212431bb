# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.opaque import *  # noqa: F403
