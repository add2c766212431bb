#include "plan/network/step_order.h"

#include <gtest/gtest.h>

#include <string>

// Tests the order of steps that needs less memory.
namespace carina::plan {
namespace {

// Four lookups of one input, and the sum of their results: a lookup is a letter, a sum a digit.
class Lookups {
 public:
  Lookups() {
    const TensorId x = tensor("x", TensorKind::kInput);
    std::vector<TensorId> looked_up;
    for (const char* name : {"a", "b", "c", "d"}) {
      looked_up.push_back(tensor(name));
      network.steps.push_back({.kind = StepKind::kPool, .ofm = map(looked_up.back()), .ifm = map(x), .name = name});
    }
    TensorId sum = looked_up.front();
    for (const char* name : {"1", "2", "3"}) {
      const TensorId next = tensor(name, *name == '3' ? TensorKind::kOutput : TensorKind::kIntermediate);
      network.steps.push_back({.kind = StepKind::kElementwise,
                               .ofm = map(next),
                               .ifm = map(sum),
                               .second = SecondOperand::kFeatureMap,
                               .ifm2 = map(looked_up[static_cast<size_t>(*name - '0')]),
                               .name = name});
      sum = next;
    }
    network.inputs = {x};
    network.outputs = {sum};
  }
  [[nodiscard]] std::string order() const {
    std::string names;
    for (const Step& step : network.steps) names += step.name;
    return names;
  }
  static constexpr int64_t kBytes = 100;
  Network network;

 private:
  TensorId tensor(const char* name, TensorKind kind = TensorKind::kIntermediate) {
    return network.add({.name = name, .kind = kind, .extent = {.depth = kBytes}});
  }
  static FeatureMap map(TensorId id) { return {.tensor = id, .depth = kBytes}; }
};

TEST(StepOrder, results_are_computed_when_they_are_needed) {
  Lookups lookups;
  EXPECT_EQ(lookups.order(), "abcd123");  // the input and four results live at one time
  lower_peak(lookups.network, 0);
  EXPECT_EQ(lookups.order(), "ab1c2d3");  // two results, of which the sum overwrites one
}

TEST(StepOrder, a_network_that_fits_stays_as_it_is) {
  Lookups lookups;
  lower_peak(lookups.network, 5 * Lookups::kBytes);
  EXPECT_EQ(lookups.order(), "abcd123");
}

}  // namespace
}  // namespace carina::plan
