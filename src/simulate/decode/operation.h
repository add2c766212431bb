#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "simulate/interface/report.h"

// One NPU operation with the register values at the time of its command. Private to the simulator: the kernels use this
// record and never a register. Numbers have the specification's meaning, except that sizes are sizes (not "minus one"),
// and enums are the simulator's own.
namespace carina::simulate {

struct ElementType {
  uint8_t bytes = 1;  // 1, 2, 4, 8
  bool is_signed = false;
  bool operator==(const ElementType&) const = default;
};

enum class Format : uint8_t { kNhwc, kNhcwb16 };
enum class Storage : uint8_t { kTile2x2, kTile3x1, kChained, kNone };
enum class Upscale : uint8_t { kNone, kNearest, kZeros };
enum class Transpose : uint8_t { kHwc, kWhc, kHcw, kWch, kChw, kCwh };
enum class Reverse : uint8_t { kNone, kH, kW, kC };

struct FeatureMap {
  std::array<uint64_t, 4> base{};
  int64_t stride_y = 0;
  int64_t stride_x = 0;
  int64_t stride_c = 0;
  int32_t width0 = 0;   // of the left tiles
  int32_t height0 = 0;  // of the upper left tile
  int32_t height1 = 0;  // of the upper right tile
  uint8_t region = 0;   // or the chaining buffer's number
  ElementType type{};
  Format format = Format::kNhwc;
  Storage storage = Storage::kTile2x2;
  int32_t zero_point = 0;
};

enum class RoundMode : uint8_t {
  kNatural,
  kDoubleSymmetric,
  kDoubleAsymmetric,
  kSymmetric,
  kTruncateToZero,
  kTruncateToLower,
};

// R(v, scale, shift, mode, d) of docs/facts/ethosu.md 4.1.
struct Scaling {
  uint32_t multiplier = 1;
  uint8_t shift = 0;
  RoundMode mode = RoundMode::kNatural;
  uint8_t double_round = 0;  // d
  [[nodiscard]] bool is_unit() const { return multiplier == 1 && shift == 0; }
};

enum class PoolMode : uint8_t { kMax, kAverage, kReduceSum, kSum, kNone, kMin, kArgmaxX, kArgmaxY };
enum class ElementwiseMode : uint8_t {
  kMul,
  kAdd,
  kSub,
  kMin,
  kMax,
  kLrelu,
  kAbs,
  kClz,
  kShr,
  kShl,
  kLsr,
  kDiv,
  kCmpEq,
  kCmpNe,
  kCmpGe,
  kCmpGt,
  kAnd,
  kOr,
  kXor,
  kNot,
  kAndNot,
};
enum class ResizeMode : uint8_t { kBilinear, kReplicate, kNearest };
enum class OperandScaling : uint8_t { kBoth16, kFirst32, kSecond32, kBothFull };  // U55's three modes, U85's one
enum class AccInput : uint8_t { kReset, kKeep, kIfm2 };
enum class AccOutput : uint8_t { kWrite, kKeep };
enum class Lut : uint8_t { kNone, kTable, kTanh, kSigmoid };
enum class WeightSource : uint8_t { kStream, kIfm2 };
enum class Traversal : uint8_t { kDepthFirst, kPartKernel };

struct Broadcast {
  bool h = false;
  bool w = false;
  bool c = false;
  bool scalar = false;
};

struct Kernel {
  int32_t height = 1;  // taps
  int32_t width = 1;
  int32_t stride_y = 1;
  int32_t stride_x = 1;
  int32_t dilation_y = 1;
  int32_t dilation_x = 1;
  int32_t extent_h = 1;  // as in the register: (taps - 1) * dilation + 1
  int32_t extent_w = 1;
  [[nodiscard]] int64_t taps() const { return int64_t{height} * width; }
};

struct Padding {
  int32_t top = 0;
  int32_t left = 0;
  int32_t right = 0;
  int32_t bottom = 0;
};

// Bytes that an operation reads as a whole: a weight stream or scales.
struct Stream {
  uint64_t base = 0;
  uint64_t bytes = 0;
};

struct Activation {
  Lut lut = Lut::kNone;
  uint8_t slot = 0;          // in units of 256 bytes
  ElementType lut_input{};   // the type of the clamped value
  ElementType lut_output{};  // the type of the table's entries
  bool clamp = true;         // false: values wrap
  int64_t min = 0;
  int64_t max = 0;
};

struct ResizeStep {
  int32_t numerator = 1;    // n
  int32_t denominator = 1;  // d: the input moves d/n per output
  int32_t offset = 0;
};

struct DmaTransfer {
  uint64_t source = 0;
  uint64_t destination = 0;
  uint64_t index = 0;
  uint8_t source_region = 0;
  uint8_t destination_region = 0;
  uint8_t index_region = 0;
  bool source_internal = false;
  bool destination_internal = false;
  bool gather = false;
  bool scatter = false;
  int dimensions = 1;
  uint64_t length = 0;  // bytes of the innermost row
  int64_t count0 = 1;   // rows
  int64_t count1 = 1;   // planes
  int64_t source_stride0 = 0;
  int64_t source_stride1 = 0;
  int64_t destination_stride0 = 0;
  int64_t destination_stride1 = 0;
  int64_t index_max = 0;
  int64_t index_skip1 = 0;
};

struct Operation {
  OperationKind kind = OperationKind::kDma;
  uint32_t command_index = 0;
  uint32_t word_offset = 0;
  std::string name{};
  bool u85 = false;

