# Made by scripts/generate_arm_modules.py: do not edit.
from carina_arm.pipeline_config import *  # noqa: F403
