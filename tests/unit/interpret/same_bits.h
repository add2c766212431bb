#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <vector>

#include "build_graph.h"

// Runs a graph in every way, and expects the same bits.
namespace carina::interpret::testing {

using Random = std::mt19937;

template <typename T>
Tensor random_integers(Random& random, DType dtype, const Shape& shape, int64_t low, int64_t high) {
  std::uniform_int_distribution<int64_t> any(low, high);
  std::vector<T> values(static_cast<size_t>(shape.elements()));
  for (T& value : values) value = static_cast<T>(any(random));
  return Tensor::of<T>(dtype, shape, values);
}

inline Tensor random_floats(Random& random, const Shape& shape) {
  std::normal_distribution<float> any;
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (float& value : values) value = any(random);
  return Tensor::of<float>(DType::kFp32, shape, values);
}

inline std::vector<Tensor> outputs_of(const ir::Module& module, const std::vector<Tensor>& inputs,
                                      const Options& options) {
  auto interpreter = Interpreter::create(module, options);
  EXPECT_TRUE(interpreter) << to_string(interpreter.error());
  auto outputs = interpreter->run(inputs);
  EXPECT_TRUE(outputs) << to_string(outputs.error());
  return *std::move(outputs);
}

inline bool equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const Tensor& x, const Tensor& y) { return identical(x, y); });
}

// Watching a value finds its values and extremes, also inside fused nodes. The outputs stay `expected`.
inline void expect_extremes(const ir::Module& module, const std::vector<Tensor>& inputs,
                            const std::vector<Tensor>& expected, const Options& options) {
  Options watching = options;
  std::vector<bool> wanted(module.main().values.size(), false);
  for (const ir::Node& node : module.main().nodes)
    wanted[node.outputs.front().index()] = node.op == ir::Op(TosaOp::CLAMP);
  size_t seen = 0;
  watching.watch =
      Watch{.values = wanted, .see = [&](ir::ValueId value, const Tensor& tensor, const kernels::Extremes& found) {
              EXPECT_TRUE(wanted[value.index()]);
              ++seen;
              if (tensor.dtype != DType::kFp32) return;
              const auto [min, max] = std::ranges::minmax(tensor.values<float>());
              EXPECT_EQ(found.min, min);
              EXPECT_EQ(found.max, max);
              EXPECT_TRUE(found.numbers);
            }};
  EXPECT_TRUE(equal(expected, outputs_of(module, inputs, watching))) << "watched";
  EXPECT_EQ(seen, static_cast<size_t>(std::ranges::count(wanted, true)));
}

// Thread counts: an even division, an uneven one and a fine one. A run under a sanitizer takes tens of times longer and
// is to find wrong accesses, not wrong numbers. It has one thread count only.
#ifdef CARINA_SANITIZED
constexpr std::array kThreads{3};
#else
constexpr std::array kThreads{2, 3, 8};
#endif
constexpr std::array kOneDivision{3};

struct Ways {
  Sums sums = Sums::kInOrder;
  std::span<const int> threads = kThreads;
};

inline void expect_same_bits(const ir::Module& module, const std::vector<Tensor>& inputs, const Ways& ways = {}) {
  Options alone;
  alone.sums = ways.sums;
  const std::vector<Tensor> wanted = outputs_of(module, inputs, alone);
  Options watched = alone;
  watched.observer = [](const ir::Graph&, ir::ValueId, const Tensor&) {};
  EXPECT_TRUE(equal(wanted, outputs_of(module, inputs, watched))) << "not fused";
  Options plain = alone;
  plain.kernels = Kernels::kPlain;
  EXPECT_TRUE(ways.sums != Sums::kInOrder || equal(wanted, outputs_of(module, inputs, plain))) << "plain loops";
  Options each_run = alone;
  each_run.packing = Packing::kEachRun;
  const std::vector<Tensor> packed_each_run = outputs_of(module, inputs, each_run);
  EXPECT_TRUE(ways.sums != Sums::kInOrder || equal(wanted, packed_each_run)) << "packed in each run";
  for (const int count : ways.threads) {
    Options threads = alone;
    threads.threads = count;
    EXPECT_TRUE(equal(wanted, outputs_of(module, inputs, threads))) << count << " threads";
    threads.packing = Packing::kEachRun;
    EXPECT_TRUE(equal(packed_each_run, outputs_of(module, inputs, threads))) << count << " threads, each run";
    expect_extremes(module, inputs, packed_each_run, threads);
  }
  const int64_t supported = hwy::SupportedTargets();
  for (int64_t rest = supported; rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(rest);
    hwy::GetChosenTarget().Update(rest);
    EXPECT_TRUE(equal(wanted, outputs_of(module, inputs, alone))) << hwy::TargetName(target);
    expect_extremes(module, inputs, wanted, alone);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace carina::interpret::testing
