# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.quantization_report import *  # noqa: F403
