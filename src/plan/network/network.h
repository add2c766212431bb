#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/shape.h"
#include "plan/network/shared_name.h"
#include "plan/network/step.h"
#include "plan/network/view.h"
#include "plan/network/weight_values.h"
#include "tensor/fixed_point.h"

// Network: the steps and tensors that selection makes of a TOSA graph.
namespace carina::plan {

enum class TensorKind : uint8_t {
  kConstant,  // read-only, in the region of constants
  kInput,     // filled before the run
  kOutput,    // read after the run
  kIntermediate,
};

enum class Format : uint8_t { kNhwc, kNhcwb16 };

// The three-dimensional shape that most operations use for a tensor. NHCWB16 lays the tensor out for this shape.
struct Extent {
  int64_t height = 1;
  int64_t width = 1;
  int64_t depth = 1;
  bool operator==(const Extent&) const = default;
};

using StorageId = Id<struct StorageTag>;

struct PlanTensor {
  SharedName name = {};
  TensorKind kind = TensorKind::kIntermediate;
  int64_t element_bytes = 1;
  Shape shape = {};    // TOSA's
  Extent extent = {};  // of the same elements
  Format format = Format::kNhwc;
  int64_t constant_bytes = 0;  // of a constant, whose bytes are in Material
  StorageId storage = {};      // its storage, once decided
  TensorId beside = {};        // of an input: the output whose storage it shares (network/carried_inputs.h)
  int64_t place_bytes = 0;     // from the start of its storage

  // The bytes that the tensor takes in its storage.
  [[nodiscard]] int64_t bytes() const;
  bool operator==(const PlanTensor&) const = default;
};

// The weights of one convolution, without zero points: w[o][ky][kx][i], or w[c][ky][kx] for depthwise kernels. Pools
// with one scale per channel use Weights that hold biases and scales only.
struct Weights {
  std::string name = {};
  int64_t out_channels = 0;
  int64_t height = 1;
  int64_t width = 1;
  int64_t in_channels = 1;                // 1 for depthwise kernels
  WeightValues values = {};               // empty: scales only
  std::vector<int64_t> biases = {};       // one per output channel
  std::vector<ScaleFactor> factors = {};  // one per output channel
  AccWidth acc = AccWidth::kNarrow;       // of the steps that read them; it decides the format of the scales
};

// How near weights are to 2:4 sparsity: at most two weights other than zero among each four consecutive input channels,
// at each tap of each filter. Weights of one or two input channels always are, because the NPU fills a group with
// zeros.
struct TwoOfFour {
  size_t groups = 0;       // of four channels at one tap; 0: no weights
  size_t full_groups = 0;  // groups with more than two such weights; counting ends when more than a twentieth have
  bool fits = true;        // no weight is below -127

  [[nodiscard]] bool holds() const { return groups > 0 && full_groups == 0 && fits; }
  [[nodiscard]] bool nearly_holds() const { return full_groups > 0 && full_groups <= groups / 20; }
};
TwoOfFour two_of_four(const Weights& weights);

// Data of the network that no scheduling decision changes: the bytes of constants and weights, and the node of each
// step.
struct Material {
  std::vector<Buffer> constants = {};    // by tensor; empty unless it is a constant
  std::vector<Weights> weights = {};     // by WeightsId
  std::vector<ir::NodeId> done_by = {};  // by TOSA node: the other node whose steps compute it too, if there is one
  std::vector<std::optional<View>> values = {};  // by value: its elements, if steps write them as TOSA defines them
  [[nodiscard]] const Weights& operator[](WeightsId id) const { return weights[id.index()]; }
};

// Elements that steps copy from one tensor to another.
struct ViewCopy {
  View from = {};
  View to = {};
  int64_t element_bytes = 1;
  size_t first = 0;  // of the steps
  size_t end = 0;
};

// The result of selection: steps in order, and their tensors. It is the input of plan/schedule.
struct Network {
  std::vector<PlanTensor> tensors = {};
  std::vector<Step> steps = {};
  std::vector<TensorId> inputs = {};  // in the graph's order
  std::vector<TensorId> outputs = {};
  std::vector<ViewCopy> copies = {};  // in order, as far as selection knows of them
  Material material = {};

  [[nodiscard]] PlanTensor& operator[](TensorId id) { return tensors[id.index()]; }
  [[nodiscard]] const PlanTensor& operator[](TensorId id) const { return tensors[id.index()]; }
  TensorId add(PlanTensor tensor) {
    tensors.push_back(std::move(tensor));
    return TensorId(tensors.size() - 1);
  }
};

// Folds `shape` to three axes: the innermost axis is the channels, the innermost other axis that is not 1 is the width,
// and all others are the height.
//   Example: [2,3,1,16] has height 2, width 3 and depth 16.
Extent extent_of(const Shape& shape);

}  // namespace carina::plan
