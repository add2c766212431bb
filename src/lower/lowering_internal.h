#pragma once

#include <limits>
#include <set>
#include <span>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "ir/emitter.h"
#include "lower/legality_internal.h"
#include "normalize/axes.h"
#include "normalize/rewriter.h"

namespace carina::lower {

// The data that a node's lowering can use: the ATen graph, the values lowered so far, and the emitter.
class Lowering {
 public:
  Lowering(const ir::Graph& graph, ir::Graph& tosa, const Target& wanted)
      : aten(graph), target(wanted), out(tosa), lowered_(graph.values.size()), producers_(ir::producers(graph)) {}

  const ir::Graph& aten;
  const Target& target;
  ir::Emitter out;

  [[nodiscard]] Candidate candidate(const ir::Node& node) const {
    return {.graph = aten, .node = node, .target = target};
  }

  [[nodiscard]] const ir::Value& value(ir::ValueId id) const { return aten[id]; }
  [[nodiscard]] const Shape& shape(ir::ValueId id) const { return aten[id].shape; }
  // The value's quantization, which must exist.
  [[nodiscard]] const Quantization& quantization(ir::ValueId id) const;
  [[nodiscard]] bool is_quantized(ir::ValueId id) const { return aten[id].quantization.has_value(); }
  // Returns whether the node computes on integers that represent floats.
  [[nodiscard]] bool is_quantized(const ir::Node& node) const { return is_quantized(node.outputs.front()); }

  // The node that computes a value, or nullptr.
  [[nodiscard]] const ir::Node* producer(ir::ValueId id) const {
    return producers_[id.index()].valid() ? &aten[producers_[id.index()]] : nullptr;
  }

  // The TOSA value of an ATen value. A constant is converted at its first use; quantized constants become their
  // integers.
  ir::ValueId operand(ir::ValueId id);
  // Records that `tosa` has the elements of the ATen value, and names it after the ATen value.
  void bind(ir::ValueId id, ir::ValueId tosa);
  [[nodiscard]] bool is_bound(ir::ValueId id) const { return lowered_[id.index()].valid(); }
  [[nodiscard]] ir::ValueId bound(ir::ValueId id) const { return lowered_[id.index()]; }

  // Converts integers with parameters `from` to parameters `to`. Returns the same value if they are equal.
  ir::ValueId requantize(ir::ValueId input, const Quantization& from, const Quantization& to);
  // Clamps a new result to the range of `q` if that is narrower than the range of its type.
  ir::ValueId within_range(ir::ValueId input, const Quantization& q);

 private:
  std::vector<ir::ValueId> lowered_;
  std::set<ir::ValueId> named_;  // the TOSA values with an ATen name
  std::vector<ir::NodeId> producers_;
};

// Which plain integers, which do not represent floats, an operator supports in addition to quantized values.
enum class PlainIntegers : uint8_t { kNone, kInt32Too, kAny };

// No limits apart from those of all operators (legality.cpp).
inline Rejected always(const Candidate&) {
  return std::nullopt;
}

// One ATen operator: its legality for a target, and its lowering. `lower` returns the TOSA value of the node's only
// output. `lower` may support nodes that `legal` rejects for some targets.
struct LoweringRow {
  AtenOp op;
  PlainIntegers integers;
  Rejected (*legal)(const Candidate& c);
  Result<ir::ValueId> (*lower)(Lowering& in, const ir::Node& node);
};
const LoweringRow* lowering_of(ir::Op op);

// The rows of each family, one file per family in ops/.
std::span<const LoweringRow> convolution_rows();
std::span<const LoweringRow> matmul_rows();
std::span<const LoweringRow> pool_rows();
std::span<const LoweringRow> reduce_rows();
std::span<const LoweringRow> arithmetic_rows();
std::span<const LoweringRow> clamp_rows();
std::span<const LoweringRow> unary_rows();
std::span<const LoweringRow> movement_rows();
std::span<const LoweringRow> quantization_rows();
std::span<const LoweringRow> logic_rows();
std::span<const LoweringRow> division_rows();
std::span<const LoweringRow> indexing_rows();
std::span<const LoweringRow> resample_rows();
std::span<const LoweringRow> block_scaled_rows();

// The float types that TOSA computes with: fp32, fp16, bf16.
constexpr bool computes(DType type) {
  return type == DType::kFp32 || type == DType::kFp16 || type == DType::kBf16;
}

// The largest finite number of such a type.
constexpr double largest_of(DType type) {
  if (type == DType::kFp16) return 65504;
  return type == DType::kBf16 ? 0x1.FEp127 : double{std::numeric_limits<float>::max()};
}

// The integer of a real number. The arithmetic is that of quantized_decomposed.quantize_per_tensor: float32, rounded to
// nearest even.
int64_t quantized(float value, double scale, int64_t zero_point, int64_t qmin, int64_t qmax);
inline int64_t quantized(float value, const Quantization& q) {
  return quantized(value, q.scale(), q.zero_point(), q.qmin, q.qmax);
}

// The left shift of the operand with the larger scale when two operands of these types are brought to one scale in
// int32. The shift for two int8 operands would overflow if one of them is int16.
inline int alignment_log2(const LoweringIdioms& idioms, DType a, DType b) {
  return a == DType::kInt8 && b == DType::kInt8 ? idioms.aligned_int8_log2 : idioms.aligned_int16_log2;
}

// The integers of a constant with quantization parameters. The constant may contain the integers already, or the
// floats.
Tensor quantized_constant(const ir::Value& value);
// The floats of a constant, which may be quantized.
std::vector<double> dequantized_values(const ir::Value& value);

}  // namespace carina::lower
