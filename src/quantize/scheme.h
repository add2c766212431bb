#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "ir/graph.h"
#include "tensor/dtype.h"

namespace carina::quantize {

enum class Symmetry : uint8_t {
  kAffine,     // the zero point is where the range puts it
  kSymmetric,  // the zero point is 0
};

enum class Granularity : uint8_t { kPerTensor, kPerChannel };

// How an activation's range is chosen from what calibration saw.
enum class RangeChoice : uint8_t {
  kMinMax,     // all of it
  kHistogram,  // the part that gives the least mean square error
};

struct ActivationScheme {
  DType dtype = DType::kInt8;
  int64_t qmin = -128;
  int64_t qmax = 127;
  Symmetry symmetry = Symmetry::kAffine;
  RangeChoice ranges = RangeChoice::kHistogram;

  [[nodiscard]] int64_t steps() const { return qmax - qmin; }
  bool operator==(const ActivationScheme&) const = default;
};

struct WeightScheme {
  DType dtype = DType::kInt8;
  int64_t qmin = -127;  // always symmetric
  int64_t qmax = 127;
  Granularity granularity = Granularity::kPerChannel;

  bool operator==(const WeightScheme&) const = default;
};

// Of scale input * weight, symmetric in the whole type.
struct BiasScheme {
  DType dtype = DType::kInt32;

  bool operator==(const BiasScheme&) const = default;
};

// What becomes of one node's values: its results (and graph inputs), its weights and its bias. The defaults are the
// int8 scheme of the Arm quantizer of PT2E.
struct NodeScheme {
  ActivationScheme activations;
  WeightScheme weights;
  BiasScheme bias;
  double smallest_scale = 1.0 / 65536;  // eps of the Arm quantizer

  bool operator==(const NodeScheme&) const = default;
};

// What differs from the general scheme, and where.
struct Override {
  enum class Of : uint8_t {
    kNode,      // of this name
    kOperator,  // "aten.conv2d.default"
    kInputs,    // all graph inputs; `name` is empty
  } of = Of::kNode;
  std::string name;
  std::optional<NodeScheme> scheme;  // none: left float (not for inputs)
};

// How a model is quantized. Later overrides win.
struct Scheme {
  std::string name = "int8";  // for reports
  NodeScheme general;
  std::vector<Override> overrides;
};

// The scheme of each node and graph input of a graph.
class SchemeOf {
 public:
  // Errors, all in one go: an override of what the graph does not have (usage); a scheme that the lowering does not
  // take yet.
  static Result<SchemeOf> create(const ir::Graph& graph, const Scheme& scheme);

  [[nodiscard]] size_t nodes() const { return nodes_.size(); }
  // Null: the node is left float.
  [[nodiscard]] const NodeScheme* node(size_t index) const { return nodes_[index] ? &*nodes_[index] : nullptr; }
  [[nodiscard]] const NodeScheme& inputs() const { return inputs_; }
  [[nodiscard]] const NodeScheme& general() const { return general_; }

 private:
  std::vector<std::optional<NodeScheme>> nodes_;
  NodeScheme inputs_;
  NodeScheme general_;
};

}  // namespace carina::quantize
