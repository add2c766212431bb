# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.quantization_report import *  # noqa: F403
