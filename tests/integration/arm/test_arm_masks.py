"""Masks of attention in PyTorch's PT2E flow, with the Arm backend's quantizer as the reference. arm_masks.py has the programs."""

import pytest
from arm_programs import run_programs
from tier_plugin import sampled

PROGRAMS = (
    "late_masks_are_as_good_as_the_arm_backends",
    "masks_in_int16",
    "programs_hide_keys",
)
# In `make test-all`
MORE = (
    "known_masks_are_as_good_as_the_arm_backends",
    "large_scores_keep_their_masks",
    "batches_and_groups",
    "masks_in_training",
    "the_depth_of_masks_can_be_set",
    "other_infinities_saturate",
)
CHOSEN = sampled(PROGRAMS, PROGRAMS + MORE)


@pytest.fixture(scope="module")
def outcome(carina, tmp_path_factory):
    return run_programs(carina, tmp_path_factory, "arm_masks.py", *CHOSEN, seconds=1800)


@pytest.mark.parametrize("program", CHOSEN)
def test_program_with_masks_passes(outcome, program):
    passed, errors = outcome
    assert program in passed, errors[-6000:]
