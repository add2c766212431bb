#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "base/memory/mapped_pages.h"
#include "base/parallel/parallel.h"
#include "runtime/kernel.h"

// Steps that replace calls of a loaded method, and the functions that make them.
namespace carina::accelerate {

using runtime::Arguments;
using runtime::EValue;
using runtime::Tensor;

// The replacement of one or several calls. All parameters except the tensors' memory are fixed when it is made.
struct Step {
  virtual ~Step() = default;
  virtual void run(ThreadPool& pool) = 0;
};

struct Bounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// The calls after a convolution that are fused into it. `batch_norm` is empty if there is none.
struct Tail {
  Arguments batch_norm;
  Bounds bounds;
  EValue* out = nullptr;  // of the last call
};

struct ConvolutionCall {
  Arguments arguments;
  Tail tail;
};

// Each function returns nullptr if it does not support the types, sizes or layouts of the call.
std::unique_ptr<Step> make_convolution(Arguments arguments, const Tail& tail);
// Combines two convolutions, where the second is the only reader of the first one's output. That output is not written.
std::unique_ptr<Step> make_convolution_pair(const ConvolutionCall& first, const ConvolutionCall& second);
std::unique_ptr<Step> make_call(std::string_view name, Arguments arguments);
// Returns whether a call clamps its first argument to constant limits (relu, hardtanh, clamp). Returns the limits and
// the output.
bool bounds_of_clamp(std::string_view name, Arguments arguments, Bounds& bounds, EValue*& out);

// --- Properties of arguments

// Returns whether the value is a contiguous float tensor of fixed size. Its memory may be assigned later.
inline bool is_plain(const EValue& value) {
  return value.is_tensor() && value.tensor.type == PteScalarType::kFloat && value.tensor.contiguous() &&
         !value.tensor.resizable;
}
inline bool is_constant(const EValue& value) {
  return value.is_tensor() && value.tensor.read_only && value.tensor.data != nullptr;
}
// Releases the memory pages of weights that have been packed, since the originals are not read again. If the program is
// a mapped file, this reduces the memory of the process.
inline void leave_packed(const Tensor& weights) {
  constexpr size_t kWorthACall = 64 * 1024;
  if (weights.bytes() >= kWorthACall)
    release_pages_around({static_cast<const std::byte*>(weights.data), static_cast<size_t>(weights.bytes())});
}
inline bool overlap(const Tensor& a, const Tensor& b) {
  const auto* from = static_cast<const std::byte*>(a.data);
  const auto* to = static_cast<const std::byte*>(b.data);
  return from < to + b.bytes() && to < from + a.bytes();
}

}  // namespace carina::accelerate
