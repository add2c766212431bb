#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "plan/select/emit_internal.h"
#include "plan/select/selection.h"
#include "tensor/elements.h"
#include "tensor/fixed_point.h"

// Functions of one element. TOSA has no table with results of 32 bits and no sigmoid of 16 bits, so that a front end
// puts them together of many nodes. If the nodes compute, from one narrow value and constants alone, what one lookup of
// the NPU gives, they become that lookup:
//   int8:  the nodes are evaluated for all 256 inputs; the results are a table of 256 words
//   int16: the nodes are evaluated for all 65,536 inputs; the results must be those of the NPU's own sigmoid or tanh
//   Example: exp(x) = TABLE(x) * 2^24 + TABLE(x) * 2^16 + ...: 15 nodes, one table.
//
// The search is one pass over the nodes: a value's root is the narrow value of which it is a function. What only such
// functions read is not computed. Evaluation takes the nodes of the function times 256 or 65,536; of 16 bits only
// functions with a TABLE of at least kMinNodes16 nodes are evaluated, first for few inputs, and those that may be the
// NPU's own for all: a few milliseconds each.
namespace carina::plan {
namespace {

constexpr size_t kInputs8 = 256, kInputs16 = 65536;
constexpr size_t kFewInputs = 64;                   // of 16 bits
constexpr size_t kMinNodes8 = 4, kMinNodes16 = 12;  // without CASTs: fewer are as many operations at most
constexpr size_t kMinComputing8 = 2;                // also without RESCALEs, which operations do with what they read
using Values = std::vector<int64_t>;

// The operands of an operator that are elements, not parameters; 0: not an operator of single elements.
size_t element_operands(TosaOp op) {
  switch (op) {
    case TosaOp::CAST:
    case TosaOp::RESCALE:
    case TosaOp::ABS:
    case TosaOp::CLAMP:
    case TosaOp::TABLE:
      return 1;
    case TosaOp::ADD:
    case TosaOp::SUB:
    case TosaOp::MUL:
    case TosaOp::MAXIMUM:
    case TosaOp::MINIMUM:
    case TosaOp::ARITHMETIC_RIGHT_SHIFT:
    case TosaOp::LOGICAL_LEFT_SHIFT:
      return 2;
    default:
      return 0;  // sums, windows, moved data
  }
}

bool is_evaluated_type(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32;
}
bool is_narrow(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kInt16;
}

// Evaluates nodes for a list of inputs, as the interpreter does. Results of inputs for which TOSA defines none are any.
class Evaluator {
 public:
  Evaluator(const Selection& s, ir::ValueId root, Values inputs) : s_(s) { results_[root.index()] = std::move(inputs); }

  // False: a node that is not evaluated here.
  bool add(const ir::Node& node) {
    Values out = operand(node, 0);
    const Values b = element_operands(node.op.tosa()) > 1 ? operand(node, 1) : Values();
    if (!apply(node, out, b)) return false;
    for (int64_t& x : out) x = wrapped(x, s_.value(node.outputs[0]).dtype);
    results_[node.outputs[0].index()] = std::move(out);
    return true;
  }
  [[nodiscard]] const Values& of(ir::ValueId id) const { return results_.at(id.index()); }

 private:
  // The low bits of an integer.
  static int64_t wrapped(int64_t x, DType dtype) {
    if (dtype == DType::kInt8) return static_cast<int8_t>(x);
    return dtype == DType::kInt16 ? static_cast<int16_t>(x) : static_cast<int32_t>(x);
  }

  [[nodiscard]] Values operand(const ir::Node& node, size_t i) const {
    const ir::ValueId id = node.inputs[i];
    if (!s_.value(id).constant) return of(id);
    return {s_.constant(id, "operand")->front()};
  }

  bool apply(const ir::Node& node, Values& a, const Values& b) {
    const TosaOp op = node.op.tosa();
    if (op == TosaOp::RESCALE) return rescale(node, a);
    if (op == TosaOp::TABLE) return look_up(node, a);
    if (op == TosaOp::CAST || op == TosaOp::ABS || op == TosaOp::CLAMP) {
      for (int64_t& x : a) x = unary(node, x);
      return true;
    }
    int64_t shift = 0;
    if (op == TosaOp::MUL) {
      const auto constant = s_.constant_scalar(node.inputs[2], "shift");
      if (!constant) return false;
      shift = *constant;
    }
    const bool rounds = op == TosaOp::ARITHMETIC_RIGHT_SHIFT && node.attributes.get<bool>("round");
    const size_t count = std::max(a.size(), b.size());
    Values out(count);
    for (size_t i = 0; i < count; ++i)
      out[i] = binary(op, a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i], shift, rounds);
    a = std::move(out);
    return true;
  }

