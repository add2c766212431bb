#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "carina/result.h"
#include "ir/graph.h"
#include "plan/family/context.h"
#include "plan/family/family.h"
#include "plan/network/network.h"
#include "plan/network/target.h"
#include "plan/select/rule.h"

// Selection turns TOSA nodes into steps, in node order. The results of a node are either computed by steps at once, or
// only described: as a view of other elements, or as a narrow tensor that represents its widened value. A described
// value is written to memory when an operation needs it there.
namespace carina::plan {

// Elements that represent integers: value = scaled (element - zero_point).
struct Operand {
  View view = {};
  ElementType type = {};
  int64_t zero_point = 0;
  Scaling scaling = {};
  [[nodiscard]] bool is_plain() const { return zero_point == 0 && scaling.is_unit(); }
};

// A RESCALE with the values of its constants.
struct Rescale {
  ElementType in = {};
  ElementType out = {};
  int64_t input_zp = 0;
  int64_t output_zp = 0;
  std::vector<ScaleFactor> factors = {};  // one, or one per channel
  Rounding rounding = Rounding::kSingle;
  bool per_channel = false;
  [[nodiscard]] Scaling scaling() const { return {factors[0], rounding}; }
  // Whether all elements have one factor, with a shift that apply_scale_32() takes.
  [[nodiscard]] bool has_one_factor() const { return !per_channel && factors[0].shift >= 2; }
  // The result for an element, by that factor.
  [[nodiscard]] int64_t result_of(int64_t x) const;
};

// What an operation does with its sums before it stores them. It is collected from the nodes that follow the operation.
struct Epilogue {
  ir::ValueId value = {};  // the graph value that is stored
  ElementType type = {};   // as stored
  int64_t zero_point = 0;
  std::vector<ScaleFactor> factors = {ScaleFactor()};  // one, or one per channel
  Rounding rounding = Rounding::kSingle;
  bool per_channel = false;
  bool scaled = false;
  bool sums_fit_32 = false;  // of 16-bit products, whose scale has 31 bits then
  Activation activation = {};
  [[nodiscard]] Scaling scaling() const { return {factors[0], rounding}; }
};

// Which of the following nodes an operation can absorb.
struct EpilogueRules {
  enum class Scale : uint8_t {
    kNone,    // no RESCALE
    kShift,   // a power of two, one for all channels
    kGlobal,  // one for all channels; a power of two if an input or the result has 32 bits
    kWide,    // one for all channels
    kAny,
  } scale = Scale::kNone;
  bool wide_input = false;  // an operand of 32 bits: powers of two only
};

// The estimated cycles of matrix products as they are, and as convolutions whose weights the NPU writes.
struct WrittenWeights {
  double now = 0;
  double then = 0;
};

// A value with constant padding. The padding is written to memory only when a reader cannot pad implicitly.
struct PendingPad {
  Operand source = {};
  std::vector<int64_t> before = {};
  std::vector<int64_t> after = {};
  int64_t fill = 0;
};

// A value that several nodes compute from one narrow value, element by element, so that one lookup does the same
// (select/functions.cpp).
struct ElementFunction {
  ir::ValueId of = {};
  ir::ValueId value = {};
  std::vector<int32_t> results = {};  // of an int8 value: by input, from that of -128
  BuiltIn built_in = BuiltIn::kNone;  // of an int16 value
  Scaling scaling = {};               // of the built-in function's input
  std::vector<size_t> nodes = {};     // that compute it, by index
};

class Selection {
 public:
  // `rules` are the operator rules of the target.
  Selection(const ir::Graph& graph, std::span<const Rule> rules, const Context& context);

  // Selects every node. Errors: all nodes that cannot run, each with the reason.
  Result<Network> run() &&;

