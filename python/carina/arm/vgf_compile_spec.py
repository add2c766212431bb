# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.vgf_compile_spec import *  # noqa: F403
