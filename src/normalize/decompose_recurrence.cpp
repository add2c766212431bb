// Decomposes LSTM, GRU and RNN into steps. The products of the inputs and the gate weights are computed once for all
// steps.
//   LSTM, with gates of x_t and h_{t-1}:  i, f, o = sigmoid(W_{i,f,o} x + U_{i,f,o} h + b)   g = tanh(W_g x + U_g h +
//   b_g)
//                                         c_t = f * c_{t-1} + i * g                         h_t = o * tanh(c_t)

#include <fmt/format.h>

#include <algorithm>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/recurrence.h"
#include "normalize/slices.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// A longer chain would exceed what the targets can compile.
constexpr int64_t kMaxSteps = 1024;

// The weights of one layer and direction. Biases and projection may be missing.
struct Weights {
  ValueId input;
  ValueId hidden;
  ValueId input_bias;
  ValueId hidden_bias;
  ValueId projection;
  bool output_before_cell = false;  // the order of an LSTM's gates: i, f, o, g instead of PyTorch's i, f, g, o
};

// The state of a layer. An invalid id stands for zeros.
struct State {
  ValueId hidden;
  ValueId cell;
};

using Step = State (*)(Rewriter& in, ValueId gates, const State& before, const Weights& weights);

ValueId binary(Rewriter& in, AtenOp op, ValueId a, ValueId b) {
  const bool sum = op == AtenOp::add_Tensor || op == AtenOp::sub_Tensor;
  return in.make(op, {a, b}, sum ? no_alpha() : ir::Attributes{}, in.shape(a));
}
ValueId plus(Rewriter& in, ValueId a, ValueId b) {
  return binary(in, AtenOp::add_Tensor, a, b);
}
ValueId times(Rewriter& in, ValueId a, ValueId b) {
  return binary(in, AtenOp::mul_Tensor, a, b);
}
// x @ w^T + bias
ValueId layer(Rewriter& in, ValueId x, ValueId weight, ValueId bias) {
  Shape shape = in.shape(x);
  shape[shape.rank() - 1] = in.shape(weight)[0];
  return in.make(AtenOp::linear_default, {x, weight, bias}, {}, shape);
}

// `parts` of `count` equal parts along the last axis, from part `index` on.
ValueId part(Rewriter& in, ValueId x, int64_t index, int64_t count, int64_t parts = 1) {
  const size_t last = in.shape(x).rank() - 1;
  const int64_t size = in.shape(x)[last] / count;
  return slice(in, x, last, index * size, (index + parts) * size);
}

// The product of the previous state and the gate weights. Invalid if the state is zero.
ValueId from_state(Rewriter& in, const State& before, const Weights& weights) {
  return before.hidden.valid() ? layer(in, before.hidden, weights.hidden, weights.hidden_bias) : weights.hidden_bias;
}
ValueId with_state(Rewriter& in, ValueId gates, const State& before, const Weights& weights) {
  const ValueId more = from_state(in, before, weights);
  return more.valid() ? plus(in, gates, more) : gates;
}

bool is_float_constant(const Rewriter& in, ValueId id) {
  return in[id].constant && !in[id].quantization && is_float(in[id].dtype);
}

// The weights with the gates that use the logistic function side by side, so that one operation computes it: rows
// i, f, g, o become i, f, o, g.
Weights with_output_before_cell(Rewriter& in, Weights weights) {
  const std::array all{&weights.input, &weights.hidden, &weights.input_bias, &weights.hidden_bias};
  if (!std::ranges::all_of(all, [&](const ValueId* id) { return !id->valid() || is_float_constant(in, *id); }))
    return weights;
  const auto ordered = [](const Tensor& from) {
    MutableTensor rows(from.dtype, from.shape);
    const size_t gate = from.data.size() / 4;
    std::ranges::copy(from.data.bytes(), rows.bytes().begin());
    std::ranges::rotate(rows.bytes().subspan(2 * gate), rows.bytes().subspan(3 * gate).begin());
    return std::move(rows).freeze();
  };
  for (ValueId* id : all) {
    if (id->valid()) *id = in.derived(*id, "_ordered", ordered);
  }
  weights.output_before_cell = true;
  return weights;
}

State lstm_step(Rewriter& in, ValueId from_input, const State& before, const Weights& weights) {
  const ValueId gates = with_state(in, from_input, before, weights);
  const int64_t together = weights.output_before_cell ? 3 : 2;
  const ValueId opened = in.unary(AtenOp::sigmoid_default, part(in, gates, 0, 4, together));
  const ValueId input = part(in, opened, 0, together), forget = part(in, opened, 1, together);
  const ValueId fresh = in.unary(AtenOp::tanh_default, part(in, gates, weights.output_before_cell ? 3 : 2, 4));
  const ValueId output =
      weights.output_before_cell ? part(in, opened, 2, 3) : in.unary(AtenOp::sigmoid_default, part(in, gates, 3, 4));
  ValueId cell = times(in, input, fresh);
  if (before.cell.valid()) cell = plus(in, times(in, forget, before.cell), cell);
  const ValueId hidden = times(in, output, in.unary(AtenOp::tanh_default, cell));
  if (!weights.projection.valid()) return {.hidden = hidden, .cell = cell};
  return {.hidden = layer(in, hidden, weights.projection, ValueId()), .cell = cell};
}