  // ---- read by rules ----
  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] const Family& family() const { return family_; }
  [[nodiscard]] const Options& options() const { return options_; }
  // Whether the NPU is to write results in another order than it computes them.
  [[nodiscard]] bool transposes_results() const {
    return family_.abilities.transposed_results && options_.uses(Optimization::kTransposedResults);
  }
  [[nodiscard]] const ir::Node& node() const { return graph_.nodes[current_.index()]; }
  [[nodiscard]] ir::NodeId node_id() const { return current_; }
  [[nodiscard]] const ir::Value& value(ir::ValueId id) const { return graph_[id]; }
  [[nodiscard]] const Shape& shape(ir::ValueId id) const { return graph_[id].shape; }
  [[nodiscard]] ir::ValueId input(size_t i) const { return node().inputs[i]; }
  [[nodiscard]] ir::ValueId output() const { return node().outputs[0]; }
  // The only reader of a value that is not a graph output; invalid if there is another reader or an output, or a lookup
  // reads the value instead of nodes.
  [[nodiscard]] ir::NodeId sole_user(ir::ValueId id) const;
  [[nodiscard]] const std::vector<ir::NodeId>& users(ir::ValueId id) const { return users_[id.index()]; }
  [[nodiscard]] bool is_output(ir::ValueId id) const { return is_output_[id.index()]; }
  // A message about the current node.
  [[nodiscard]] std::unexpected<Diagnostics> reject(std::string what, std::string expected = {}, std::string got = {},
                                                    std::string hint = {}) const;
  // The elements of a constant operand as integers. Errors: not a constant.
  Result<std::vector<int64_t>> constant(ir::ValueId id, std::string_view role) const;
  Result<int64_t> constant_scalar(ir::ValueId id, std::string_view role) const;
  Result<Rescale> rescale_of(const ir::Node& node) const;

  // ---- values ----
  // The value's elements as TOSA defines them, in memory. Emits steps if the value was only described.
  Operand plain(ir::ValueId id);
  // As plain(), with a contiguous innermost axis. A transposed view is copied once for all readers that need it.
  Operand with_channels(ir::ValueId id);
  // The cheapest description: narrow elements with zero point and scale if there is one, otherwise plain().
  Operand cheapest(ir::ValueId id);
  // Transposes a value once, if all of its readers take parts of it in another order of axes, with contiguous channels,
  // and these parts are no fewer elements. Parts of the channels have theirs side by side only if they are transposed
  // one by one. Does nothing unless the current node is the first reader.
  //   Example: the windows of an adaptive pool [1,16,14,14] -> [1,16,3,3] of a graph input
  void transpose_for_parts(ir::ValueId id);
  [[nodiscard]] const PendingPad* pending_pad(ir::ValueId id) const;
  // Defines the value as these elements. They are copied if the value has a fixed location (a graph output or a part of
  // a CONCAT).
  void define(ir::ValueId id, const Operand& operand);
  void define_pad(ir::ValueId id, PendingPad pad);
  // A boolean that only choices read, as the masks that these need: all ones where it holds.
  void define_mask(ir::ValueId id, const Operand& mask) { states_[id.index()].mask = mask; }
  [[nodiscard]] const std::optional<Operand>& mask(ir::ValueId id) const { return states_[id.index()].mask; }
  // The destination of a value that is about to be computed: a location fixed by a graph output or a CONCAT, otherwise
  // a new tensor.
  View destination(ir::ValueId id);
  // The destination of a value that an operation computes with another shape of equal size. close() makes it the value.
  View open(ir::ValueId id, const Shape& shape);
  // As open(), for results that are computed element by element. A new tensor gets the axis order in memory of `like`,
  // which has the result's shape. So transposes before and after the operation remain views.
  View open_like(ir::ValueId id, const View& like);
  void close(ir::ValueId id, const View& view, ElementType type);

  // ---- following nodes ----
  // Collects the nodes after `start` (of type `type`) that an operation can absorb, and marks them as done.
  Epilogue follow(ir::ValueId start, ElementType type, const EpilogueRules& rules);
  Epilogue follow(Epilogue so_far, const EpilogueRules& rules);
  // Marks a node as done by the operation of another node.
  void absorb(ir::NodeId id) {
    absorbed_[id.index()] = true;
    network_.material.done_by[id.index()] = current_;
  }

