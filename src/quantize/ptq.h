#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "datasets/data_set.h"
#include "ir/evaluator.h"
#include "ir/graph.h"
#include "quantize/scheme.h"

namespace carina::quantize {

// The findings of quantization about a model, apart from its ranges.
struct PtqFindings {
  std::vector<std::string> beyond_int32;  // names of int64 values that exceed int32 in a sample
};

// Whether 8 bits may become 16 where they leave too much noise in a network that waits for its weights.
// kAllButState: the state keeps 8 bits, since other methods of the program share it.
enum class WiderSteps : uint8_t { kNever, kAllButState, kAll };

struct PtqOptions {
  int threads = 1;
  Scheme scheme;
  const ir::Evaluator* evaluator = nullptr;  // runs the nodes that TOSA does not support; nullptr: such nodes are
                                             // errors
  std::string data = "calibration";          // the samples' name in messages
  std::vector<UserNode> user_nodes = {};     // nodes of the user's model, for overrides that name them
  bool narrow_outputs = false;               // the program gives 8-bit integers: its outputs keep 8 bits
  // The ranges of states, by name, instead of those that the samples show: methods of one program share them.
  std::map<std::string, Limits> state_limits = {};
  WiderSteps wider_steps = WiderSteps::kNever;
  bool for_all_roundings = false;  // Observed: gather what kForInputs needs, whatever the scheme is
};

// Post-training quantization of a normalized float graph (normalize::normalize): sets Value::quantization by the
// scheme. Activations are quantized per tensor, weights symmetrically, and biases with the scale input * weight. As in
// the Arm quantizer of PT2E, some values share parameters (docs/facts/arm_backend.md 4). The float graph runs on
// `samples` to find the ranges; each sample has one tensor per graph input. The samples of a graph with state are one
// sequence: a sample has no values for the state, since each run begins with the state that the run before it left
// (state_samples.h). Nodes that only the CPU's kernels
// support stay float. A warning names inputs and outputs that never change. Errors: no samples; samples that do not
// match the inputs; values that are not finite; a model that does not compute in fp32; all unsupported nodes;
// unsupported schemes.
Result<PtqFindings> quantize(ir::Graph& aten, const datasets::DataSet& samples, const PtqOptions& options,
                             const Log& log);

// Prepares the channels of a float graph as quantize() does, if the scheme says so: layers of their own for slices, and
// factors between layers (own_channels_internal.h, equalize.h). The graph computes the same outputs except for
// rounding.
Result<void> equalize(ir::Graph& aten, const datasets::DataSet& samples, const PtqOptions& options);

// Whether a scheme with 16 bits may change a float graph: it has roots, logarithms, powers or reciprocals, which
// may get several tables.
bool may_split_functions(const ir::Graph& aten);

// A float graph, and what its runs on the calibration samples have shown. Several schemes can be applied to it.
class Observed {
 public:
  // Errors: those of quantize(). The schemes to be applied leave the same nodes float as options.scheme, whose
  // equalization they have; if one of them measures ranges, options.scheme does.
  static Result<Observed> create(ir::Graph aten, const datasets::DataSet& samples, const PtqOptions& options,
                                 const Log& log);

  // Returns the graph with Value::quantization set by the scheme. Ranges that are measured are those of the first
  // scheme that measures them.
  Result<ir::Graph> quantized(const Scheme& scheme, const Log& log);
  // Gives a network that waits for its weights more bits, if that brings at least 3 dB on average or in the worst step
  // or output: one with state if 8 bits leave less than 30 dB in one of its steps, another if they leave less than 35
  // dB in one of its outputs. What wide_steps() finds gets 16 bits, and if a step or an output has less than 20 dB
  // then, weights are rounded for their inputs. `quantized` is the result of `scheme`, a scheme with 8 bits, and is
  // replaced. A note says what was done. Returns whether it did.
  Result<bool> widen_steps(const Scheme& scheme, ir::Graph& quantized, const Log& log);
  // Says what 16 bits in all values but those that the largest nodes read would bring, if that is much; or else what 16
  // bits in all values, or in all weights too, would bring, if 8 leave less than 30 dB. `quantized` is the result of
  // `scheme`.
  Result<void> note_wider(const Scheme& scheme, const ir::Graph& quantized, const Log& log) const;
  // Returns the float graph that is quantized: equalized, if options.scheme says so.
  [[nodiscard]] const ir::Graph& floats() const;
  [[nodiscard]] PtqFindings findings() const;

  Observed(Observed&&) noexcept;
  Observed& operator=(Observed&&) noexcept;
  ~Observed();

 private:
  struct State;
  explicit Observed(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace carina::quantize
