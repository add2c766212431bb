#include <array>

#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

Shapes glu(const NodeView& n) {
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
  Shape shape = n.shape(0);
  if (shape.rank() == 0 || shape[axis] % 2 != 0) return broken("halves of {}", to_string(shape));
  shape[axis] /= 2;
  return one(shape);
}

// query [..,L,E], key [..,S,E], value [..,S,V], mask -> [..,L,V]
std::expected<Shape, std::string> attention_of(const NodeView& n, bool grouped) {
  CARINA_CHECKED(expect_one_type(n, 1, 2));
  if (n.has(3) && n.dtype(3) != DType::kBool) CARINA_CHECKED(expect_floats(n));
  const Shape &q = n.shape(0), &k = n.shape(1), &v = n.shape(2);
  const auto wrong = [&] { return broken("query {}, key {} and value {}", to_string(q), to_string(k), to_string(v)); };
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2) return wrong();
  const auto from_end = [](const Shape& shape, size_t i) { return shape[shape.rank() - i]; };
  if (from_end(q, 1) != from_end(k, 1) || from_end(k, 2) != from_end(v, 2)) return wrong();
  const auto batch = [](const Shape& shape) { return Shape(shape.dims().first(shape.rank() - 2)); };
  Shape keys = batch(k), values = batch(v);
  if (grouped && (q.rank() < 3 || k.rank() != q.rank() || v.rank() != q.rank())) return wrong();
  for (Shape* heads : {&keys, &values}) {
    if (!grouped) break;
    int64_t& count = (*heads)[heads->rank() - 1];
    if (count < 1 || from_end(q, 3) % count != 0) return wrong();
    count = from_end(q, 3);
  }
  CARINA_TRY(const Shape pairs, broadcast_shapes(batch(q), keys));
  CARINA_TRY(const Shape batches, broadcast_shapes(pairs, values));
  Sizes sizes = sizes_of(batches);
  sizes.insert(sizes.end(), {from_end(q, 2), from_end(k, 2)});
  if (n.has(3) && !broadcasts_to(n.shape(3), Shape(sizes)))
    return broken("a mask {} for {}", to_string(n.shape(3)), to_string(Shape(sizes)));
  sizes.back() = from_end(v, 1);
  return Shape(sizes);
}

Shapes attention(const NodeView& n) {
  CARINA_TRY(const Shape shape, attention_of(n, n.flag("enable_gqa")));
  return one(shape);
}
Shapes flash_attention(const NodeView& n) {
  if (n.rank(0) != 4) return broken("its query has rank {}", n.rank(0));
  CARINA_TRY(const Shape shape, attention_of(n, false));
  return std::vector<std::optional<Shape>>{shape, std::nullopt};
}
Shapes cosine_similarity(const NodeView& n) {
  CARINA_TRY(const Shape shape, broadcast_shapes(n.shape(0), n.shape(1)));
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), shape.rank()));
  Sizes sizes = sizes_of(shape);
  if (!sizes.empty()) sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(axis));
  return one(sizes);
}

// The weights of an RNN: [gates*H,I], [gates*H,P], biases [gates*H], projection [P,H].
struct Cell {
  int64_t gates;
  int64_t inputs;
  int64_t hidden;
  int64_t state;  // P: the size of the state, which a projection makes smaller than H
};

std::expected<void, std::string> check_weights(const NodeView& n, size_t first, size_t count, const Cell& cell,
                                               bool has_biases) {
  const int64_t rows = cell.gates * cell.hidden;
  CARINA_CHECKED(expect_shape(n, first, "input weight", Shape{rows, cell.inputs}));
  CARINA_CHECKED(expect_shape(n, first + 1, "hidden weight", Shape{rows, cell.state}));
  for (size_t i = 2; has_biases && i < 4; ++i) CARINA_CHECKED(expect_shape(n, first + i, "bias", Shape{rows}));
  if (count % 2 != 0) return expect_shape(n, first + count - 1, "projection", Shape{cell.state, cell.hidden});
  return {};
}

// input [T,B,I], or [B,T,I], or [T,I]; states [layers*directions,B,H]; then the weights of each layer and direction.
template <int64_t kGates, size_t kStates>
Shapes recurrence(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, n.node.inputs.size()));
  const Shape &x = n.shape(0), &h = n.shape(1);
  const bool batched = x.rank() == 3, bidirectional = n.flag("bidirectional"), has_biases = n.flag("has_biases");
  const int64_t directions = bidirectional ? 2 : 1, layers = n.integer("num_layers");
  if (x.rank() != 2 && x.rank() != 3) return broken("its operand has rank {}", x.rank());
  if (layers < 1 || layers > 1'000'000 || n.node.inputs.size() <= 1 + kStates) return broken("{} layers", layers);
  const auto chains = static_cast<size_t>(layers * directions);
  const size_t weights = n.node.inputs.size() - 1 - kStates;
  const Shape& cells = n.shape(kStates);
  if (h.rank() != x.rank() || cells.rank() != x.rank() || h[0] != layers * directions)
    return broken("an operand {} and a state {}", to_string(x), to_string(h));
  const int64_t state = h[h.rank() - 1], hidden = cells[cells.rank() - 1];
  const size_t per_chain = (has_biases ? 4 : 2) + (state != hidden ? 1 : 0);
  if (weights != chains * per_chain) return broken("{} weights for {} layers", weights, chains);
  const size_t batch = n.flag("batch_first") ? 0 : 1;
  Shape wanted = h;
  if (batched) wanted[1] = x[batch];
  CARINA_CHECKED(expect_shape(n, 1, "state", wanted));
  wanted[wanted.rank() - 1] = hidden;
  CARINA_CHECKED(expect_shape(n, kStates, "state", wanted));
  for (size_t i = 0; i < chains; ++i) {
    const bool first = static_cast<int64_t>(i) < directions;
    const Cell cell{
        .gates = kGates, .inputs = first ? x[x.rank() - 1] : state * directions, .hidden = hidden, .state = state};
    CARINA_CHECKED(check_weights(n, 1 + kStates + i * per_chain, per_chain, cell, has_biases));
  }
  Shape result = x;
  result[result.rank() - 1] = state * directions;
  std::vector<std::optional<Shape>> shapes{result, h};
  if (kStates == 2) shapes.emplace_back(cells);
  return shapes;
}

