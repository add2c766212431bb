#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "accelerate/int8_internal.h"
#include "kernels/micro/microkernels.h"

// The quantized addition of ExecuTorch's Cortex-M backend. The scaled form of each of the 256 values of an operand is a
// table entry, so an element costs two lookups, one addition and one requantization.
namespace carina::accelerate {

namespace {

constexpr int64_t kRun = 4096;     // elements whose sums stay in the first-level cache
constexpr int64_t kAddShift = 20;  // left shift of an operand before it is scaled
constexpr int64_t kMinByte = std::numeric_limits<int8_t>::min();
constexpr int64_t kBytes = 256;

// CMSIS-NN's arm_nn_requantize of a value below 2^30 with a right shift, as in the runtime's kernel.
int64_t requantized(int64_t value, int64_t multiplier, int64_t right_shift) {
  const int64_t high = (value * multiplier + (int64_t{1} << 30)) >> 31;
  const int64_t mask = (int64_t{1} << right_shift) - 1;
  const int64_t result = high >> right_shift;
  const int64_t threshold = (mask >> 1) + (result < 0 ? 1 : 0);
  return result + ((high & mask) > threshold ? 1 : 0);
}

// The scaled result for each of the 256 values of an operand.
using Table = std::array<int32_t, kBytes>;

struct Scale {
  int64_t multiplier = 0;
  int64_t right_shift = 0;
};

// Reads a scale. Returns false if the vector kernels do not support it.
bool scale_of(Arguments arguments, size_t at, Scale& scale) {
  scale = {.multiplier = arguments[at]->to_int(), .right_shift = -arguments[at + 1]->to_int()};
  return scale.multiplier >= 0 && scale.multiplier <= std::numeric_limits<int32_t>::max() && scale.right_shift >= 0 &&
         scale.right_shift <= 31;
}

bool fill(Arguments arguments, size_t at, Table& table, int64_t& max) {
  Scale scale;
  const int64_t zero = arguments[at]->to_int();
  if (!scale_of(arguments, at + 1, scale) || std::abs(zero) > kBytes) return false;
  max = 0;
  for (int64_t i = 0; i < kBytes; ++i) {
    const int64_t value =
        requantized((i + kMinByte - zero) * (int64_t{1} << kAddShift), scale.multiplier, scale.right_shift);
    max = std::max(max, std::abs(value));
    table[static_cast<size_t>(i)] = static_cast<int32_t>(value);
  }
  return true;
}

class Int8Add final : public Step {
 public:
  Int8Add(const EValue* a, const EValue* b, EValue* out) : a_(a), b_(b), out_(out) {}

  bool prepare(Arguments arguments) {
    int64_t max_a = 0, max_b = 0;
    Scale scale;
    if (!fill(arguments, 1, table_a_, max_a) || !fill(arguments, 5, table_b_, max_b) ||
        !scale_of(arguments, 9, scale) || max_a + max_b > kMaxSum)
      return false;
    zero_ = arguments[8]->to_int();
    low_ = arguments[11]->to_int();
    high_ = arguments[12]->to_int();
    column_.fill(0);
    multiplier_.fill(static_cast<int32_t>(scale.multiplier));
    right_shift_.fill(static_cast<int32_t>(scale.right_shift));
    return std::abs(zero_) <= kBytes && low_ >= kMinByte && high_ < -kMinByte && low_ <= high_;
  }

  Error run(Workers& workers, std::byte* /*scratch*/) override {
    kernels::split(workers, static_cast<int64_t>(out_->tensor.elements()), kRun, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += kRun) run_elements(first, std::min(kRun, end - first));
    });
    return Error::kOk;
  }

 private:
  void run_elements(int64_t first, int64_t count) const {
    std::array<int32_t, kRun> sums;
    const int8_t* a = a_->tensor.as<const int8_t>() + first;
    const int8_t* b = b_->tensor.as<const int8_t>() + first;
    for (int64_t i = 0; i < count; ++i)
      sums[static_cast<size_t>(i)] =
          table_a_[static_cast<uint8_t>(a[i] + 128)] + table_b_[static_cast<uint8_t>(b[i] + 128)];
    // Converts the elements as rows of a vector's length, and then the rest.
    constexpr int64_t kLong = kernels::kRequantizeLanes;
    int8_t* out = out_->tensor.as<int8_t>() + first;
    const int64_t rows = count / kLong;
    write(sums.data(), rows, kLong, out);
    if (count % kLong == 0) return;
    std::array<int32_t, kLong> rest{};
    std::copy_n(sums.data() + rows * kLong, count % kLong, rest.data());
    write(rest.data(), 1, count % kLong, out + rows * kLong);
  }

  void write(const int32_t* sums, int64_t rows, int64_t channels, int8_t* out) const {
    kernels::requantize({.in = sums,
                         .in_stride = kernels::kRequantizeLanes,
                         .rows = rows,
                         .channels = channels,
                         .column = column_.data(),
                         .multiplier = multiplier_.data(),
                         .right_shift = right_shift_.data(),
                         .zero_point = static_cast<int32_t>(zero_),
                         .low = static_cast<int32_t>(low_),
                         .high = static_cast<int32_t>(high_),
                         .out = out,
                         .out_stride = kernels::kRequantizeLanes});
  }

  const EValue* a_;
  const EValue* b_;
  EValue* out_;
  Table table_a_{}, table_b_{};
  std::array<int32_t, kernels::kRequantizeLanes> column_{}, multiplier_{}, right_shift_{};
  int64_t zero_ = 0, low_ = 0, high_ = 0;
};

}  // namespace

// (self, zero_point, multiplier, shift, other, zero_point, multiplier, shift, output zero_point, multiplier, shift,
// low, high, out)
std::unique_ptr<Step> make_int8_add(Arguments arguments) {
  if (arguments.size() < 14) return nullptr;
  const EValue &a = *arguments[0], &b = *arguments[4];
  EValue& out = *arguments[13];
  if (!is_int8(a) || !is_int8(b) || !is_int8(out) || out.tensor.read_only || !same_layout(a.tensor, b.tensor) ||
      !same_layout(a.tensor, out.tensor))
    return nullptr;
  auto step = std::make_unique<Int8Add>(&a, &b, &out);
  return step->prepare(arguments) ? std::move(step) : nullptr;
}

}  // namespace carina::accelerate