  static int64_t unary(const ir::Node& node, int64_t x) {
    if (node.op.tosa() == TosaOp::ABS) return std::abs(x);
    if (node.op.tosa() == TosaOp::CLAMP)
      return std::clamp(x, node.attributes.integer("min_val"), node.attributes.integer("max_val"));
    return x;  // a CAST
  }

  static int64_t binary(TosaOp op, int64_t a, int64_t b, int64_t shift, bool rounds) {
    switch (op) {
      case TosaOp::ADD:
        return a + b;
      case TosaOp::SUB:
        return a - b;
      case TosaOp::MUL:
        return shift == 0 ? a * b : (a * b + (int64_t{1} << (shift - 1))) >> shift;
      case TosaOp::MAXIMUM:
        return std::max(a, b);
      case TosaOp::MINIMUM:
        return std::min(a, b);
      case TosaOp::ARITHMETIC_RIGHT_SHIFT:
        return (a >> (b & 31)) + (rounds && b > 0 ? a >> ((b - 1) & 31) & 1 : 0);
      case TosaOp::LOGICAL_LEFT_SHIFT:
        return static_cast<int64_t>(static_cast<uint64_t>(a) << (b & 31));
      default:
        CARINA_UNREACHABLE("op", op);
    }
  }

  bool rescale(const ir::Node& node, Values& a) {
    const auto r = s_.rescale_of(node);
    if (!r || !r->has_one_factor() || !r->in.is_signed || !r->out.is_signed || r->in.bits > 32) return false;
    for (int64_t& x : a) x = r->result_of(x);
    return true;
  }

  bool look_up(const ir::Node& node, Values& a) {
    const auto table = s_.constant(node.inputs[1], "table");
    if (!table) return false;
    const bool is_8 = s_.value(node.inputs[0]).dtype == DType::kInt8;
    for (int64_t& x : a) {
      const auto at = static_cast<size_t>(is_8 ? x + 128 : (x + 32768) >> 7);
      x = is_8 ? (*table)[at] : (*table)[at] * 128 + ((*table)[at + 1] - (*table)[at]) * (x & 127);
    }
    return true;
  }

  const Selection& s_;
  std::unordered_map<size_t, Values> results_;  // by value: a function has few of a long graph's
};

// sigmoid(k / 24) in units of 2^-16, moved by half of the error that interpolation has between k and k + 1.
int64_t sigmoid_entry(int64_t k) {
  constexpr int64_t kLast = 255;
  if (k >= kLast) return 65535;
  const auto value = [](double x) { return 65536.0 / (1.0 + std::exp(-x / 24.0)); };
  const auto at = static_cast<double>(k);
  const double bend = value(at + 0.5) - (value(at) + value(at + 1)) / 2;
  return static_cast<int64_t>(std::floor(value(at) + bend / 2 + 0.5));
}

std::array<int64_t, 257> sigmoid_entries() {
  std::array<int64_t, 257> entries{};
  for (size_t k = 0; k < entries.size(); ++k) entries[k] = sigmoid_entry(static_cast<int64_t>(k));
  return entries;
}

// What the NPU's function gives for a scaled value. Source: docs/facts/ethosu.md, TFLite's reference kernel.
int64_t built_in_result(BuiltIn function, int64_t v, const std::array<int64_t, 257>& entries) {
  const int bits = function == BuiltIn::kTanh ? 8 : 9;
  const int64_t magnitude = std::abs(v), index = magnitude >> bits, rest = magnitude & ((int64_t{1} << bits) - 1);
  int64_t wide = (function == BuiltIn::kTanh ? 0xFFFF : 0x7FFF * 2) * (int64_t{1} << bits);
  if (index < 255) {
    const auto at = static_cast<size_t>(index);
    wide = entries[at] * (int64_t{1} << bits) + rest * (entries[at + 1] - entries[at]);
  }
  if (function == BuiltIn::kTanh) {
    const int64_t half = int64_t{1} << 23;
    return (v >= 0 ? wide - half + 128 : half - wide + 127) >> 8;
  }
  return (v >= 0 ? wide + 512 : (int64_t{1} << 25) - wide + 511) >> 10;
}

// The table of both functions, for NPUs that read one: 2 sigmoid - 1 and the steps to the next entry. Source: Vela's
// streams.
std::array<uint32_t, 512> sigmoid_words(BuiltIn function) {
  const auto entries = sigmoid_entries();
  const auto value = [&](int64_t k) {
    const int64_t magnitude = entries[static_cast<size_t>(std::min<int64_t>(std::abs(k), 255))] - 32768;
    return k < 0 ? -magnitude : magnitude;
  };
  std::array<uint32_t, 512> words{};
  for (int64_t i = 0; i < 512; ++i) {
    const int64_t base = value(i - 256);
    int64_t slope = value(i - 255) - base;
    if (i == 0 && function == BuiltIn::kSigmoid) slope = 1;
    words[static_cast<size_t>(i)] = uint32_t{static_cast<uint16_t>(base)} | uint32_t{static_cast<uint16_t>(slope)}
                                                                                << 16;
  }
  return words;
}

// The nodes of which each value is a function of one narrow value.
class Search {
 public:
  explicit Search(const Selection& s) : s_(s), roots_(s.graph().values.size()), producers_(ir::producers(s.graph())) {
    for (const ir::Node& node : s.graph().nodes) {
      if (node.outputs.size() == 1) roots_[node.outputs[0].index()] = root_of(node);
    }
  }