// input [B,I] or [I], states [B,H] or [H], two weights, two biases
template <int64_t kGates, size_t kStates>
Shapes cell(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, n.node.inputs.size()));
  const Shape &x = n.shape(0), &h = n.shape(1);
  if (n.node.inputs.size() != 5 + kStates || (x.rank() != 1 && x.rank() != 2) || h.rank() != x.rank())
    return broken("an operand {} and a state {}", to_string(x), to_string(h));
  const int64_t hidden = h[h.rank() - 1];
  Shape wanted = x;
  wanted[wanted.rank() - 1] = hidden;
  for (size_t i = 1; i <= kStates; ++i) CARINA_CHECKED(expect_shape(n, i, "state", wanted));
  const Cell sizes{.gates = kGates, .inputs = x[x.rank() - 1], .hidden = hidden, .state = hidden};
  CARINA_CHECKED(check_weights(n, 1 + kStates, 4, sizes, true));
  return std::vector<std::optional<Shape>>(n.node.outputs.size(), wanted);
}

// reduction: 0 keeps the elements
Shapes loss(const NodeView& n) {
  CARINA_TRY(const Shape shape, broadcast_shapes(n.shape(0), n.shape(1)));
  const int64_t reduction = n.integer("reduction");
  if (reduction < 0 || reduction > 2) return broken("reduction {}", reduction);
  return one(reduction == 0 ? shape : Shape{});
}

// [..,P,M] and [..,R,M] -> [..,P,R]
Shapes cdist(const NodeView& n) {
  const Shape &a = n.shape(0), &b = n.shape(1);
  if (a.rank() < 2 || b.rank() < 2 || a[a.rank() - 1] != b[b.rank() - 1])
    return broken("{} and {}", to_string(a), to_string(b));
  CARINA_TRY(const Shape batch,
             broadcast_shapes(Shape(a.dims().first(a.rank() - 2)), Shape(b.dims().first(b.rank() - 2))));
  Sizes sizes = sizes_of(batch);
  sizes.insert(sizes.end(), {a[a.rank() - 2], b[b.rank() - 2]});
  return one(sizes);
}

// [..,I] and [..,J] with weights [O,I,J] -> [..,O]
Shapes bilinear(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, 3));
  const Shape &a = n.shape(0), &b = n.shape(1), &weight = n.shape(2);
  const size_t rank = a.rank();
  if (rank < 1 || b.rank() != rank || weight.rank() != 3 || a[rank - 1] != weight[1] || b[rank - 1] != weight[2] ||
      Shape(a.dims().first(rank - 1)) != Shape(b.dims().first(rank - 1)))
    return broken("{} and {} with weights {}", to_string(a), to_string(b), to_string(weight));
  CARINA_CHECKED(expect_shape(n, 3, "bias", Shape{weight[0]}));
  Shape shape = a;
  shape[rank - 1] = weight[0];
  return one(shape);
}

constexpr std::array kCompositeRules = {
    Rule{AtenOp::glu_default, glu, same_type},
    Rule{AtenOp::scaled_dot_product_attention_default, attention, same_type},
    Rule{AtenOp::_scaled_dot_product_flash_attention_for_cpu_default, flash_attention, first_same},
    Rule{AtenOp::cosine_similarity_default, cosine_similarity, promoted},
    Rule{AtenOp::lstm_input, recurrence<4, 2>, same_type},
    Rule{AtenOp::gru_input, recurrence<3, 1>, same_type},
    Rule{AtenOp::rnn_tanh_input, recurrence<1, 1>, same_type},
    Rule{AtenOp::rnn_relu_input, recurrence<1, 1>, same_type},
    Rule{AtenOp::lstm_data, unchecked, unchecked_type},
    Rule{AtenOp::gru_data, unchecked, unchecked_type},
    Rule{AtenOp::rnn_tanh_data, unchecked, unchecked_type},
    Rule{AtenOp::rnn_relu_data, unchecked, unchecked_type},
    Rule{AtenOp::lstm_cell_default, cell<4, 2>, same_type},
    Rule{AtenOp::gru_cell_default, cell<3, 1>, same_type},
    Rule{AtenOp::rnn_tanh_cell_default, cell<1, 1>, same_type},
    Rule{AtenOp::rnn_relu_cell_default, cell<1, 1>, same_type},
    Rule{AtenOp::mse_loss_default, loss, promoted},
    Rule{AtenOp::l1_loss_default, loss, promoted},
    Rule{AtenOp::cdist_default, cdist, promoted},
    Rule{AtenOp::bilinear_default, bilinear, same_type},
    Rule{AtenOp::fft_rfft_default, unchecked, unchecked_type},
    Rule{AtenOp::fft_rfft2_default, unchecked, unchecked_type},
    Rule{AtenOp::_fft_r2c_default, unchecked, unchecked_type},
};

}  // namespace

std::span<const Rule> composite_rules() {
  return kCompositeRules;
}

}  // namespace carina::aten
