#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facts/npu_enums.h"
#include "ir/graph.h"
#include "plan/network/shared_name.h"
#include "plan/network/view.h"
#include "tensor/fixed_point.h"

// The steps of a network in terms that all NPU families share: what is computed on which elements. The schedule decides
// addresses, formats, stripes and blocks (plan/schedule/schedule.h). The family decides how a step is written in
// registers (plan/family/family.h).
namespace carina::plan {

using WeightsId = Id<struct WeightsTag>;
using StepId = Id<struct StepTag>;

struct ElementType {
  uint8_t bits = 8;  // 8, 16, 32, 64
  bool is_signed = true;
  [[nodiscard]] int64_t bytes() const { return bits / 8; }
  [[nodiscard]] int64_t min() const { return is_signed ? -(int64_t{1} << (bits - 1)) : 0; }
  [[nodiscard]] int64_t max() const { return (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1; }
  bool operator==(const ElementType&) const = default;
};
inline constexpr ElementType kSigned8{8, true};
inline constexpr ElementType kSigned16{16, true};
inline constexpr ElementType kSigned32{32, true};
inline constexpr ElementType kSigned64{64, true};  // 48 bits are significant

// Up to three axes of a tensor's elements, as the NPU addresses them. Strides and the offset are in elements of `type`,
// as in View. Channels are contiguous, except in an OFM that the NPU transposes (Abilities::transposed_results): there
// rows or columns are contiguous, and channels are `stride_c` apart.
struct FeatureMap {
  TensorId tensor = {};
  int64_t offset = 0;
  int64_t height = 1;
  int64_t width = 1;
  int64_t depth = 1;
  int64_t stride_y = 0;
  int64_t stride_x = 0;
  int64_t stride_c = 1;
  ElementType type = {};
  int64_t zero_point = 0;
  [[nodiscard]] bool is_transposed() const { return stride_c != 1; }
  bool operator==(const FeatureMap&) const = default;
};

enum class StepKind : uint8_t { kConv, kDepthwise, kPool, kElementwise, kDma, kResize };

// The scaling of results: a factor with its rounding. kSingle rounds half up.
//   `first_shift` is of kDouble. The value is shifted to the left by so many bits before it is multiplied, and `shift`
//   is the rest of the shift to the right: the first of the two roundings is at bit 31 - first_shift of the product.
//   Example: RESCALE(x * 2^15) by m / 2^33 in two roundings is {m, shift = 18, kDouble, first_shift = 15}.
struct Scaling : ScaleFactor {
  Rounding rounding = Rounding::kSingle;
  int first_shift = 0;
  bool operator==(const Scaling&) const = default;
};
// An equivalent scaling with a smaller multiplier, if there is one. A power of two becomes a shift alone.
Scaling simplified(const Scaling& scaling);
// The scaling as an integer factor below 2^32, if multiplier / 2^shift is one.
std::optional<uint32_t> whole_factor(const Scaling& scaling);

// The operand scaling of ADD and SUB of 8 and 16 bits, which comes before the addition. Some families give only one
// operand a full 32-bit factor (`precise`); the factor of the other operand is then a power of two.
struct OperandScaling {
  Scaling first = {};
  Scaling second = {};
  enum class Precise : uint8_t { kBothAlike, kFirst, kSecond } precise = Precise::kBothAlike;
  bool operator==(const OperandScaling&) const = default;
};

// The functions of 16 bits that the output stage has: TFLite's sigmoid and tanh of a value in units of 1 / (3 * 4096),
// which may have more than 16 bits. On some NPUs they read a table of 512 words.
enum class BuiltIn : uint8_t { kNone, kTanh, kSigmoid };

// The activation function after scaling and zero point: a clamp, then a table lookup. A table is a constant of 256
// bytes (8 bits), 256 words (8 bits, with results of 32 bits) or 512 words (16 bits).
struct Activation {
  int64_t min = 0;
  int64_t max = 0;
  TensorId table = {};
  BuiltIn built_in = BuiltIn::kNone;  // instead of the lookup
  bool wraps = false;                 // no clamp: values that do not fit lose their high bits
  bool operator==(const Activation&) const = default;
};

struct Kernel {
  int64_t height = 1;  // taps
  int64_t width = 1;
  int64_t stride_y = 1;
  int64_t stride_x = 1;
  int64_t dilation_y = 1;
  int64_t dilation_x = 1;
  [[nodiscard]] int64_t extent_h() const { return (height - 1) * dilation_y + 1; }
  [[nodiscard]] int64_t extent_w() const { return (width - 1) * dilation_x + 1; }
  [[nodiscard]] int64_t taps() const { return height * width; }
  bool operator==(const Kernel&) const = default;
};

struct Padding {
  int64_t top = 0;
  int64_t bottom = 0;
  int64_t left = 0;
  int64_t right = 0;
  bool operator==(const Padding&) const = default;
};

// RESIZE along one axis: output i takes its value from position (i * step + offset) / scale of the input.
struct ResizeAxis {
  int64_t scale = 1;
  int64_t step = 1;
  int64_t offset = 0;
  bool operator==(const ResizeAxis&) const = default;
};
struct Resize {
  npu::ResizeMode mode = npu::ResizeMode::NEAREST;
  ResizeAxis y = {};
  ResizeAxis x = {};
  bool rounds_away = false;  // halves, from zero; else up
  bool operator==(const Resize&) const = default;
};

// Whether a transfer of rows reads row indices from `ifm2`: row i comes from row index[i] (kGather) or goes to it
// (kScatter).
enum class Indexed : uint8_t { kNo, kGather, kScatter };

// The kind of the second operand of an elementwise operation. In other operations, the second operand is the initial
// value of the sums, or the weights (Step::multiplies_second). kWeightStream, for a convolution: its weight streams,
// one row per core, which earlier steps have written (plan/select/weight_stream_internal.h).
enum class SecondOperand : uint8_t { kNone, kFeatureMap, kScalar, kWeightStream };

struct Broadcast {
  bool height = false;
  bool width = false;
  bool depth = false;
  bool operator==(const Broadcast&) const = default;
};

// kNarrow: 32 bits. kWide: the family's wider accumulator (40 or 48 bits).
enum class AccWidth : uint8_t { kNarrow, kWide };

struct Step {
  StepKind kind = StepKind::kPool;
  npu::PoolingMode pool = npu::PoolingMode::AVERAGE;
  npu::ElementwiseMode elementwise = npu::ElementwiseMode::ADD;

