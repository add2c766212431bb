#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/operation.h"
#include "tensor/tensor.h"

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

struct PlanTensor {
  std::string name = {};
  TensorKind kind = TensorKind::kIntermediate;
  int64_t element_bytes = 1;
  Shape shape = {};    // TOSA's
  Extent extent = {};  // of the same elements
  Format format = Format::kNhwc;
  Buffer data = {};  // a constant's bytes
  int64_t align_bytes = 16;
  int64_t address = -1;  // bytes from the region's start, once placed

  // Bytes that the tensor takes where it stands.
  [[nodiscard]] int64_t bytes() const;
};

// Weights of one convolution (or only biases and scales, for pools that scale per channel): w[o][ky][kx][i], for
// depthwise kernels w[c][ky][kx]. Zero points are taken off.
struct Weights {
  std::string name = {};
  int64_t out_channels = 0;
  int64_t height = 1;
  int64_t width = 1;
  int64_t in_channels = 1;           // 1 for depthwise kernels
  std::vector<int16_t> values = {};  // empty: scales only
  std::vector<int64_t> biases = {};  // one per output channel
  std::vector<uint32_t> multipliers = {};
  std::vector<uint8_t> shifts = {};
};

// A network as the NPU will run it: operations in order, on tensors.
struct Network {
  std::vector<PlanTensor> tensors = {};
  std::vector<Weights> weights = {};
  std::vector<Operation> operations = {};
  std::vector<TensorId> inputs = {};  // in the graph's order
  std::vector<TensorId> outputs = {};
  std::vector<ir::NodeId> done_by = {};  // per TOSA node: the node whose operations compute it too, if another

  [[nodiscard]] PlanTensor& operator[](TensorId id) { return tensors[id.index()]; }
  [[nodiscard]] const PlanTensor& operator[](TensorId id) const { return tensors[id.index()]; }
  [[nodiscard]] const Weights& operator[](WeightsId id) const { return weights[id.index()]; }
  TensorId add(PlanTensor tensor) {
    tensors.push_back(std::move(tensor));
    return TensorId(tensors.size() - 1);
  }
};

// The three axes that stand for `shape`: channels last, the innermost other axis that is not 1 as width, the rest as
// height.
Extent extent_of(const Shape& shape);

}  // namespace carina::plan