  // The functions that one lookup computes, in the order of their nodes.
  std::vector<ElementFunction> functions() {
    std::vector<ElementFunction> found;
    std::vector<bool> is_made(s_.graph().values.size());
    for (const ir::Node& node : s_.graph().nodes) {
      if (node.outputs.size() != 1) continue;
      const ir::ValueId id = node.outputs[0], root = roots_[id.index()];
      if (!root.valid() || !(leaves(id) || may_be_built_in(id, root))) continue;
      if (auto function = function_of(id, root, is_made)) {
        is_made[id.index()] = true;
        found.push_back(*std::move(function));
      }
    }
    return found;
  }

 private:
  [[nodiscard]] ir::ValueId root_of(const ir::Node& node) const {
    const size_t operands = element_operands(node.op.tosa());
    const ir::Value& out = s_.value(node.outputs[0]);
    if (operands == 0 || !is_evaluated_type(out.dtype)) return {};
    if (node.op.tosa() == TosaOp::CAST && element_bytes(out.dtype) < element_bytes(s_.value(node.inputs[0]).dtype))
      return {};
    ir::ValueId root;
    for (size_t i = 0; i < operands; ++i) {
      const ir::ValueId id = node.inputs[i];
      const ir::Value& from = s_.value(id);
      if (!is_evaluated_type(from.dtype)) return {};
      if (from.constant) {
        if (from.shape.elements() != 1) return {};
        continue;
      }
      ir::ValueId of = roots_[id.index()];
      if (!of.valid() && is_narrow(from.dtype)) of = id;
      if (!of.valid() || (root.valid() && root != of)) return {};
      root = of;
    }
    if (!root.valid() || s_.shape(root) != out.shape) return {};
    // A value of 8 bits may be the operand of a table of its own. Those of 16 bits are few functions.
    if (out.dtype == DType::kInt8 && s_.value(root).dtype == DType::kInt16) return {};
    return root;
  }

  // Whether something else than a function of the same value reads this one.
  [[nodiscard]] bool leaves(ir::ValueId id) const {
    if (s_.is_output(id)) return true;
    return std::ranges::any_of(s_.users(id), [&](ir::NodeId user) {
      return roots_[s_.graph().nodes[user.index()].outputs[0].index()] != roots_[id.index()];
    });
  }

  // An int16 value of which only functions of the same root are made: x * sigmoid(x) reads the NPU's function, too.
  [[nodiscard]] bool may_be_built_in(ir::ValueId id, ir::ValueId root) const {
    return s_.value(id).dtype == DType::kInt16 && s_.value(root).dtype == DType::kInt16;
  }

  // The nodes from the root, or from values that lookups make, to a value, in the order of the graph.
  [[nodiscard]] std::vector<size_t> nodes_of(ir::ValueId id, ir::ValueId root, const std::vector<bool>& is_made) const {
    std::vector<size_t> open{producers_[id.index()].index()};
    std::set<size_t> nodes;
    while (!open.empty()) {
      const size_t n = open.back();
      open.pop_back();
      if (!nodes.insert(n).second) continue;
      const ir::Node& node = s_.graph().nodes[n];
      for (size_t i = 0; i < element_operands(node.op.tosa()); ++i) {
        const ir::ValueId from = node.inputs[i];
        if (from == root || s_.value(from).constant || is_made[from.index()]) continue;
        open.push_back(producers_[from.index()].index());
      }
    }
    return {nodes.begin(), nodes.end()};
  }