  // ---- written by rules ----
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] const Network& network() const { return network_; }
  View new_tensor(std::string name, const Shape& shape, ElementType type);
  TensorId new_constant(std::string name, std::span<const std::byte> bytes, const Shape& shape, int64_t element_bytes);
  void push(Step step);
  // Whether the NPU has a form of weights of which two of each four are zero, and may use it.
  [[nodiscard]] bool uses_sparse_weights() const;
  // Returns whether the NPU can use that two of each four weights are zero (two_of_four).
  bool has_sparse_weights(WeightsId id);
  // Reports a product of two activations that Options::dynamic_weights would make faster. The message is given once per
  // network.
  void could_write_weights(const WrittenWeights& cycles);
  // Returns whether the network is so long that it will be rejected. Loops that unroll may stop then.
  [[nodiscard]] bool is_full() const { return network_.steps.size() > kMaxSteps; }
  static constexpr size_t kMaxSteps = 100'000;

 private:
  struct State {
    std::optional<Operand> plain = {};
    std::optional<Operand> narrow = {};
    std::optional<PendingPad> pad = {};
    std::optional<Operand> mask = {};
    bool failed = false;
  };

  Diagnostics check_values() const;
  void make_tensors();
  // Finds the functions of one element, and marks the nodes as done whose results nothing else reads.
  void find_functions();
  Result<void> select_function(const ElementFunction& function);
  // Makes the lookup part of the operation before it, if that computes the function's operand for nothing else.
  bool absorb_function(Epilogue& epilogue);
  Activation activation_of(const ElementFunction& function);
  // Notes that the current node's operation does what the function's nodes would.
  void note_function(const ElementFunction& function);
  bool inputs_failed(const ir::Node& node);
  Diagnostics visit();
  // Notes which values are in memory as TOSA defines them, and where.
  void note_values();
  void note_slow_matmuls() const;
  void note_sparse_weights() const;
  // Warns of TABLEs whose entries differ by more than 16 bits (select/table.cpp).
  void note_steep_tables() const;
  void fail_outputs();  // of the current node; the readers are not selected either
  View new_like(ir::ValueId id, const View& like);
  [[nodiscard]] bool read_by_channels(ir::ValueId id) const;  // by windows, which need contiguous channels
  // The permutation of a TRANSPOSE, or of the one behind a SLICE, for readers that need contiguous channels.
  [[nodiscard]] std::optional<std::vector<int64_t>> order_of_part(ir::NodeId reader) const;
  // The fixed location of a value, if it has one. `like` is the view that the value will be computed from, if known. A
  // CONCAT without a location takes the axis order of `like`.
  std::optional<View> fixed_view(ir::ValueId id, const View* like = nullptr);
  std::optional<View> find_fixed_view(ir::ValueId id, const View* like);
  // For a value whose channels stay innermost and whose RESHAPE after a TRANSPOSE needs the new order in memory.
  std::optional<View> view_through_transpose(ir::ValueId id, ir::NodeId transpose);
  // For a value that only a TRANSPOSE with a fixed result reads, if the NPU transposes results. Elementwise operations
  // do not take it (open_like).
  std::optional<View> view_transposed_by_npu(ir::ValueId id, ir::NodeId transpose);
  // For a value that only a PAD in front of average pools reads: they need the padding in memory, so the value is
  // computed between it.
  std::optional<View> view_in_pad(ir::ValueId id, ir::NodeId pad);
  std::optional<View> view_in_concat(ir::ValueId id, ir::NodeId concat, const View* like);
  bool try_absorb(Epilogue& epilogue, ir::NodeId next, const EpilogueRules& rules);
  bool absorb_rescale(Epilogue& epilogue, const ir::Node& next, const EpilogueRules& rules);
  bool absorb_clamp(Epilogue& epilogue, const ir::Node& next);
  bool absorb_requantization(Epilogue& epilogue, const ir::Node& next);
  bool absorb_table(Epilogue& epilogue, ir::NodeId next);

  const ir::Graph& graph_;
  std::span<const Rule> rules_;
  const Target& target_;
  const Family& family_;
  const Options& options_;
  const Log& log_;
  Network network_;
  std::vector<State> states_;                              // by value
  std::vector<std::optional<std::optional<View>>> fixed_;  // by value: the cached result of fixed_view()
  std::vector<ir::NodeId> producers_;                      // by value
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<bool> is_output_;
  std::vector<TensorId> output_tensor_;                    // by value, if it is an output
  std::vector<bool> absorbed_;                             // by node
  std::vector<std::optional<ElementFunction>> functions_;  // by value: how one lookup computes it
  std::vector<bool> is_function_operand_;                  // by value: whether a lookup of functions_ reads it
  std::vector<ir::ValueId> function_values_;               // the values of functions_, in the order of their nodes
  std::unordered_multimap<uint64_t, TensorId> constants_;  // by content
  std::unordered_map<size_t, bool> sparse_weights_;        // by WeightsId: the results of has_sparse_weights()
  size_t sparse_layers_ = 0;
  std::string nearly_sparse_;  // the layers whose weights are nearly 2:4 sparse
  size_t slow_matmuls_ = 0;    // number of calls of could_write_weights()
  WrittenWeights slow_cycles_ = {};
  ir::NodeId current_;
};

// A node in messages: its operator, name and source.
std::string place_of(const ir::Node& node);

// The NPU's element type of a TOSA type. Every type has one here; unsupported types are rejected earlier.
std::optional<ElementType> element_type_of(DType dtype);

}  // namespace carina::plan
