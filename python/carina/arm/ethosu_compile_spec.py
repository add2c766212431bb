# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.ethosu_compile_spec import *  # noqa: F403
