// Declares what the rules of ATen operators share: the node that a rule sees, and what it returns.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "facts/aten_traits.h"
#include "ir/graph.h"

namespace carina::aten {

using Sizes = std::vector<int64_t>;

// The shapes of a node's results, or what is wrong with the node: "axis 5 of a tensor of rank 3". A shape without a
// value depends on the data, or is not checked.
using Shapes = std::expected<std::vector<std::optional<Shape>>, std::string>;

template <typename... Args>
[[nodiscard]] std::unexpected<std::string> broken(fmt::format_string<Args...> text, Args&&... args) {
  return std::unexpected(fmt::format(text, std::forward<Args>(args)...));
}

// A node that is verified. The general checks ran before: required operands exist, attributes have the types of the
// schema, whole numbers are within +-2^40 (the ends of slices excepted), and the sizes of all values are possible.
struct NodeView {
  const ir::Graph& graph;
  const ir::Node& node;

  [[nodiscard]] bool has(size_t operand) const { return operand < node.inputs.size() && node.inputs[operand].valid(); }
  [[nodiscard]] const ir::Value& operand(size_t index) const { return graph[node.inputs[index]]; }
  [[nodiscard]] const Shape& shape(size_t index) const { return operand(index).shape; }
  [[nodiscard]] size_t rank(size_t index) const { return shape(index).rank(); }
  [[nodiscard]] DType dtype(size_t index) const { return operand(index).dtype; }
  // The shape of a result in the file. No value if the result is unused.
  [[nodiscard]] std::optional<Shape> declared(size_t result) const;
  [[nodiscard]] int64_t integer(std::string_view name) const { return node.attributes.integer(name); }
  [[nodiscard]] bool flag(std::string_view name) const { return node.attributes.get<bool>(name); }
  [[nodiscard]] bool is_none(std::string_view name) const { return node.attributes.is_none(name); }
  // A list of integers; empty if it is None.
  [[nodiscard]] const Sizes& ints(std::string_view name) const;
};

using ShapeRule = Shapes (*)(const NodeView& n);

// The type of a result. `instead` lists what torch gives in cases that the node does not tell apart.
struct ResultType {
  enum class Instead : uint8_t {
    kNothing,
    kFirstFloat,  // the first operand's type of floats, which an operator in place keeps
    kAnyFloat,    // the default type of floats, which torch.set_default_dtype() changes
    kBool,        // a Python number that may have been True or False
    kAnything,    // not checked
  };
  DType dtype = DType::kUnknown;
  Instead instead = Instead::kNothing;
};
using TypeRule = ResultType (*)(const NodeView& n, size_t result);

struct Rule {
  AtenOp op;
  ShapeRule shapes;
  TypeRule types;
};

// Rules of operators, with one file each in this folder. An operator without a row has the rule of its family.
std::span<const Rule> convolution_rules();
std::span<const Rule> product_rules();
std::span<const Rule> normalization_rules();
std::span<const Rule> elementwise_rules();
std::span<const Rule> pool_rules();
std::span<const Rule> resample_rules();
std::span<const Rule> reduction_rules();
std::span<const Rule> view_rules();
std::span<const Rule> movement_rules();
std::span<const Rule> split_rules();
std::span<const Rule> indexing_rules();
std::span<const Rule> conversion_rules();
std::span<const Rule> source_rules();
std::span<const Rule> composite_rules();
std::span<const Rule> quantization_rules();
std::span<const Rule> block_scaled_rules();

// Shapes that several families need.

Shapes one(const Shape& shape);
Shapes one(const Sizes& sizes);
Shapes same_as_first(const NodeView& n);
// All operands are broadcast.
Shapes broadcast_of_all(const NodeView& n);
Shapes unchecked(const NodeView& n);

Sizes sizes_of(const Shape& shape);
// The axis of a tensor of this rank that a dim argument means. As in PyTorch, a scalar has one axis.
std::expected<size_t, std::string> axis_of(int64_t dim, size_t rank);
// As axis_of(), for a list whose axes must differ.
std::expected<std::vector<size_t>, std::string> axes_of(const Sizes& dims, size_t rank);
// NumPy's broadcasting: ranks may differ.
std::expected<Shape, std::string> broadcast_shapes(const Shape& a, const Shape& b);
bool broadcasts_to(const Shape& shape, const Shape& wanted);
// Fails unless an operand is absent or has this shape.
std::expected<void, std::string> expect_shape(const NodeView& n, size_t operand, std::string_view name,
                                              const Shape& wanted);

// Fails unless the operands `first` to `last` that are present have the type of the first operand.
std::expected<void, std::string> expect_one_type(const NodeView& n, size_t first, size_t last);
// Fails unless all operands are floats.
std::expected<void, std::string> expect_floats(const NodeView& n);

// Types that several families need.

ResultType same_type(const NodeView& n, size_t result);
// PyTorch's promotion of all tensor operands, and of the numbers among the attributes that are operands.
ResultType promoted(const NodeView& n, size_t result);
ResultType promoted_after_first(const NodeView& n, size_t result);
// As promoted(), with integers as floats.
ResultType promoted_float(const NodeView& n, size_t result);
// As promoted(), or as promoted_float() with rounding_mode=None.
ResultType quotient(const NodeView& n, size_t result);
ResultType bool_type(const NodeView& n, size_t result);
ResultType index_type(const NodeView& n, size_t result);
// The first result has the operand's type, the others hold indices.
ResultType values_and_indices(const NodeView& n, size_t result);
// The argument dtype, or else the operand's type.
ResultType asked_or_same(const NodeView& n, size_t result);
// The argument dtype, or else int64 for integers and the operand's type for floats.
ResultType asked_or_sum(const NodeView& n, size_t result);
// The first result has the operand's type; statistics are not checked.
ResultType first_same(const NodeView& n, size_t result);
ResultType unchecked_type(const NodeView& n, size_t result);

}  // namespace carina::aten
