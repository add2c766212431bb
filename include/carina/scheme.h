// Defines quantization schemes: the data types, granularity and ranges of a quantized model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carina/dtype.h"
#include "carina/result.h"

namespace carina::quantize {

enum class Symmetry : uint8_t {
  kAffine,     // the zero point follows from the range
  kSymmetric,  // the zero point is 0
};

enum class Granularity : uint8_t { kPerTensor, kPerChannel };

// How the range of an activation is chosen from the values that calibration observed.
enum class RangeChoice : uint8_t {
  kMeasured,       // for each value one of the next four: that with the least error of the model's outputs
  kMinMax,         // from the smallest to the largest value
  kHistogram,      // the range of least squared error, where errors of clipped values count twice
  kSquareError,    // the range of least squared error
  kPercentile,     // 99.99 % of the elements: 0.005 % are clipped at each end
  kMovingAverage,  // the moving average of the ends of each sample's tensor, with weight 0.01 for a new one
};

// Whether values after the last large layers, where 16 bits cost next to nothing, have 16 bits in a scheme with 8
// (quantize/wide_tail_internal.h).
enum class Tail : uint8_t { kWide, kNarrow };

struct ActivationScheme {
  DType dtype = DType::kInt8;
  int64_t qmin = -128;
  int64_t qmax = 127;
  Symmetry symmetry = Symmetry::kAffine;
  RangeChoice ranges = RangeChoice::kMeasured;
  Tail tail = Tail::kWide;  // only the general scheme's value is used

  [[nodiscard]] int64_t steps() const { return qmax - qmin; }
  bool operator==(const ActivationScheme&) const = default;
};

enum class Rounding : uint8_t {
  kNearest,
  kForInputs,  // chosen so that errors of weights cancel for inputs like the samples
};

// The treatment of the mean error that rounded weights add to each output channel.
enum class MeanError : uint8_t {
  kKept,
  kTakenFromBias,
};

// Whether channels get factors between layers, and slices of channels layers of their own, before quantization
// (quantize/equalize.h, quantize/own_channels_internal.h).
enum class Equalization : uint8_t {
  kNone,
  kAcrossLayers,
};

// Weights that become zero before quantization.
enum class Pruning : uint8_t {
  kNone,
  kTwoOfFour,  // two of each four consecutive input channels: NPUs with 2:4 sparsity multiply them in half the time
  kSmallest,   // a percentage of a layer's weights, those of the smallest magnitudes: they take fewer bytes
};

// The scheme of the weights. int4 weights need int8 activations: int4 becomes int8 for a node that reads int16.
struct WeightScheme {
  DType dtype = DType::kInt8;
  int64_t qmin = -127;  // always symmetric
  int64_t qmax = 127;
  Granularity granularity = Granularity::kPerChannel;
  Rounding rounding = Rounding::kNearest;
  MeanError mean_error = MeanError::kTakenFromBias;
  Equalization equalization = Equalization::kAcrossLayers;  // only the general scheme's value is used
  Pruning pruning = Pruning::kNone;
  int pruned_percent = 0;  // with Pruning::kSmallest, 1 to 99
  int clusters = 0;        // at most so many different integers among the weights of a layer, 2 and more; 0: any number

  bool operator==(const WeightScheme&) const = default;
};

// The scheme of one node: of its results (or of a graph input) and of its weights. The bias has the scale input scale *
// weight scale and the accumulator's width. The defaults are the int8 scheme of the Arm quantizer of PT2E.
struct NodeScheme {
  ActivationScheme activations;
  WeightScheme weights;
  double smallest_scale = 1.0 / 65536;  // a smaller scale is raised to this. Source: eps of the Arm quantizer

  bool operator==(const NodeScheme&) const = default;
};

// A scheme for the nodes that `of` and `name` select.
struct Override {
  enum class Of : uint8_t {
    kNode,        // the node with this name, in the graph or in the user's model
    kOperator,    // nodes of this operator, in the graph or in the user's model: "aten.conv2d.default"
    kModule,      // a module of the user's model and all modules inside it: "features.3"
    kModuleType,  // "Linear", or "torch.nn.modules.linear.Linear"
    kInputs,      // all graph inputs; `name` is empty
    kOutputs,     // all graph outputs; `name` is empty
    kState,       // the state of this name, a buffer that the model changes: "ring"
  } of = Of::kNode;
  std::string name;
  std::optional<NodeScheme> scheme;  // no value: the node stays float (not allowed for inputs, outputs and state)
};

// Whether a scheme with 8 bits gives 16 to a network that loses much, where they cost few cycles (quantize/ptq.h,
// Observed::widen_steps). --quantize auto says what has 16 bits.
enum class Widening : uint8_t { kWhereNeeded, kAsSaid };

// How a model is quantized. A later override takes precedence. Values that share their parameters, as the operands and
// results of data movement do, also share their scheme: that of the last override of any of their nodes.
struct Scheme {
  std::string name = "int8";  // for reports
  NodeScheme general;
  std::vector<Override> overrides;
  Widening widening = Widening::kWhereNeeded;
};

// Parses the specification of a scheme: "int8", "int16x8" (or "a16w8"), "int8x4" (or "a8w4"), with details after plus
// signs: "int8+per-tensor+symmetric+minmax". "float" gives no value. Errors (usage): unknown names.
Result<std::optional<NodeScheme>> parse_scheme(std::string_view spec);
// Parses an override: "node:NAME=SCHEME", "op:", "module:" and "type:" likewise, "inputs=SCHEME", "outputs=SCHEME".
// Errors (usage): unknown forms and schemes.
Result<Override> parse_override(std::string_view spec);
// The names of all schemes and of all details, for help texts.
std::string scheme_names();
std::string scheme_details();

}  // namespace carina::quantize