  PoolMode pool = PoolMode::kMax;
  ElementwiseMode elementwise = ElementwiseMode::kAdd;
  ResizeMode resize = ResizeMode::kNearest;
  WeightSource weight_source = WeightSource::kStream;

  Extent ofm_extent{};  // before the OFM transpose
  int32_t ifm_depth = 1;
  FeatureMap ifm{};
  FeatureMap ifm2{};
  FeatureMap ofm{};
  Transpose transpose = Transpose::kHwc;
  Reverse reverse = Reverse::kNone;
  Upscale upscale = Upscale::kNone;
  Broadcast ifm_broadcast{};
  Broadcast ifm2_broadcast{};
  bool swap_operands = false;
  int64_t scalar = 0;

  Kernel kernel{};
  Padding padding{};
  Traversal traversal = Traversal::kDepthFirst;
  int sub_kernel = 8;  // decomposition limit: 8x8 or 4x4

  Scaling output{};  // global scale; only its rounding if per_channel
  bool per_channel = false;
  OperandScaling operand_scaling = OperandScaling::kBothFull;
  Scaling first{};   // IFM_SCALE or OPA_SCALE
  Scaling second{};  // IFM2_SCALE or OPB_SCALE
  Activation activation{};

  Extent block{};
  int acc_bits = 32;  // 32, 40, 48
  AccInput acc_input = AccInput::kReset;
  AccOutput acc_output = AccOutput::kWrite;
  uint8_t microblock = 0;  // as ACC_FORMAT numbers it
  int32_t microblock_height = 1;
  int32_t microblock_width = 1;
  int32_t microblock_depth = 8;

  uint8_t weight_region = 0;
  std::array<Stream, 4> weights{};
  int weight_streams = 1;
  bool fast_weights = false;
  bool sparse_weights = false;
  uint8_t scale_region = 0;
  std::array<Stream, 2> scales{};
  int cores = 1;  // that share the work (U65: PARALLEL_MODE)

  ResizeStep resize_x{};
  ResizeStep resize_y{};
  int blockdep = 0;
  int ifm_bank_end = 0;  // SHRAM, U55/U65
  int ifm2_bank_start = 0;
  int acc_bank_start = 0;

  DmaTransfer dma{};

  [[nodiscard]] bool has_weights() const {
    return (kind == OperationKind::kConvolution || kind == OperationKind::kDepthwise) &&
           weight_source == WeightSource::kStream;
  }
  [[nodiscard]] bool is_unary() const {
    return elementwise == ElementwiseMode::kAbs || elementwise == ElementwiseMode::kClz ||
           elementwise == ElementwiseMode::kLrelu || elementwise == ElementwiseMode::kNot;
  }
  [[nodiscard]] bool reads_ifm2() const {
    if (kind == OperationKind::kElementwise) return !is_unary() && !ifm2_broadcast.scalar;
    return acc_input == AccInput::kIfm2 || weight_source == WeightSource::kIfm2;
  }
  // Bytes per element of the second operand of an elementwise operation; 0 if it has none.
  [[nodiscard]] int ifm2_bytes() const { return is_unary() ? 0 : ifm2.type.bytes; }
  [[nodiscard]] bool is_convolution_like() const {
    return kind == OperationKind::kConvolution || kind == OperationKind::kDepthwise;
  }
};

}  // namespace carina::simulate
