"""The nodes that partitioners of carina.arm take in ExecuTorch's own flow, and the results under the TOSA reference model. arm_partition.py
has the programs."""

import pytest
from arm_programs import run_programs

PROGRAMS = (
    "moves_become_delegates",
    "nothing_left_is_no_delegate",
    "the_cost_rule_keeps_moves",
    "arm_partitions_keep_what_the_arm_backend_keeps",
    "arm_partitions_are_kept_in_specs",
    "arm_partitions_delegate_constants_alone",
    "pools_with_divisors",
    "adaptive_pools_repeat_elements",
    "copies_join_their_neighbors",
    "open_sizes_stay",
    "vgf_follows_its_specification",
    "comparisons_never_raise",
    "checks_cut_the_network",
    "unknown_operators_stay",
    "floats_between_integers",
    "all_orders_of_memory",
    "all_orders_of_memory_in_vgf",
    "quantized_ends_in_channels_last",
    "batch_first_recurrences",
    "multiples_are_added",
    "operators_are_spelled_as_there",
    "values_in_parts_of_tensors_are_selected_and_moved",
    "numbers_beside_scalars_keep_ranks",
    "floating_point_profile_has_indices",
    "floating_point_profile_has_no_other_integers",
    "indices_of_64_bits_are_narrowed",
    "transposed_convolutions_train",
    "samples_stay_as_they_are",
    "conditions_become_delegates",
    "constants_are_quantized",
    "settings_take_lists",
    "quantizers_report",
    "delegates_print_summaries",
    "integers_of_32_bits",
    "divisors_are_inverted",
    "complex_numbers_stay",
    "state_stays_on_the_cpu",
    "state_is_written_in_functional_form",
    "caches_are_in_the_delegate",
    "conditions_with_constants_stay_on_the_cpu",
    "uint8_ends_are_in_the_delegate",
    "a_float_reader_keeps_its_producer_alone",
    "integers_have_functions",
    "limits_may_be_tensors",
    "copied_outputs_are_in_the_delegate",
    "blocks_are_external",
)


@pytest.fixture(scope="module")
def outcome(carina, tmp_path_factory):
    return run_programs(carina, tmp_path_factory, "arm_partition.py", *PROGRAMS, seconds=1800)


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_of_the_partitioner_passes(outcome, program):
    passed, errors = outcome
    assert program in passed, errors[-6000:]
