#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "ir/graph.h"
#include "ir/user_module.h"
#include "tensor/dtype.h"

namespace carina::quantize {

enum class Symmetry : uint8_t {
  kAffine,     // the zero point is where the range puts it
  kSymmetric,  // the zero point is 0
};

enum class Granularity : uint8_t { kPerTensor, kPerChannel };

// How an activation's range is chosen from what calibration saw.
enum class RangeChoice : uint8_t {
  kMinMax,         // all of it
  kHistogram,      // the part that gives the least square error, clipping counted twice: it does not average out
  kSquareError,    // the same, counted as it is
  kPercentile,     // 99.99 % of the elements, as many left out at each end
  kMovingAverage,  // the ends of each tensor, averaged: a new one counts 1 %
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

enum class Rounding : uint8_t {
  kNearest,
  kForInputs,  // the errors of one weight make up for those of others, for inputs like the samples
};

// What rounding the weights adds to each output channel on average.
enum class MeanError : uint8_t {
  kKept,
  kTakenFromBias,
};

// Between layers that follow one another: see equalize_layers().
enum class Equalization : uint8_t {
  kNone,
  kAcrossLayers,
};

// int4 weights need int8 activations: those of a node that reads int16 become int8.
struct WeightScheme {
  DType dtype = DType::kInt8;
  int64_t qmin = -127;  // always symmetric
  int64_t qmax = 127;
  Granularity granularity = Granularity::kPerChannel;
  Rounding rounding = Rounding::kNearest;
  MeanError mean_error = MeanError::kTakenFromBias;
  Equalization equalization = Equalization::kNone;  // that of the general scheme counts

  bool operator==(const WeightScheme&) const = default;
};

// What becomes of one node's values: its results (and graph inputs) and its weights; the bias has the scale input *
// weight and what the accumulator has of bits. The defaults are the int8 scheme of the Arm quantizer of PT2E.
struct NodeScheme {
  ActivationScheme activations;
  WeightScheme weights;
  double smallest_scale = 1.0 / 65536;  // eps of the Arm quantizer

  bool operator==(const NodeScheme&) const = default;
};

// What differs from the general scheme, and where.
struct Override {
  enum class Of : uint8_t {
    kNode,        // of this name, in the graph or in the user's model
    kOperator,    // "aten.conv2d.default", likewise
    kModule,      // of the user's model, with all inside it: "features.3"
    kModuleType,  // "Linear", or "torch.nn.modules.linear.Linear"
    kInputs,      // all graph inputs; `name` is empty
    kOutputs,     // all graph outputs; `name` is empty
  } of = Of::kNode;
  std::string name;
  std::optional<NodeScheme> scheme;  // none: left float (not for inputs and outputs)
};

// A node of the user's model, for overrides that name such; ir::Node::origin says which one a node was made from.
struct UserNode {
  std::string name;
  std::string op;
  std::vector<ir::UserModule> modules;  // from the outermost to the one that calls it
};

// How a model is quantized. Later overrides win. Values that share their parameters (what moves or joins data shares them
// with what it moves) share their scheme too: that of the last override of any of their nodes.
struct Scheme {
  std::string name = "int8";  // for reports
  NodeScheme general;
  std::vector<Override> overrides;
};

// A scheme from its specification: "int8", "int16x8" (or "a16w8"), "int8x4" (or "a8w4"), with details behind plus signs:
// "int8+per-tensor+symmetric+minmax"; "float": none. Errors (usage): unknown names.
Result<std::optional<NodeScheme>> parse_scheme(std::string_view spec);
// "node:NAME=SCHEME", "op:", "module:" and "type:" likewise, "inputs=SCHEME", "outputs=SCHEME". Errors (usage).
Result<Override> parse_override(std::string_view spec);
// For help texts: the names, and the details.
std::string scheme_names();
std::string scheme_details();

// The scheme of each node, graph input and graph output of a graph, with the rank of what said so: 0 for the general
// one; more for overrides, the later the more.
struct Ranked {
  std::optional<NodeScheme> scheme;  // none: left float
  size_t rank = 0;
};

class SchemeOf {
 public:
  // Errors, all in one go: an override of what the model does not have (usage); a scheme that no lowering takes.
  static Result<SchemeOf> create(const ir::Graph& graph, const Scheme& scheme, std::span<const UserNode> user_nodes);

  [[nodiscard]] size_t nodes() const { return nodes_.size(); }
  [[nodiscard]] const Ranked& node(size_t index) const { return nodes_[index]; }
  [[nodiscard]] bool is_left_float(size_t index) const { return !nodes_[index].scheme; }
  void leave_float(size_t index) { nodes_[index].scheme.reset(); }
  [[nodiscard]] const Ranked& inputs() const { return inputs_; }
  [[nodiscard]] const Ranked& outputs() const { return outputs_; }
  [[nodiscard]] const NodeScheme& general() const { return *general_.scheme; }

 private:
  std::vector<Ranked> nodes_;
  Ranked inputs_;
  Ranked outputs_;
  Ranked general_;
};

}  // namespace carina::quantize
