#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/memory/buffer.h"
#include "plan/network/step.h"
#include "plan/network/weight_values.h"
#include "tensor/shape.h"

namespace carina::plan {

enum class TensorKind : uint8_t {
  kConstant,  // read-only, in the constants' region
  kInput,     // filled before the run
  kOutput,    // read after the run
  kIntermediate,
};

enum class Format : uint8_t { kNhwc, kNhcwb16 };

// The shape in which most operations see a tensor: the one that NHCWB16 can be laid out for.
struct Extent {
  int64_t height = 1;
  int64_t width = 1;
  int64_t depth = 1;
  bool operator==(const Extent&) const = default;
};

using StorageId = Id<struct StorageTag>;

struct PlanTensor {
  std::string name = {};
  TensorKind kind = TensorKind::kIntermediate;
  int64_t element_bytes = 1;
  Shape shape = {};    // TOSA's
  Extent extent = {};  // of the same elements
  Format format = Format::kNhwc;
  int64_t constant_bytes = 0;  // a constant's; the bytes themselves are in Material
  StorageId storage = {};      // where it stands, once that is decided

  // Bytes that the tensor takes where it stands.
  [[nodiscard]] int64_t bytes() const;
  bool operator==(const PlanTensor&) const = default;
};

// Weights of one convolution (or only biases and scales, for pools that scale per channel): w[o][ky][kx][i], for
// depthwise kernels w[c][ky][kx]. Zero points are taken off.
struct Weights {
  std::string name = {};
  int64_t out_channels = 0;
  int64_t height = 1;
  int64_t width = 1;
  int64_t in_channels = 1;           // 1 for depthwise kernels
  WeightValues values = {};          // empty: scales only
  std::vector<int64_t> biases = {};  // one per output channel
  std::vector<uint32_t> multipliers = {};
  std::vector<uint8_t> shifts = {};
  AccWidth acc = AccWidth::kNarrow;  // of the steps that read them: families store scales accordingly
};

// What the network is made of and no decision changes: bytes of constants and weights, and which nodes it stands for.
struct Material {
  std::vector<Buffer> constants = {};    // per tensor; empty unless it is a constant
  std::vector<Weights> weights = {};     // by WeightsId
  std::vector<ir::NodeId> done_by = {};  // per TOSA node: the node whose steps compute it too, if another
  [[nodiscard]] const Weights& operator[](WeightsId id) const { return weights[id.index()]; }
};

// What selection makes of a graph: steps in order, on tensors. plan/schedule takes it from there.
struct Network {
  std::vector<PlanTensor> tensors = {};
  std::vector<Step> steps = {};
  std::vector<TensorId> inputs = {};  // in the graph's order
  std::vector<TensorId> outputs = {};
  Material material = {};

  [[nodiscard]] PlanTensor& operator[](TensorId id) { return tensors[id.index()]; }
  [[nodiscard]] const PlanTensor& operator[](TensorId id) const { return tensors[id.index()]; }
  TensorId add(PlanTensor tensor) {
    tensors.push_back(std::move(tensor));
    return TensorId(tensors.size() - 1);
  }
};

// The three axes that stand for `shape`: channels last, the innermost other axis that is not 1 as width, the rest as
// height.
Extent extent_of(const Shape& shape);

}  // namespace carina::plan