  [[nodiscard]] size_t count(const std::vector<size_t>& nodes, std::initializer_list<TosaOp> without) const {
    return static_cast<size_t>(std::ranges::count_if(
        nodes, [&](size_t n) { return std::ranges::find(without, s_.graph().nodes[n].op.tosa()) == without.end(); }));
  }

  [[nodiscard]] std::optional<ElementFunction> function_of(ir::ValueId id, ir::ValueId root,
                                                           const std::vector<bool>& is_made) const {
    const bool is_8 = s_.value(root).dtype == DType::kInt8;
    if (s_.value(id).dtype != (is_8 ? DType::kInt32 : DType::kInt16)) return std::nullopt;
    const std::vector<size_t> saved = nodes_of(id, root, is_made);
    if (count(saved, {TosaOp::CAST}) < (is_8 ? kMinNodes8 : kMinNodes16)) return std::nullopt;
    if (is_8 && count(saved, {TosaOp::CAST, TosaOp::RESCALE}) < kMinComputing8) return std::nullopt;
    const std::vector<size_t> nodes = nodes_of(id, root, std::vector<bool>(is_made.size()));
    const bool has_table =
        std::ranges::any_of(nodes, [&](size_t n) { return s_.graph().nodes[n].op == ir::Op(TosaOp::TABLE); });
    if (!is_8 && !has_table) return std::nullopt;
    ElementFunction function{.of = root, .value = id, .nodes = nodes};
    if (!is_8) {
      // Most values are no built-in function, which few inputs show.
      return built_in(function, kFewInputs) ? built_in(function, kInputs16) : std::nullopt;
    }
    Evaluator evaluator(s_, root, every_input(kInputs8, kInputs8));
    if (!is_evaluated(evaluator, nodes)) return std::nullopt;
    for (const int64_t result : evaluator.of(id)) function.results.push_back(static_cast<int32_t>(result));
    return function;
  }

  // `count` inputs over the range of a type with `all` values, from the smallest on.
  static Values every_input(size_t all, size_t count) {
    Values inputs(count);
    for (size_t i = 0; i < count; ++i)
      inputs[i] = static_cast<int64_t>(i * (all / count)) - static_cast<int64_t>(all / 2);
    return inputs;
  }

  // False: one of the nodes is not evaluated here.
  bool is_evaluated(Evaluator& evaluator, const std::vector<size_t>& nodes) const {
    return std::ranges::all_of(nodes, [&](size_t n) { return evaluator.add(s_.graph().nodes[n]); });
  }

  // The NPU's own function, if it has the results of `count` inputs. Its scale is that of a product with the value.
  [[nodiscard]] std::optional<ElementFunction> built_in(ElementFunction function, size_t count) const {
    const Values inputs = every_input(kInputs16, count);
    Evaluator evaluator(s_, function.of, inputs);
    if (!is_evaluated(evaluator, function.nodes)) return std::nullopt;
    const auto entries = sigmoid_entries();
    const Values& expected = evaluator.of(function.value);
    for (const size_t n : function.nodes) {
      const ir::Node& node = s_.graph().nodes[n];
      if (node.op != ir::Op(TosaOp::MUL) || !s_.value(node.inputs[1]).constant) continue;
      const int64_t factor = s_.constant(node.inputs[1], "factor")->front();
      const auto shift = s_.constant_scalar(node.inputs[2], "shift");
      if (!shift || factor < 1) continue;
      function.scaling = {{.multiplier = static_cast<uint32_t>(factor), .shift = static_cast<int>(*shift)}};
      const Values& scaled = evaluator.of(node.outputs[0]);
      for (const BuiltIn candidate : {BuiltIn::kTanh, BuiltIn::kSigmoid}) {
        bool same = is_scaled_input(inputs, scaled, function.scaling);
        for (size_t i = 0; i < expected.size() && same; ++i)
          same = built_in_result(candidate, scaled[i], entries) == expected[i];
        if (!same) continue;
        function.built_in = candidate;
        return function;
      }
    }
    return std::nullopt;
  }

