# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.tosa_compile_spec import *  # noqa: F403