  FeatureMap ofm = {};
  FeatureMap ifm = {};  // DMA: the source
  SecondOperand second = SecondOperand::kNone;
  FeatureMap ifm2 = {};            // kScalar: only its type and zero point are used
  int64_t scalar = 0;              // as stored, before the zero point is subtracted
  Broadcast broadcast = {};        // of ifm2
  Broadcast first_broadcast = {};  // of ifm, if the family allows it (Abilities::symmetric_operands)
  bool swapped = false;            // op(ifm2, ifm)

  Kernel kernel = {};
  Padding padding = {};
  int64_t upscale = 1;          // 2: the window moves over an IFM of twice the size; families with SHRAM
  bool inserts_zeros = false;   // how it is upscaled: zeros after each row and column; else each of them twice
  WeightsId weights = {};       // CONV, DEPTHWISE, and pools with a scale per channel
  int64_t first_channel = 0;    // of `weights`; the OFM's depth is the number of channels
  bool sparse_weights = false;  // CONV: two_of_four(weights).holds(), and the NPU has a form for them
  bool per_channel = false;     // scales come from `weights`
  Scaling scaling = {};         // used if not per_channel; its rounding always applies
  OperandScaling operands = {};
  Activation activation = {};
  AccWidth acc = AccWidth::kNarrow;
  int64_t stream_block_depth = 0;  // kWeightStream: depth of the OFM blocks that the weight order is made for
  bool multiplies_second = false;  // CONV: the weights are ifm2, one pixel per output channel
  Resize resize = {};

  int64_t dma_bytes = 0;  // Indexed: bytes of one row
  Indexed indexed = Indexed::kNo;
  int64_t places = 0;    // Indexed: rows that an index may select
  ir::NodeId node = {};  // the TOSA node of the step, for messages and reports
  SharedName name = {};

  [[nodiscard]] bool is_convolution() const { return kind == StepKind::kConv || kind == StepKind::kDepthwise; }
  // Returns whether each result depends on all input channels. If not, an output channel reads only its own input
  // channel.
  [[nodiscard]] bool sums_over_depth() const {
    return kind == StepKind::kConv || (kind == StepKind::kPool && pool == npu::PoolingMode::REDUCE_SUM);
  }
  [[nodiscard]] bool reads_written_weights() const { return second == SecondOperand::kWeightStream; }
  [[nodiscard]] bool reads_second_map() const {
    return second == SecondOperand::kFeatureMap || second == SecondOperand::kWeightStream;
  }
  [[nodiscard]] bool uses_table() const { return activation.table.valid(); }
  bool operator==(const Step&) const = default;
};

}  // namespace carina::plan
