#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/diagnostic.h"
#include "ir/graph.h"
#include "plan/family/context.h"
#include "plan/family/family.h"
#include "plan/network/network.h"
#include "plan/network/target.h"
#include "plan/select/rule.h"

// Selection: TOSA nodes become steps. The nodes are visited in order. A node's results are either
// made by steps at once, or only described (a view of other elements, a narrow tensor that stands for its widened
// self) until somebody needs them in memory.
namespace carina::plan {

// Elements that stand for integers: value = (element - zero_point) scaled.
struct Operand {
  View view = {};
  ElementType type = {};
  int64_t zero_point = 0;
  Scaling scaling = {};
  [[nodiscard]] bool is_plain() const { return zero_point == 0 && scaling.is_unit(); }
};

// RESCALE with its constants read out.
struct Rescale {
  ElementType in = {};
  ElementType out = {};
  int64_t input_zp = 0;
  int64_t output_zp = 0;
  std::vector<uint32_t> multipliers = {};  // one, or one per channel
  std::vector<uint8_t> shifts = {};
  Rounding rounding = Rounding::kNatural;
  bool per_channel = false;
  [[nodiscard]] Scaling scaling(size_t channel = 0) const {
    return {.multiplier = multipliers[channel], .shift = shifts[channel], .rounding = rounding};
  }
};

// What an operation does to its sums before storing them, gathered from the nodes behind it.
struct Epilogue {
  ir::ValueId value = {};  // the graph value that gets stored
  ElementType type = {};   // as stored
  int64_t zero_point = 0;
  std::vector<uint32_t> multipliers = {1};  // one, or one per channel
  std::vector<uint8_t> shifts = {0};
  Rounding rounding = Rounding::kNatural;
  bool per_channel = false;
  bool scaled = false;
  Activation activation = {};
  [[nodiscard]] Scaling scaling() const {
    return {.multiplier = multipliers[0], .shift = shifts[0], .rounding = rounding};
  }
};

// Which nodes behind an operation it can take over.
struct EpilogueRules {
  enum class Scale : uint8_t {
    kNone,    // no RESCALE
    kShift,   // a power of two, one for all channels
    kGlobal,  // one for all channels; a power of two where an input or the result has 32 bits
    kAny,
  } scale = Scale::kNone;
  bool wide_input = false;  // an operand of 32 bits: powers of two only
};

// What products take as they are, and as convolutions whose weights the NPU writes: estimates in cycles.
struct WrittenWeights {
  double now = 0;
  double then = 0;
};

// A value that is padded with a constant once somebody who cannot pad by himself reads it.
struct PendingPad {
  Operand source = {};
  std::vector<int64_t> before = {};
  std::vector<int64_t> after = {};
  int64_t fill = 0;
};

class Selection {
 public:
  // `rules`: of the operators that the target runs.
  Selection(const ir::Graph& graph, std::span<const Rule> rules, const Context& context);

  // Selects every node. Errors: all nodes that cannot run, each with the reason.
  Result<Network> run() &&;

  // ---- what rules ask ----
  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] const Family& family() const { return family_; }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const ir::Node& node() const { return graph_.nodes[current_.index()]; }
  [[nodiscard]] ir::NodeId node_id() const { return current_; }
  [[nodiscard]] const ir::Value& value(ir::ValueId id) const { return graph_[id]; }
  [[nodiscard]] const Shape& shape(ir::ValueId id) const { return graph_[id].shape; }
  [[nodiscard]] ir::ValueId input(size_t i) const { return node().inputs[i]; }
  [[nodiscard]] ir::ValueId output() const { return node().outputs[0]; }
  // The only reader of a value that is not an output of the graph; invalid otherwise.
  [[nodiscard]] ir::NodeId sole_user(ir::ValueId id) const;
  [[nodiscard]] const std::vector<ir::NodeId>& users(ir::ValueId id) const { return users_[id.index()]; }
  [[nodiscard]] bool is_output(ir::ValueId id) const { return is_output_[id.index()]; }
  // A message about the node at hand.
  [[nodiscard]] std::unexpected<Diagnostics> refuse(std::string what, std::string expected = {}, std::string got = {},
                                                    std::string hint = {}) const;
  // A constant operand's elements as integers. Errors: not a constant.
  Result<std::vector<int64_t>> constant(ir::ValueId id, std::string_view role) const;
  Result<int64_t> constant_scalar(ir::ValueId id, std::string_view role) const;
  Result<Rescale> rescale_of(const ir::Node& node) const;