State gru_step(Rewriter& in, ValueId from_input, const State& before, const Weights& weights) {
  const ValueId more = from_state(in, before, weights);
  const auto sum = [&](int64_t index, int64_t parts, ValueId scale) {
    const ValueId own = part(in, from_input, index, 3, parts);
    if (!more.valid()) return own;
    const ValueId state = part(in, more, index, 3, parts);
    return plus(in, own, scale.valid() ? times(in, scale, state) : state);
  };
  const ValueId opened = in.unary(AtenOp::sigmoid_default, sum(0, 2, {}));
  const ValueId reset = part(in, opened, 0, 2), update = part(in, opened, 1, 2);
  const ValueId fresh = in.unary(AtenOp::tanh_default, sum(2, 1, reset));
  const auto minus = [&](ValueId a, ValueId b) { return binary(in, AtenOp::sub_Tensor, a, b); };
  if (!before.hidden.valid()) return {.hidden = minus(fresh, times(in, update, fresh)), .cell = {}};
  return {.hidden = plus(in, fresh, times(in, update, minus(before.hidden, fresh))), .cell = {}};
}

template <AtenOp kActivation>
State rnn_step(Rewriter& in, ValueId from_input, const State& before, const Weights& weights) {
  return {.hidden = in.unary(kActivation, with_state(in, from_input, before, weights)), .cell = {}};
}

bool is_zero(const Rewriter& in, ValueId id) {
  const auto& constant = in[id].constant;
  return constant && !in[id].quantization &&
         std::ranges::all_of(constant->data.bytes(), [](std::byte b) { return b == std::byte{0}; });
}

// Decomposes one node: all layers and directions, and the results of each.
class Recurrence {
 public:
  // `states` is the number of tensors with initial states.
  Recurrence(Rewriter& in, const Node& node, size_t states, Step step)
      : in_(in),
        node_(node),
        states_(states),
        step_(step),
        time_(node.attributes.get<bool>("batch_first") ? 1 : 0),
        directions_(node.attributes.get<bool>("bidirectional") ? 2 : 1),
        chains_(static_cast<size_t>(node.attributes.integer("num_layers")) * directions_) {}

  [[nodiscard]] bool is_expressible() const {
    const Shape shape = in_.shape(node_.inputs[0]);
    const size_t parameters = node_.inputs.size() - 1 - states_;
    return shape.rank() == 3 && is_float(in_[node_.inputs[0]].dtype) && shape[time_] >= 1 &&
           shape[time_] <= kMaxSteps && parameters % chains_ == 0 && per_chain() >= 2;
  }

  Result<void> run() {
    ValueId x = node_.inputs[0];
    for (size_t chain = 0; chain < chains_; chain += directions_) {
      std::vector<ValueId> sides;
      for (size_t direction = 0; direction < directions_; ++direction)
        sides.push_back(run_chain(x, chain + direction, direction == 1));
      x = join(in_, sides, 2);
    }
    CARINA_CHECKED(give(0, x));
    CARINA_CHECKED(give(1, last(&State::hidden)));
    return states_ == 2 ? give(2, last(&State::cell)) : Result<void>();
  }

 private:
  [[nodiscard]] size_t per_chain() const { return (node_.inputs.size() - 1 - states_) / chains_; }

  [[nodiscard]] Weights weights_of(size_t chain) {
    const ValueId* first = &node_.inputs[1 + states_ + chain * per_chain()];
    Weights weights{.input = first[0], .hidden = first[1], .input_bias = {}, .hidden_bias = {}, .projection = {}};
    size_t next = 2;
    if (node_.attributes.get<bool>("has_biases")) {
      weights.input_bias = first[next++];
      weights.hidden_bias = first[next++];
    }
    if (next < per_chain()) weights.projection = first[next];
    return states_ == 2 ? with_output_before_cell(in_, weights) : weights;
  }

  // The initial state of a chain from operand `operand`, a tensor [chains, batch, size].
  ValueId start_of(size_t operand, size_t chain) {
    const ValueId all = node_.inputs[operand];
    if (is_zero(in_, all)) return {};
    const Shape shape = in_.shape(all);
    const auto index = static_cast<int64_t>(chain);
    return in_.view(slice(in_, all, 0, index, index + 1), Shape{shape[1], shape[2]});
  }