  // Whether a product has the values that the output stage has of the function's operand.
  static bool is_scaled_input(const Values& inputs, const Values& scaled, const Scaling& scaling) {
    for (size_t i = 0; i < scaled.size(); ++i) {
      const int64_t product = inputs[i] * int64_t{scaling.multiplier};
      const int64_t half = scaling.shift > 0 ? int64_t{1} << (scaling.shift - 1) : 0;
      if (scaled[i] != (product + half) >> scaling.shift) return false;
    }
    return true;
  }

  const Selection& s_;
  std::vector<ir::ValueId> roots_;  // by value: that of which it is a function
  std::vector<ir::NodeId> producers_;
};

}  // namespace

void Selection::find_functions() {
  if (!options_.uses(Optimization::kActivations)) return;
  std::vector<bool> is_inside(graph_.nodes.size());
  for (ElementFunction& function : Search(*this).functions()) {
    for (const size_t n : function.nodes) is_inside[n] = true;
    function_values_.push_back(function.value);
    is_function_operand_[function.of.index()] = true;
    functions_[function.value.index()] = std::move(function);
  }
  if (function_values_.empty()) return;
  // From the last node on: nodes of functions whose results nothing reads any more.
  std::vector<bool> is_read = is_output_;
  for (size_t n = graph_.nodes.size(); n-- > 0;) {
    const ir::Node& node = graph_.nodes[n];
    if (is_inside[n] && !is_read[node.outputs.front().index()]) {
      absorbed_[n] = true;
      continue;
    }
    if (const auto& function = functions_[node.outputs.front().index()]) {
      is_read[function->of.index()] = true;
      continue;
    }
    for (const ir::ValueId id : node.inputs) {
      if (id.valid()) is_read[id.index()] = true;
    }
  }
}

void Selection::note_function(const ElementFunction& function) {
  for (const size_t n : function.nodes) {
    if (absorbed_[n]) network_.material.done_by[n] = current_;
  }
}

Activation Selection::activation_of(const ElementFunction& function) {
  Activation activation{.min = kSigned16.min(), .max = kSigned16.max(), .built_in = function.built_in};
  if (function.built_in == BuiltIn::kNone) {
    activation.min = kSigned8.min();
    activation.max = kSigned8.max();
    activation.table = new_constant("table", std::as_bytes(std::span(function.results)), {kInputs8}, 4);
  } else if (family_.abilities.built_ins_read_tables) {
    const auto words = sigmoid_words(function.built_in);
    activation.table = new_constant("table", std::as_bytes(std::span(words)), {2048}, 1);
  }
  return activation;
}

bool Selection::absorb_function(Epilogue& epilogue) {
  // The operations of which Vela's streams show such a lookup.
  if (node().op != ir::Op(TosaOp::ADD) && node().op != ir::Op(TosaOp::SUB)) return false;
  if (epilogue.type != kSigned8 || epilogue.activation.table.valid() || is_output(epilogue.value)) return false;
  const ElementFunction* only = nullptr;
  for (const ir::NodeId user : users(epilogue.value)) {
    const ir::ValueId made = graph_[user].outputs.front();
    if (absorbed_[user.index()]) continue;
    if (!functions_[made.index()]) return false;
  }
  for (const ir::ValueId id : function_values_) {
    const ElementFunction& function = *functions_[id.index()];
    if (function.of != epilogue.value) continue;
    if (only != nullptr) return false;
    only = &function;
  }
  if (only == nullptr || epilogue.activation.min != kSigned8.min() || epilogue.activation.max != kSigned8.max())
    return false;
  epilogue.activation = activation_of(*only);
  epilogue.value = only->value;
  epilogue.type = kSigned32;
  absorb(producers_[only->value.index()]);
  note_function(*only);
  return true;
}

Result<void> Selection::select_function(const ElementFunction& function) {
  note_function(function);
  const Operand a = plain(function.of);
  Epilogue epilogue = store_only(function.value, function.built_in == BuiltIn::kNone ? kSigned32 : kSigned16);
  epilogue.activation = activation_of(function);
  const View out = open_like(function.value, a.view);
  if (function.built_in == BuiltIn::kNone) {
    emit_elementwise(*this, out, times_scalar(a, 1), epilogue);
  } else {
    epilogue.factors = {function.scaling};
    emit_requantize(*this, out, a, epilogue);
  }
  close(function.value, out, epilogue.type);
  return {};
}

}  // namespace carina::plan
