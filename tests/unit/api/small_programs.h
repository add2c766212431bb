#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../pt2/model_builder.h"
#include "carina/api.h"

// The small model of the tests and programs made of it: y = relu(x W'), x and y fp32 [1,2].
namespace carina::api {

inline const TargetNames kTarget{.accelerator = "ethos-u55-128"};

inline Model imported(const pt2::ModelBuilder& builder) {
  auto model = import_pt2(Buffer::copy_of(builder.archive()), "m.pt2");
  EXPECT_TRUE(model.has_value()) << to_string(model.error());
  return *std::move(model);
}

inline Sample sample(float a, float b) {
  return {Tensor::of<float>(DType::kFp32, {1, 2}, std::vector<float>{a, b})};
}

inline Model quantized_model() {
  const std::vector<Sample> samples{sample(1, -1), sample(-1, 0.5), sample(0.25, 1)};
  auto model = quantize(imported(pt2::small_model()), samples);
  EXPECT_TRUE(model.has_value()) << to_string(model.error());
  return *std::move(model);
}

inline std::vector<std::byte> small_pte(const TargetNames& target = kTarget) {
  auto program = compile(quantized_model(), target);
  EXPECT_TRUE(program.has_value()) << to_string(program.error());
  return std::move(program->pte);
}

inline std::vector<float> floats_of(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace carina::api
