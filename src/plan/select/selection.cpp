#include "plan/select/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/checked_math.h"
#include "base/hash/content_hash.h"
#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"
#include "tensor/elements.h"

namespace carina::plan {

std::optional<ElementType> element_type_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return ElementType{8, false};
    case DType::kInt4:
    case DType::kInt8:
      return kSigned8;
    case DType::kUInt8:
      return ElementType{8, false};
    case DType::kInt16:
      return kSigned16;
    case DType::kUInt16:
      return ElementType{16, false};
    case DType::kInt32:
      return kSigned32;
    case DType::kInt48:
      return kSigned64;
    case DType::kUnknown:
    case DType::kUInt32:
    case DType::kInt64:
    case DType::kShape:
    case DType::kFp16:
    case DType::kBf16:
    case DType::kFp32:
    case DType::kFp64:
    case DType::kFp8E4M3:
    case DType::kFp8E5M2:
    case DType::kFp6E2M3:
    case DType::kFp6E3M2:
    case DType::kFp4E2M1:
    case DType::kFp8UE8M0:
      return std::nullopt;
  }
  CARINA_UNREACHABLE("dtype", dtype);
}

std::string place_of(const ir::Node& node) {
  return fmt::format("{} {}{}", node.op.name(), node.name,
                     node.source.empty() ? "" : fmt::format(" ({})", node.source));
}

