// Tests how the layers of two networks are matched with each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explore/match_layers_internal.h"

namespace carina::explore {
namespace {

using testing::ElementsAre;

struct Made {
  std::string name;
  std::string operation;
  int64_t cycles;
  int64_t macs = 0;
  std::vector<std::string> nodes = {};
};

results::NpuReport network(const std::vector<Made>& layers) {
  results::NpuReport npu;
  for (const Made& made : layers)
    npu.layers.push_back({.name = made.name,
                          .operation = made.operation,
                          .macs = made.macs,
                          .cycles = made.cycles,
                          .breakdown = {},
                          .bottleneck = {},
                          .nodes = made.nodes});
  return npu;
}

// The text "name a:cycles b:cycles" for each row.
std::vector<std::string> rows(const MatchedLayers& matched) {
  std::vector<std::string> text;
  for (const results::ComparedLayer& row : matched.layers) {
    const auto side = [](const std::optional<results::LayerReport>& layer) {
      return layer ? std::to_string(layer->cycles) : std::string("-");
    };
    text.push_back(row.name + " " + side(row.a) + " " + side(row.b));
  }
  return text;
}

TEST(MatchLayers, layers_match_by_computed_nodes) {
  const results::NpuReport a =
      network({{"conv", "conv", 10, 8, {"conv", "rescale", "clamp"}}, {"pool", "pool", 4, 0, {"pool"}}});
  const results::NpuReport b = network({{"transpose", "pool", 2},
                                        {"rescale", "conv", 20, 8},
                                        {"clamp", "elementwise", 3},
                                        {"#7", "pool", 1},
                                        {"pool", "pool", 5}});
  const MatchedLayers matched = match_layers(a, b);
  EXPECT_TRUE(matched.by_name);
  EXPECT_THAT(rows(matched), ElementsAre("transpose - 2", "conv 10 23", "#7 - 1", "pool 4 5"));
}

TEST(MatchLayers, unnamed_layers_match_by_kind_macs_and_order) {
  const results::NpuReport a = network({{"first", "conv", 10, 800}, {"second", "conv", 12, 100}, {"third", "pool", 1}});
  const results::NpuReport b = network({{"command 1", "dma", 0},
                                        {"command 2", "conv", 20, 100},
                                        {"command 3", "elementwise", 7},
                                        {"command 4", "pool", 2}});
  const MatchedLayers matched = match_layers(a, b);
  EXPECT_FALSE(matched.by_name);
  EXPECT_THAT(rows(matched), ElementsAre("first 10 -", "second 12 20", "command 3 - 7", "third 1 2"));
}

TEST(MatchLayers, unmatched_layer_stands_alone) {
  EXPECT_THAT(rows(match_layers(network({}), network({{"x", "conv", 1}}))), ElementsAre("x - 1"));
}

}  // namespace
}  // namespace carina::explore
