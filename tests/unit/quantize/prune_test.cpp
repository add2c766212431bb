#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs.h"
#include "quantize/prune_internal.h"

namespace carina::quantize {
namespace {

using testing::ElementsAre;

Scheme pruned(std::vector<Override> overrides = {}) {
  return {.name = "int8+pruned-2:4", .general = **parse_scheme("int8+pruned-2:4"), .overrides = std::move(overrides)};
}

// The weights of the layer after pruning, and the notes.
std::vector<float> weights_after(GraphBuilder& b, const Scheme& scheme, std::vector<std::string>* notes = nullptr) {
  const Log log{.note = [&](const Diagnostic& note) {
    if (notes != nullptr) notes->push_back(note.what);
  }};
  prune_weights(b.graph, *SchemeOf::create(b.graph, scheme, {}), log);
  const auto values = b.value("w").constant->values<float>();
  return {values.begin(), values.end()};
}

GraphBuilder linear_layer() {
  GraphBuilder b;
  b.graph.outputs = {b.linear("y", b.input("x", {1, 6}),
                              b.constant<float>("w", {2, 6},
                                                {0.1F, -0.5F, 0.3F, 0.2F, 0.4F, 0.1F,  //
                                                 1, 1, 1, 1, 0, 2}),
                              b.constant<float>("c", {2}, {0, 0}))};
  return b;
}

TEST(Prune, two_of_four_input_channels_stay_and_of_equal_ones_the_first) {
  GraphBuilder b = linear_layer();
  std::vector<std::string> notes;
  EXPECT_THAT(weights_after(b, pruned(), &notes), ElementsAre(0, -0.5F, 0.3F, 0, 0.4F, 0.1F, 1, 1, 0, 0, 0, 2));
  EXPECT_THAT(notes, ElementsAre("4 of 12 weights in 1 layers became zero, with 23.9 % of the sum of squares"));
}

TEST(Prune, taps_are_pruned_separately) {
  GraphBuilder b;
  b.graph.outputs = {b.node(AtenOp::conv2d_default, "y",
                            {b.input("x", {1, 4, 1, 2}), b.constant<float>("w", {1, 4, 1, 2}, {1, 8, 2, 7, 3, 6, 4, 5}),
                             b.constant<float>("c", {1}, {0})},
                            {1, 1, 1, 1},
                            {{"stride", std::vector<int64_t>{1, 1}},
                             {"padding", std::vector<int64_t>{0, 0}},
                             {"dilation", std::vector<int64_t>{1, 1}},
                             {"groups", int64_t{1}}})};
  EXPECT_THAT(weights_after(b, pruned()), ElementsAre(0, 8, 0, 7, 3, 0, 4, 0));
}

TEST(Prune, scheme_without_it_changes_nothing) {
  GraphBuilder b = linear_layer(), part = linear_layer();
  std::vector<std::string> notes;
  EXPECT_EQ(weights_after(b, {.name = "int8", .general = **parse_scheme("int8")}, &notes)[0], 0.1F);
  EXPECT_THAT(notes, testing::IsEmpty());
  EXPECT_EQ(weights_after(part, pruned({*parse_override("node:y=int8")}))[0], 0.1F);
}

}  // namespace
}  // namespace carina::quantize
