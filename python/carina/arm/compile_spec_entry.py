# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.compile_spec_entry import *  # noqa: F403
