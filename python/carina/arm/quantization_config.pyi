# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.quantization_config import *  # noqa: F403