namespace {

const Rule* find_rule(std::span<const Rule> rules, TosaOp op) {
  const auto found = std::ranges::find(rules, op, &Rule::op);
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace

Selection::Selection(const ir::Graph& graph, std::span<const Rule> rules, const Context& context)
    : graph_(graph),
      rules_(rules),
      target_(context.target),
      family_(context.family),
      options_(context.options),
      log_(context.log),
      states_(graph.values.size()),
      fixed_(graph.values.size()),
      producers_(ir::producers(graph)),
      users_(ir::users(graph)),
      is_output_(ir::is_output(graph)),
      output_tensor_(graph.values.size()),
      absorbed_(graph.nodes.size(), false),
      functions_(graph.values.size()),
      is_function_operand_(graph.values.size(), false) {
  network_.material.done_by.resize(graph.nodes.size());
}

Result<Network> Selection::run() && {
  Diagnostics errors = check_values();
  if (!errors.empty()) return fail(std::move(errors));
  make_tensors();
  find_functions();
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    current_ = ir::NodeId(i);
    Diagnostics failed = visit();
    errors.insert(errors.end(), std::make_move_iterator(failed.begin()), std::make_move_iterator(failed.end()));
    if (is_full()) break;
  }
  if (!errors.empty()) return fail(std::move(errors));
  current_ = {};
  note_slow_matmuls();
  note_sparse_weights();
  note_steep_tables();
  for (const ir::ValueId id : graph_.outputs) {
    const TensorId tensor = output_tensor_[id.index()];
    const View whole = dense_view(tensor, shape(id));
    if (const Operand made = plain(id); !same_elements(made.view, whole)) emit_copy(*this, whole, made.view, made.type);
    network_.outputs.push_back(tensor);
  }
  note_values();
  return std::move(network_);
}

void Selection::note_values() {
  network_.material.values.resize(graph_.values.size());
  for (size_t v = 0; v < states_.size(); ++v) {
    const std::optional<Operand>& plain = states_[v].plain;
    if (!plain || !producers_[v].valid() || !plain->is_plain()) continue;
    if (plain->type.bytes() == static_cast<int64_t>(element_bytes(graph_.values[v].dtype)))
      network_.material.values[v] = plain->view;
  }
}

Diagnostics Selection::check_values() const {
  Diagnostics errors;
  // The node to blame for a value: the one that makes it, or the first that reads it.
  const auto node_of = [&](size_t v) -> std::optional<size_t> {
    if (producers_[v].valid()) return producers_[v].index();
    return users_[v].empty() ? std::nullopt : std::optional(users_[v].front().index());
  };
  const int max_bits = family_.abilities.wide_elements ? kSigned64.bits : kSigned32.bits;
  for (const auto& list : {graph_.inputs, graph_.outputs}) {
    for (const ir::ValueId id : list) {
      if (const auto type = element_type_of(value(id).dtype); type && type->bits <= max_bits) continue;
      errors.push_back({.where = value(id).name,
                        .what = "network inputs and outputs of this type are not supported by the NPU",
                        .got = std::string(name_of(value(id).dtype)),
                        .node = node_of(id.index())});
    }
  }
  constexpr int64_t kAddressSpace = int64_t{1} << 31;
  for (size_t n = 0; n < graph_.values.size(); ++n) {
    const ir::Value& v = graph_.values[n];
    if (v.dtype == DType::kShape) continue;  // the operand of a RESHAPE to rank 0 has no elements
    int64_t bytes = static_cast<int64_t>(element_bytes(v.dtype));
    for (const int64_t size : v.shape.dims()) {
      if (size < 1)
        errors.push_back({.where = v.name,
                          .what = "tensors without elements are not supported",
                          .got = to_string(v.shape),
                          .node = node_of(n)});
      bytes = std::min(checked_mul(bytes, size).value_or(kAddressSpace), kAddressSpace);
    }
    if (bytes < kAddressSpace) continue;
    errors.push_back({.where = v.name,
                      .what = "the tensor is larger than what the NPU can address",
                      .got = to_string(v.shape),
                      .node = node_of(n)});
  }
  return errors;
}

void Selection::make_tensors() {
  for (const ir::ValueId id : graph_.inputs) {
    const ElementType type = *element_type_of(value(id).dtype);
    const View view = new_tensor(value(id).name, shape(id), type);
    network_[view.tensor].kind = TensorKind::kInput;
    network_.inputs.push_back(view.tensor);
    states_[id.index()].plain = Operand{.view = view, .type = type};
  }
  for (const ir::ValueId id : graph_.outputs) {
    if (output_tensor_[id.index()].valid()) continue;
    const View view = new_tensor(value(id).name, shape(id), *element_type_of(value(id).dtype));
    network_[view.tensor].kind = TensorKind::kOutput;
    output_tensor_[id.index()] = view.tensor;
  }
}

bool Selection::inputs_failed(const ir::Node& node) {
  return std::ranges::any_of(node.inputs, [&](ir::ValueId id) { return id.valid() && states_[id.index()].failed; });
}

Diagnostics Selection::visit() {
  if (absorbed_[current_.index()]) {  // by a node that may have failed afterwards
    if (inputs_failed(node())) fail_outputs();
    return {};
  }
  const Rule* rule = find_rule(rules_, node().op.tosa());
  const auto& function = functions_[node().outputs.front().index()];
  Result<void> done;
  if (inputs_failed(node()) || (function && states_[function->of.index()].failed)) {
    done = std::unexpected(Diagnostics{});
  } else if (function) {
    done = select_function(*function);
  } else if (rule == nullptr || rule->select == nullptr) {
    done = reject(fmt::format("not supported by {}: {}", target_.accelerator.name,
                              rule == nullptr ? "no such operation" : rule->reason),
                  {}, {}, rule == nullptr ? std::string() : std::string(rule->hint));
  } else {
    done = rule->select(*this);
  }
  if (done && is_full())
    done = reject("the network becomes too long for the NPU", fmt::format("at most {} operations", kMaxSteps));
  if (done) return {};
  fail_outputs();
  return std::move(done).error();
}

void Selection::could_write_weights(const WrittenWeights& cycles) {
  ++slow_matmuls_;
  slow_cycles_.now += cycles.now;
  slow_cycles_.then += cycles.then;
}

void Selection::note_sparse_weights() const {
  if (sparse_layers_ == 0 && nearly_sparse_.empty()) return;
  log_.note({.where = "weights",
             .what = fmt::format("2:4 sparse in {} layers, which may take half the multiplications{}{}", sparse_layers_,
                                 nearly_sparse_.empty() ? "" : "; nearly in ", nearly_sparse_),
             .hint = nearly_sparse_.empty() ? "" : "--prune-weights 2:4 keeps the two largest of each group",
             .severity = Severity::kNote});
}

void Selection::note_slow_matmuls() const {
  if (slow_matmuls_ == 0 || slow_cycles_.then >= slow_cycles_.now) return;
  log_.note({.where = "MATMUL",
             .what = fmt::format("{} of two activations take about {:.0f} cycles: products and their sums",
                                 slow_matmuls_ == 1 ? "a product" : fmt::format("{} products", slow_matmuls_),
                                 slow_cycles_.now),
             .hint = fmt::format("--dynamic-weights makes convolutions of them, about {:.0f} cycles; that is exact on "
                                 "the simulator, but no silicon has confirmed it",
                                 slow_cycles_.then),
             .severity = Severity::kNote});
}

void Selection::fail_outputs() {
  for (const ir::ValueId id : node().outputs) states_[id.index()].failed = true;
}

std::unexpected<Diagnostics> Selection::reject(std::string what, std::string expected, std::string got,
                                               std::string hint) const {
  return fail({.where = place_of(node()),
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got),
               .hint = std::move(hint),
               .node = current_.valid() ? std::optional(current_.index()) : std::nullopt});
}