  // Adds all steps of one layer in one direction, along the time axis.
  ValueId run_chain(ValueId x, size_t chain, bool backwards) {
    const Weights weights = weights_of(chain);
    State state{.hidden = start_of(1, chain), .cell = states_ == 2 ? start_of(2, chain) : ValueId()};
    const ValueId gates = layer(in_, x, weights.input, weights.input_bias);
    const Shape shape = in_.shape(gates);
    const int64_t steps = shape[time_], batch = shape[1 - time_];
    std::vector<ValueId> results(static_cast<size_t>(steps));
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t at = backwards ? steps - 1 - i : i;
      state = step_(in_, in_.view(slice(in_, gates, time_, at, at + 1), Shape{batch, shape[2]}), state, weights);
      Shape single{batch, batch, in_.shape(state.hidden)[1]};
      single[time_] = 1;
      results[static_cast<size_t>(at)] = in_.view(state.hidden, single);
    }
    ends_.push_back(state);
    return join(in_, results, time_);
  }

  ValueId last(ValueId State::* what) {
    std::vector<ValueId> rows;
    for (const State& end : ends_) {
      const Shape shape = in_.shape(end.*what);
      rows.push_back(in_.view(end.*what, Shape{1, shape[0], shape[1]}));
    }
    return join(in_, rows, 0);
  }

  Result<void> give(size_t output, ValueId value) {
    if (output >= node_.outputs.size() || !node_.outputs[output].valid()) return {};
    return in_.view_into(node_.outputs[output], value);
  }

  Rewriter& in_;
  const Node& node_;
  size_t states_;
  Step step_;
  size_t time_;
  size_t directions_;
  size_t chains_;
  std::vector<State> ends_;
};

template <size_t kStates, Step kStep>
Result<bool> recurrence(Rewriter& in, const Node& node) {
  const ir::Attributes& attributes = node.attributes;
  if (attributes.get<bool>("train") && attributes.number("dropout") != 0 && attributes.integer("num_layers") > 1) {
    Diagnostic diagnostic = about(node, "the dropout between its layers is in training mode");
    diagnostic.hint = "call model.eval() before torch.export.export()";
    return fail(std::move(diagnostic));
  }
  Recurrence whole(in, node, kStates, kStep);
  if (!whole.is_expressible()) return false;
  return rewritten(whole.run());
}

// One step, with the operands input, states, w_ih, w_hh, b_ih, b_hh.
template <size_t kStates, Step kStep>
Result<bool> cell(Rewriter& in, const Node& node) {
  const auto operand = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i] : ValueId(); };
  constexpr size_t kFirst = 1 + kStates;
  Weights weights{.input = operand(kFirst),
                  .hidden = operand(kFirst + 1),
                  .input_bias = operand(kFirst + 2),
                  .hidden_bias = operand(kFirst + 3),
                  .projection = {}};
  if (kStates == 2) weights = with_output_before_cell(in, weights);
  const auto start = [&](ValueId id) { return is_zero(in, id) ? ValueId() : id; };
  const State before{.hidden = start(node.inputs[1]), .cell = kStates == 2 ? start(node.inputs[2]) : ValueId()};
  const State after = kStep(in, layer(in, node.inputs[0], weights.input, weights.input_bias), before, weights);
  const std::array results{after.hidden, after.cell};
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) CARINA_CHECKED(in.view_into(node.outputs[i], results[i]));
  }
  return true;
}

constexpr RewriteRow kRecurrenceRows[] = {
    {AtenOp::lstm_input, recurrence<2, lstm_step>},
    {AtenOp::gru_input, recurrence<1, gru_step>},
    {AtenOp::rnn_tanh_input, recurrence<1, rnn_step<AtenOp::tanh_default>>},
    {AtenOp::rnn_relu_input, recurrence<1, rnn_step<AtenOp::relu_default>>},
    {AtenOp::lstm_cell_default, cell<2, lstm_step>},
    {AtenOp::gru_cell_default, cell<1, gru_step>},
    {AtenOp::rnn_tanh_cell_default, cell<1, rnn_step<AtenOp::tanh_default>>},
    {AtenOp::rnn_relu_cell_default, cell<1, rnn_step<AtenOp::relu_default>>},
};
static_assert(rewrites_what_becomes(kRecurrenceRows));

}  // namespace

std::optional<ir::Rejection> check_recurrence(const ir::Graph& graph, const ir::Node& node) {
  if (std::ranges::find(kRecurrenceRows, node.op.aten(), &RewriteRow::op) == std::end(kRecurrenceRows)) return {};
  const Shape& input = graph[node.inputs[0]].shape;
  if (node.attributes.find("batch_first") == nullptr || input.rank() != 3) return {};
  const int64_t steps = input[node.attributes.get<bool>("batch_first") ? 1 : 0];
  if (steps <= kMaxSteps) return {};
  return ir::Rejection{
      .rule = "recurrence.steps",
      .reason = fmt::format("{} steps of a recurrence, at most {} are written one by one", steps, kMaxSteps),
      .hint = "cut the sequence, pass the state in and return it"};
}

std::span<const RewriteRow> recurrence_rows() {
  return kRecurrenceRows;
}

}  // namespace carina::normalize
