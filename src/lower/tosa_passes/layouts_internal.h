// Declares in which orders of axes a TOSA node can read its operands and write its result.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "tensor/permutation.h"

namespace carina::lower {

// The order in which the axes of a value are stored: axis i of the stored tensor is axis layout[i] of the value.
using Layout = Perms;

Layout identity_layout(const Shape& shape);

// How the layouts of a node's data operands follow from the layout of its result.
enum class LayoutRule : uint8_t {
  kFixed,       // operands and result are stored in the order of their shapes
  kSame,        // operands have the layout of the result
  kAxis,        // as the result; the attribute "axis" is renamed
  kShapes,      // as the result; shape operands have one entry per axis
  kPadding,     // as the result; the shape operand has two entries per axis
  kLastStays,   // as the result, and the layout must keep the last axis last
  kTransposed,  // a TRANSPOSE, which needs no node then
  kReshaped,    // a RESHAPE: axes that are split or joined stay neighbors
  kProduct,     // a MATMUL: the transposed product is that of the transposed operands, in reverse order
};

struct NodeLayouts {
  LayoutRule rule = LayoutRule::kFixed;
  size_t data_operands = 0;  // leading operands whose layouts follow from the result's
};

// The rule of a node.
NodeLayouts layouts_of(const ir::Graph& graph, const ir::Node& node);

// The layouts of the data operands if the result is stored in this layout. No value: the node cannot write it.
std::optional<std::vector<Layout>> operand_layouts(const ir::Graph& graph, const ir::Node& node,
                                                   const NodeLayouts& rule, const Layout& result);

// A layout of the result in which the node reads this data operand in the given layout, or no value.
std::optional<Layout> result_layout(const ir::Graph& graph, const ir::Node& node, const NodeLayouts& rule,
                                    size_t operand, const Layout& layout);

// The order of the axes that are not of size 1, which determines the order of the elements.
Layout element_order(const Shape& shape, const Layout& layout);

// Changes the graph so that the result of each node is stored in its layout. Outputs of the graph keep their axes.
void apply_layouts(ir::Graph& graph, const std::vector<Layout>& layout_of_node);

}  // namespace carina::lower