  // ---- values ----
  // The value's elements as TOSA has them, in memory: makes them if they were only described.
  Operand plain(ir::ValueId id);
  // The same with the innermost axis side by side: a transposed view is copied, once for all who need that.
  Operand with_channels(ir::ValueId id);
  // The cheapest description: narrow elements with zero point and scale if there is one, else plain().
  Operand cheapest(ir::ValueId id);
  [[nodiscard]] const PendingPad* pending_pad(ir::ValueId id) const;
  // The value is these elements. Copies them if the value has to be somewhere else (a graph output, a part of a
  // CONCAT).
  void define(ir::ValueId id, const Operand& operand);
  void define_pad(ir::ValueId id, PendingPad pad);
  // Where a value about to be computed goes: a place fixed by the graph's outputs or a CONCAT, else a new tensor.
  View destination(ir::ValueId id);
  // The place for a value that an operation computes under another shape of as many elements; close() makes it the
  // value.
  View open(ir::ValueId id, const Shape& shape);
  // The same for results that are made element by element: a new tensor gets its axes in the order that `like`, of the
  // result's shape, has in memory, so that transposes before and behind stay views.
  View open_like(ir::ValueId id, const View& like);
  void close(ir::ValueId id, const View& view, ElementType type);

  // ---- nodes behind ----
  // Follows the nodes behind `start` (of type `type`) that an operation can take over, and marks them as done.
  Epilogue follow(ir::ValueId start, ElementType type, const EpilogueRules& rules);
  Epilogue follow(Epilogue so_far, const EpilogueRules& rules);
  // Marks a node as done by an operation of another node.
  void absorb(ir::NodeId id) {
    absorbed_[id.index()] = true;
    network_.material.done_by[id.index()] = current_;
  }

  // ---- what rules make ----
  [[nodiscard]] Network& network() { return network_; }
  View new_tensor(std::string name, const Shape& shape, ElementType type);
  TensorId new_constant(std::string name, std::span<const std::byte> bytes, const Shape& shape, int64_t element_bytes);
  void push(Step step);
  // A product of two activations that Options::dynamic_weights would make faster; told once for the whole network.
  void could_write_weights(const WrittenWeights& cycles);
  // Whether the network has become so long that it will be refused: loops that unroll may stop.
  [[nodiscard]] bool is_full() const { return network_.steps.size() > kMaxSteps; }
  static constexpr size_t kMaxSteps = 100'000;

 private:
  struct State {
    std::optional<Operand> plain = {};
    std::optional<Operand> narrow = {};
    std::optional<PendingPad> pad = {};
    bool failed = false;
  };

  Diagnostics check_values() const;
  void make_tensors();
  bool inputs_failed(const ir::Node& node);
  Diagnostics visit();
  void note_slow_matmuls() const;
  void fail_outputs();  // of the current node: who reads them is not selected either
  View new_like(ir::ValueId id, const View& like);
  [[nodiscard]] bool read_by_channels(ir::ValueId id) const;  // by windows, which need channels side by side
  // `like`: what the value is going to be made of, if known. A CONCAT that nobody has placed yet stands in its order.
  std::optional<View> fixed_view(ir::ValueId id, const View* like = nullptr);
  std::optional<View> find_fixed_view(ir::ValueId id, const View* like);
  // Where channels stay innermost and a RESHAPE behind wants the new order in memory.
  std::optional<View> view_through_transpose(ir::ValueId id, ir::NodeId transpose);
  std::optional<View> view_in_concat(ir::ValueId id, ir::NodeId concat, const View* like);
  bool try_absorb(Epilogue& epilogue, ir::NodeId next, const EpilogueRules& rules);
  bool absorb_rescale(Epilogue& epilogue, const ir::Node& next, const EpilogueRules& rules);
  bool absorb_clamp(Epilogue& epilogue, const ir::Node& next);
  bool absorb_table(Epilogue& epilogue, ir::NodeId next);

  const ir::Graph& graph_;
  std::span<const Rule> rules_;
  const Target& target_;
  const Family& family_;
  const Options& options_;
  const Log& log_;
  Network network_;
  std::vector<State> states_;                              // per value
  std::vector<std::optional<std::optional<View>>> fixed_;  // per value: fixed_view(), once asked
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<bool> is_output_;
  std::vector<TensorId> output_tensor_;                    // per value, where it is an output
  std::vector<bool> absorbed_;                             // per node
  std::unordered_multimap<uint64_t, TensorId> constants_;  // by content
  size_t slow_matmuls_ = 0;                                // that could_write_weights() was told of
  WrittenWeights slow_cycles_ = {};
  ir::NodeId current_;
};

// The NPU's view of a TOSA type. Errors: none; types that the NPU does not have are refused before.
std::optional<ElementType> element_type_of(DType dtype);

}  // namespace carina::plan
