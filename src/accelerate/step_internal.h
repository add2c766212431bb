#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory/mapped_pages.h"
#include "kernels/convolution.h"
#include "runtime/kernel.h"
#include "runtime/kernels/layout.h"
#include "runtime/rewrite.h"

// Steps that replace calls of a loaded method, and the functions that make them.
namespace carina::accelerate {

using kernels::Workers;
using runtime::Arguments;
using runtime::Error;
using runtime::EValue;
using runtime::Tensor;

// The replacement of one or several calls. All parameters except the tensors' memory are fixed when it is made.
struct Step {
  virtual ~Step() = default;
  // `scratch` has scratch_bytes(), aligned to kernels::kScratchAlignment.
  virtual Error run(Workers& workers, std::byte* scratch) = 0;
  [[nodiscard]] virtual size_t scratch_bytes() const { return 0; }
};

// A call that is one operator, whose operands and output are dense in the order that the operator has.
class OperatorStep final : public Step {
 public:
  OperatorStep(std::vector<const EValue*> operands, EValue* out, kernels::Operator op)
      : operands_(std::move(operands)), in_(operands_.size()), out_(out), operator_(std::move(op)) {}
  [[nodiscard]] size_t scratch_bytes() const override;
  Error run(Workers& workers, std::byte* scratch) override;

 private:
  std::vector<const EValue*> operands_;
  std::vector<const std::byte*> in_;
  EValue* out_;
  kernels::Operator operator_;
};

using Bounds = kernels::BoundsF32;

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
std::unique_ptr<Step> make_convolution(Arguments arguments, const Tail& tail, int threads);
// Combines two convolutions, where the second is the only reader of the first one's output. That output is not written.
std::unique_ptr<Step> make_convolution_pair(const ConvolutionCall& first, const ConvolutionCall& second, int threads);
std::unique_ptr<Step> make_call(std::string_view name, Arguments arguments, int threads);
std::unique_ptr<Step> make_layer_norm(Arguments arguments);
std::unique_ptr<Step> make_group_norm(Arguments arguments);
std::unique_ptr<Step> make_batch_norm(Arguments arguments);
std::unique_ptr<Step> make_batch_norm_of_batch(Arguments arguments);
// Returns whether a call clamps its first argument to constant limits (relu, hardtanh, clamp). Returns the limits and
// the output.
bool bounds_of_clamp(std::string_view name, Arguments arguments, Bounds& bounds, EValue*& out);

inline constexpr int64_t kGrain = 16 * 1024;  // elements that are worth another thread

// --- Properties of arguments

using runtime::same_layout;

inline bool is_number(const EValue& value) {
  return value.kind == EValue::Kind::kInt || value.kind == EValue::Kind::kDouble;
}

// Returns whether the value is a float tensor of fixed size.
inline bool is_fixed(const EValue& value) {
  return value.is_tensor() && value.tensor.type == PteScalarType::kFloat && !value.tensor.resizable;
}
// Returns whether the value is a contiguous float tensor of fixed size. Its memory may be assigned later.
inline bool is_plain(const EValue& value) {
  return is_fixed(value) && value.tensor.contiguous();
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

// --- Images: float tensors [N, C, ...] with one to three spatial axes

// How an image lies in memory. The order of its axes says so; where both are the same, as for one pixel, it is kPixels.
enum class ImageLayout : uint8_t {
  kPlanes,  // [N, C, D, H, W]
  kPixels,  // [N, D, H, W, C]: channels last
};
struct Image {
  int64_t batch, channels, pixels;
  ImageLayout layout;
  std::array<int64_t, 3> sizes;  // D, H, W; 1 for axes that it does not have
};
// No value for other ranks, types and orders of axes.
std::optional<Image> image_of(const EValue& value);
// The order of the axes of a channels-last image with `rank` axes.
std::span<const uint8_t> channels_last(size_t rank);

// Chooses the layout of images between the steps of a method: a planned image becomes channels-last if its writer and
// all its readers take it so.
void choose_image_layouts(runtime::MethodCalls& calls);

}  // namespace carina::accelerate
