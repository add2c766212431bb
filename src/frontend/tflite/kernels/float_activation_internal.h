// The activations that are fused into operators of floats.
#pragma once

#include <algorithm>
#include <string>

#include "frontend/tflite/kernels/kernel_call_internal.h"

namespace carina::tflite {

inline float activated(Activation activation, float x) {
  switch (activation) {
    case Activation::kRelu:
      return std::max(x, 0.0F);
    case Activation::kReluN1To1:
      return std::clamp(x, -1.0F, 1.0F);
    case Activation::kRelu6:
      return std::clamp(x, 0.0F, 6.0F);
    case Activation::kNone:
    case Activation::kTanh:
    case Activation::kSignBit:
      return x;
  }
  return x;
}

inline Result<void> need_float_activation(const KernelCall& call, const std::string& where) {
  const Activation activation = call.op().options.activation;
  if (activation != Activation::kTanh && activation != Activation::kSignBit) return {};
  return call.reject(where, "the fused activation is not supported", "none, RELU, RELU6 or RELU_N1_TO_1");
}

}  // namespace carina::tflite
