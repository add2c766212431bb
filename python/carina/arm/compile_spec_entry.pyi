# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.compile_spec_entry import *  # noqa: F403
