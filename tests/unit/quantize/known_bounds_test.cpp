#include "quantize/known_bounds_internal.h"

#include <gtest/gtest.h>

#include "graphs.h"
#include "quantize/headroom_internal.h"

namespace carina::quantize {
namespace {

using ir::ValueId;

// The limit of each value's group, where each value is a group of its own but for the given ones, which are one.
std::vector<std::optional<double>> limits(const GraphBuilder& b, const std::vector<ValueId>& together = {}) {
  std::vector<size_t> groups(b.graph.values.size());
  for (size_t v = 0; v < groups.size(); ++v) groups[v] = v;
  for (const ValueId id : together) groups[id.index()] = together.front().index();
  std::vector<std::optional<double>> found = known_limits(b.graph, groups);
  for (size_t v = 0; v < groups.size(); ++v) found[v] = found[groups[v]];
  return found;
}

TEST(KnownLimits, saturating_functions_end_at_1_and_others_nowhere) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  const ValueId gate = b.node(AtenOp::sigmoid_default, "gate", {x}, {4});
  const ValueId sum = b.node(AtenOp::add_Tensor, "sum", {gate, x}, {4}, {{"alpha", int64_t{1}}});
  b.graph.outputs = {sum};
  const auto found = limits(b);
  EXPECT_EQ(found[gate.index()], 1);
  EXPECT_FALSE(found[x.index()]);
  EXPECT_FALSE(found[sum.index()]);
}

TEST(KnownLimits, a_group_ends_where_its_farthest_member_does) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  const ValueId gate = b.node(AtenOp::tanh_default, "gate", {x}, {4});
  const ValueId between = b.node(AtenOp::clamp_default, "between", {x}, {4}, {{"min", -3.0}, {"max", 2.0}});
  const ValueId both = b.node(AtenOp::cat_default, "both", {gate, between}, {8}, {{"dim", int64_t{0}}});
  const ValueId all = b.node(AtenOp::cat_default, "all", {gate, x}, {8}, {{"dim", int64_t{0}}});
  b.graph.outputs = {both, all};
  EXPECT_EQ(limits(b, {both, gate, between})[both.index()], 3);
  EXPECT_FALSE(limits(b, {all, gate, x})[all.index()]);
}

// A clamp that shares its parameters with the sum in front of it ends the range of both, unless others read the sum.
TEST(KnownLimits, what_a_clamp_alone_reads_ends_with_it) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  const ValueId sum = b.node(AtenOp::add_Tensor, "sum", {x, x}, {4}, {{"alpha", int64_t{1}}});
  const ValueId six = b.node(AtenOp::clamp_default, "six", {sum}, {4}, {{"min", 0.0}, {"max", 6.0}});
  b.graph.outputs = {six};
  EXPECT_EQ(limits(b, {six, sum})[six.index()], 6);
  b.graph.outputs.push_back(sum);
  EXPECT_FALSE(limits(b, {six, sum})[six.index()]);
}

TEST(KnownLimits, headroom_ends_at_the_limit_but_keeps_what_was_seen) {
  const auto expect = [](Range given, std::optional<double> limit, Range wanted) {
    const Range found = with_room(given, limit);
    EXPECT_EQ(found.min, wanted.min);
    EXPECT_EQ(found.max, wanted.max);
  };
  expect({.min = 0.1, .max = 0.9}, 1, {.min = 0.2, .max = 1});
  expect({.min = -0.7, .max = 0.2}, 1, {.min = -1, .max = 0.4});
  expect({.min = -0.7, .max = 0.2}, std::nullopt, {.min = -1.4, .max = 0.4});
  expect({.min = 0, .max = 5}, 2, {.min = 0, .max = 5});  // of a constant
}

}  // namespace
}  // namespace carina::quantize
