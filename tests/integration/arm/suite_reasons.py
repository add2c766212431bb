"""Why a test of the Arm backend's suite does not pass on Carina. The first row whose pattern matches the test's name gives the reason.

`internal`: the test depends on internals of the Arm backend. It is listed, and counts neither as passed nor as failed.
`more`: the test expects that a node stays on the CPU, and Carina delegates it. It counts as failed.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    pattern: str
    reason: str
    internal: bool = False
    more: bool = False


def _inside(pattern, reason):
    return Row(pattern, reason, internal=True)


def _more(pattern, reason):
    return Row(pattern, reason, more=True)


ROWS = (
    _inside(r"misc/test_partition_cycle_detection\.py", "private functions of its partitioner"),
    _inside(
        r"misc/test_vgf_(backend|check_env|smoke)\.py",
        "functions by which its VGF backend finds and calls Arm's converter",
    ),
    _inside(
        r"misc/test_external_vela_blocks\.py::test_ethosu_preprocess_outputs", "a private function of its TOSA backend"
    ),
    _inside(
        r"misc/test_extract_io_params_tosa\.py::test_only_vgf_partitioner_registers",
        "a private member of its partitioners",
    ),
    _inside(r"misc/test_mixed_type_lowering\.py", "which TOSA operators its own lowering of quantize nodes has"),
    _inside(
        r"quantizer/test_generic_annotater\.py::test_grid_sampler_annotation_keeps_default",
        "a private function of its annotator",
    ),
    _inside(r"quantizer/test_selective_quantization\.py::collection", "classes within its quantizer"),
    _inside(r"quantizer/test_vgf_snorm_quantization\.py", "classes within its quantizer"),
    Row(
        r"misc/test_transpose_counts\.py::.*\[(views|lstm|multihead_attention_rank3|model_[2346]_.*|maxpool2d_dilation_channels_last)\]",
        "Carina's graph has fewer TRANSPOSE operators than the test expects",
    ),
    Row(
        r"misc/test_transpose_counts\.py::.*\[(index_select|groupnorm|cumsum_rank3_dim0)\]",
        "Carina's graph has two TRANSPOSE operators more",
    ),
    Row(
        r"misc/test_shared_qspecs\.py::test_maximum_mixed_int8_int16_inputs",
        "the branch that is to have 16 bits has them; there both have 8",
    ),
    _more(
        r"quantizer/test_uint8_io_quantization\.py::test_cat_does_not_bridge",
        "Carina quantizes the concatenation, which is float there",
    ),
    Row(
        r"ops/test_index_put\.py::test_index_put_u55_INT",
        "Carina keeps the whole operator on the CPU; there its sum is a delegate",
    ),
    Row(
        r"ops/test_clamp\.py::test_clamp_tosa_INT.*_tensor",
        "constants of int64 stay int64; there they become int32 before the quantizer annotates",
    ),
    Row(
        r"misc/test_tosa_shape_support\.py::test_shape_extension_partitions",
        "dynamic shapes, which Carina does not have",
    ),
    Row(r"ops/test_while\.py", "loops stay on the CPU"),
    Row(r"ops/test_cond\.py::.*_INT", "branches of conditions are not quantized"),
    Row(r"ops/test_clamp\.py::.*\[int64_", "results of int64 stay int64, on the CPU; there they become int32"),
    Row(r"ops/test_adaptive_avg_pool2d\.py::.*_fp8", "one AVG_POOL2D where it has four"),
    Row(
        r"ops/test_transpose_conv2d\.py::.*_grouped_qat_axis0",
        "weights of a transposed convolution with groups have one scale",
    ),
    Row(
        r"ops/test_to_copy\.py::test_to_tosa_INT_REDUNDANT_CAST",
        "Carina drops a cast to the same type, and nothing is left to quantize",
    ),
    _more(
        r"misc/test_partition_decomposed_quantized_ops\.py::test_softplus_tosa_INT",
        "Carina quantizes and delegates a softplus",
    ),
)


def _row_of(test):
    return next((row for row in ROWS if re.search(row.pattern, test)), None)


def is_internal(test):
    row = _row_of(test)
    return row is not None and row.internal


def delegates_more(test):
    row = _row_of(test)
    return row is not None and row.more


def reason_of(test):
    row = _row_of(test)
    return row.reason if row else None