ir::NodeId Selection::sole_user(ir::ValueId id) const {
  const auto& readers = users(id);
  const bool is_sole = readers.size() == 1 && !is_output(id) && !is_function_operand_[id.index()];
  return is_sole ? readers.front() : ir::NodeId();
}

// ---- constants ----

Result<std::vector<int64_t>> Selection::constant(ir::ValueId id, std::string_view role) const {
  if (!value(id).constant) {
    return reject(fmt::format("the {} must be a constant", role), {},
                  fmt::format("{}, computed at run time", value(id).name));
  }
  auto integers = integers_if_any(*value(id).constant);
  if (!integers) return reject(fmt::format("the {} must be integers", role), {}, std::string(name_of(value(id).dtype)));
  return *std::move(integers);
}

Result<int64_t> Selection::constant_scalar(ir::ValueId id, std::string_view role) const {
  CARINA_TRY(const std::vector<int64_t> values, constant(id, role));
  if (values.empty()) return reject(fmt::format("the {} is empty", role));
  return values.front();
}

// ---- values ----

View Selection::new_tensor(std::string name, const Shape& shape, ElementType type) {
  const TensorId id = network_.add(
      {.name = std::move(name), .element_bytes = type.bytes(), .shape = shape, .extent = extent_of(shape)});
  return dense_view(id, shape);
}

TensorId Selection::new_constant(std::string name, std::span<const std::byte> bytes, const Shape& shape,
                                 int64_t element_bytes) {
  const uint64_t hash = content_hash(bytes);
  const auto [begin, end] = constants_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {  // the same bytes once
    const PlanTensor& known = network_[it->second];
    const Buffer& data = network_.material.constants[it->second.index()];
    if (known.element_bytes == element_bytes && known.shape == shape && std::ranges::equal(data.bytes(), bytes))
      return it->second;
  }
  const TensorId id = network_.add({.name = std::move(name),
                                    .kind = TensorKind::kConstant,
                                    .element_bytes = element_bytes,
                                    .shape = shape,
                                    .extent = extent_of(shape),
                                    .constant_bytes = static_cast<int64_t>(bytes.size())});
  network_.material.constants.resize(network_.tensors.size());
  network_.material.constants[id.index()] = Buffer::copy_of(bytes);
  constants_.emplace(hash, id);
  return id;
}

