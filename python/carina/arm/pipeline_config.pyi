# Made by scripts/generate_arm_types.py: do not edit.
from carina_arm.pipeline_config import *  # noqa: F403
