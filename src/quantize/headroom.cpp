#include "quantize/headroom_internal.h"

namespace carina::quantize {

Headroom headroom_for(const ir::Node& function, Range seen) {
  constexpr double kNearZero = 1.0 / 16;
  const auto unless = [](bool is_steep) { return is_steep ? Headroom::kHarmful : Headroom::kNeeded; };
  const auto reaches = [&](double pole) { return seen.min - pole < kNearZero * (seen.max - pole); };
  switch (function.op.aten()) {
    case AtenOp::abs_default:
    case AtenOp::celu_default:
    case AtenOp::elu_default:
    case AtenOp::gelu_default:
    case AtenOp::hardshrink_default:
    case AtenOp::hardswish_default:
    case AtenOp::leaky_relu_default:
    case AtenOp::log_sigmoid_default:
    case AtenOp::mish_default:
    case AtenOp::neg_default:
    case AtenOp::rrelu_default:
    case AtenOp::selu_default:
    case AtenOp::silu_default:
    case AtenOp::softplus_default:
    case AtenOp::softshrink_default:
    case AtenOp::threshold_default:
      return Headroom::kNeeded;
    case AtenOp::atan_default:
    case AtenOp::erf_default:
    case AtenOp::erfc_default:
    case AtenOp::hardsigmoid_default:
    case AtenOp::sigmoid_default:
    case AtenOp::tanh_default:
      return Headroom::kNeedless;
    case AtenOp::log10_default:
    case AtenOp::log2_default:
    case AtenOp::log_default:
    case AtenOp::reciprocal_default:
    case AtenOp::rsqrt_default:
    case AtenOp::sqrt_default:
      return unless(reaches(0));
    case AtenOp::log1p_default:
      return unless(reaches(-1));
    case AtenOp::pow_Tensor_Scalar:
      return unless(function.attributes.number("exponent") < 1 && reaches(0));
    default:
      return Headroom::kHarmful;
  }
}

}  // namespace carina::quantize