void Selection::push(Step step) {
  if (is_full()) return;
  step.node = current_;
  if (current_.valid() && step.name.empty()) step.name = node().name;
  network_.steps.push_back(std::move(step));
}

bool Selection::uses_sparse_weights() const {
  return family_.limits.sparse_weights && options_.uses(Optimization::kSparseWeights);
}

bool Selection::has_sparse_weights(WeightsId id) {
  if (!uses_sparse_weights() || !id.valid()) return false;
  const auto [known, is_new] = sparse_weights_.emplace(id.index(), false);
  if (!is_new) return known->second;
  const TwoOfFour found = two_of_four(network_.material[id]);
  known->second = found.holds();
  // That a group is not full has to do with the network's form, not with pruning.
  constexpr int64_t kWholeGroup = 4;
  if (network_.material[id].in_channels < kWholeGroup) return known->second;
  sparse_layers_ += found.holds() ? 1 : 0;
  if (found.nearly_holds()) {
    nearly_sparse_ +=
        fmt::format("{}{} ({} of {} groups of four input channels have more than two)",
                    nearly_sparse_.empty() ? "" : ", ", graph_[current_].name, found.full_groups, found.groups);
  }
  return known->second;
}

Operand Selection::plain(ir::ValueId id) {
  State& state = states_[id.index()];
  if (state.plain) return *state.plain;
  if (value(id).constant) {
    const Tensor& data = *value(id).constant;
    const ElementType type = element_type_of(data.dtype).value_or(kSigned8);
    const TensorId tensor = new_constant(value(id).name, data.data.bytes().first(tensor_bytes(data.dtype, data.shape)),
                                         data.shape, type.bytes());
    state.plain = Operand{.view = dense_view(tensor, data.shape), .type = type};
    return *state.plain;
  }
  if (state.narrow) {
    const Operand narrow = *state.narrow;
    const View out = open_like(id, narrow.view);
    emit_widen(*this, out, narrow);
    states_[id.index()].plain = Operand{.view = out, .type = kSigned32};
    return *states_[id.index()].plain;
  }
  CARINA_CHECK(state.pad.has_value(), "value {} is read before it is made", value(id).name);
  const PendingPad pad = *state.pad;
  const View out = fixed_view(id) || read_by_channels(id) ? destination(id) : new_like(id, pad.source.view);
  emit_pad(*this, out, pad);
  states_[id.index()].plain = Operand{.view = out, .type = pad.source.type};
  return *states_[id.index()].plain;
}

Operand Selection::with_channels(ir::ValueId id) {
  const Operand as_it_is = plain(id);
  Operand dense = with_dense_channels(*this, as_it_is);
  if (dense.view != as_it_is.view) states_[id.index()].plain = dense;
  return dense;
}

Operand Selection::cheapest(ir::ValueId id) {
  const State& state = states_[id.index()];
  return state.narrow ? *state.narrow : plain(id);
}

const PendingPad* Selection::pending_pad(ir::ValueId id) const {
  const State& state = states_[id.index()];
  return state.pad && !state.plain ? &*state.pad : nullptr;
}

void Selection::define(ir::ValueId id, const Operand& operand) {
  const std::optional<View> fixed = fixed_view(id, &operand.view);
  const bool as_it_is =
      operand.is_plain() && operand.type.bytes() == static_cast<int64_t>(element_bytes(value(id).dtype));
  if (!as_it_is) {
    states_[id.index()].narrow = operand;
    if (fixed) plain(id);
    return;
  }
  if (!fixed || same_elements(*fixed, operand.view)) {
    states_[id.index()].plain = operand;
    return;
  }
  emit_copy(*this, *fixed, operand.view, operand.type);
  states_[id.index()].plain = Operand{.view = *fixed, .type = operand.type};
}

void Selection::define_pad(ir::ValueId id, PendingPad pad) {
  states_[id.index()].pad = std::move(pad);
  if (fixed_view(id)) plain(id);
}

}  // namespace carina::plan
