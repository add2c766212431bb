#include "check/draw_inputs.h"

#include <algorithm>
#include <array>

#include "base/split_mix64.h"
#include "tensor/float_formats.h"

// Inputs of a check are drawn from the whole range of their type, so that clamps, saturation and the last entries of
// tables are met. A quarter of the elements come from a palette of four values, two of which are the extremes: pools
// and ARGMAX then meet equal values.
//   Example: int8, sample 0: 17 -128 91 91 127 -3 -128 66 ...
namespace carina::check {

namespace {

struct Range {
  int64_t low = 0;
  int64_t high = 0;
};

Range range_of(const DTypeRow& type, Spread spread) {
  if (spread == Spread::kZero) return {};
  if (type.dtype == DType::kBool) return {.low = 0, .high = 1};
  int bits = std::min(type.bits, 62);
  if (spread == Spread::kHalfOfBits) bits /= 2;
  if (spread == Spread::kSmall) bits = std::min(bits, 3);
  if (!type.is_signed) return {.low = 0, .high = (int64_t{1} << bits) - 1};
  return {.low = -(int64_t{1} << (bits - 1)), .high = (int64_t{1} << (bits - 1)) - 1};
}

// Draws integers of a range, a quarter of them from a palette.
class Integers {
 public:
  Integers(SplitMix64& random, const Range& range) : random_(random), range_(range) {
    palette_ = {range.low, range.high, any(random_.next()), any(random_.next())};
  }
  int64_t next() {
    const uint64_t drawn = random_.next();
    return (drawn & 3) == 0 ? palette_[drawn >> 2 & 3] : any(drawn >> 4);
  }

 private:
  [[nodiscard]] int64_t any(uint64_t drawn) const {
    return range_.low + static_cast<int64_t>(drawn % (static_cast<uint64_t>(range_.high - range_.low) + 1));
  }
  SplitMix64& random_;
  Range range_;
  std::array<int64_t, 4> palette_{};
};

// The rows that indices of the graph may select: the least of all GATHER and SCATTER nodes. 0: there are none.
int64_t least_rows(const ir::Graph& tosa) {
  int64_t least = 0;
  for (const ir::Node& node : tosa.nodes) {
    if (node.op != ir::Op(TosaOp::GATHER) && node.op != ir::Op(TosaOp::SCATTER)) continue;
    const int64_t rows = tosa[node.inputs[0]].shape[1];
    least = least == 0 ? rows : std::min(least, rows);
  }
  return least;
}

template <typename T>
void fill(std::span<T> to, Integers numbers) {
  for (T& value : to) value = static_cast<T>(numbers.next());
}

// Integers below `rows`, each `rows` ones different: SCATTER takes no index twice.
template <typename T>
void fill_indices(std::span<T> to, int64_t rows, int sample) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<T>((sample == 0 ? static_cast<int64_t>(i) : rows - 1 - static_cast<int64_t>(i) % rows) % rows);
}

// Numbers of the size of activations, with zeros and ones among them.
float float_of(int64_t drawn) {
  return static_cast<float>(drawn) / 32;
}

bool fill_floats(MutableTensor& tensor, DType dtype, Integers numbers) {
  switch (dtype) {
    case DType::kFp32:
      for (float& value : tensor.values<float>()) value = float_of(numbers.next());
      return true;
    case DType::kFp16:
      for (uint16_t& value : tensor.values<uint16_t>()) value = fp32_to_fp16(float_of(numbers.next()));
      return true;
    case DType::kBf16:
      for (uint16_t& value : tensor.values<uint16_t>()) value = fp32_to_bf16(float_of(numbers.next()));
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<std::vector<Tensor>> draw_inputs(const ir::Graph& tosa, int sample, Spread spread) {
  const int64_t rows = least_rows(tosa);
  SplitMix64 random(static_cast<uint64_t>(sample) + 1);
  std::vector<Tensor> inputs;
  for (const ir::ValueId id : tosa.inputs) {
    const DTypeRow& type = row_of(tosa[id].dtype);
    MutableTensor tensor(type.dtype, tosa[id].shape);
    if (type.is_float) {
      const bool is_zero = spread == Spread::kZero;
      const Range range{.low = is_zero ? 0 : -128, .high = is_zero ? 0 : 127};
      if (!fill_floats(tensor, type.dtype, Integers(random, range))) return std::nullopt;
      inputs.push_back(std::move(tensor).freeze());
      continue;
    }
    const Integers numbers(random, range_of(type, spread));
    const bool is_index = rows > 0 && spread != Spread::kZero;
    if (type.element_bytes == 1) {
      fill(tensor.values<int8_t>(), numbers);
    } else if (type.element_bytes == 2) {
      fill(tensor.values<int16_t>(), numbers);
    } else if (type.element_bytes == 4) {
      is_index ? fill_indices(tensor.values<int32_t>(), rows, sample) : fill(tensor.values<int32_t>(), numbers);
    } else if (type.element_bytes == 8) {
      is_index ? fill_indices(tensor.values<int64_t>(), rows, sample) : fill(tensor.values<int64_t>(), numbers);
    } else {
      return std::nullopt;
    }
    inputs.push_back(std::move(tensor).freeze());
  }
  return inputs;
}

}  // namespace carina::check
