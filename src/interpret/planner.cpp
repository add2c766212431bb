#include "interpret/planner_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checked_math.h"
#include "base/memory/mapped_pages.h"
#include "interpret/ops/op_table_internal.h"
#include "ir/tosa_node.h"

namespace carina::interpret {

Result<std::unique_ptr<Program>> Program::plan(const ir::Graph& graph, const Options& options, const Watch* watch,
                                               Linker& linker) {
  return Planner(graph, options, watch, linker).plan();
}

Result<std::unique_ptr<Program>> Planner::plan() {
  CARINA_CHECKED(check_graph());
  take_constants();
  CARINA_CHECKED(make_steps());
  allocate_outputs();
  number_uses();
  reuse_operands();
  CARINA_CHECKED(allocate_rest());
  drop_packed();
  return std::move(program_);
}

std::string Planner::where_of(const ir::Node& node) const {
  std::string where = options_.where.empty() ? node.name : options_.where + ": " + node.name;
  if (!node.source.empty()) where += fmt::format(" ({})", node.source);
  return where;
}

Result<void> Planner::check_value(size_t index) const {
  const ir::Value& value = graph_.values[index];
  const std::string where = options_.where.empty() ? value.name : options_.where + ": " + value.name;
  if (std::ranges::any_of(value.shape.dims(), [](int64_t dim) { return dim < 0; })) {
    return fail({.where = where,
                 .what = "shape is not known",
                 .expected = "sizes of at least 0",
                 .got = to_string(value.shape),
                 .hint = "dynamic shapes must be made static before the graph is run"});
  }
  if (value.dtype == DType::kUnknown) return fail({.where = where, .what = "type is not known"});
  const auto elements = checked_product(value.shape.dims());
  const auto bytes =
      elements ? checked_mul<int64_t>(*elements, static_cast<int64_t>(element_bytes(value.dtype))) : std::nullopt;
  if (!bytes || (!value.constant && static_cast<uint64_t>(*bytes) > options_.memory_budget_bytes)) {
    return fail({.where = where,
                 .what = fmt::format("{} does not fit the memory budget", to_string(value.shape)),
                 .expected = fmt::format("at most {} bytes", options_.memory_budget_bytes),
                 .got = bytes ? fmt::format("{}", *bytes) : "more than 2^63",
                 .fault = Fault::kInput});
  }
  if (value.constant && (value.constant->dtype != value.dtype || !(value.constant->shape == value.shape) ||
                         value.constant->data.size() != static_cast<size_t>(*bytes))) {
    return fail({.where = where, .what = "the constant's data do not match its type and shape"});
  }
  return {};
}

Result<void> Planner::check_graph() {
  for (size_t v = 0; v < graph_.values.size(); ++v) CARINA_CHECKED(check_value(v));
  std::vector<bool> known(graph_.values.size(), false);
  for (size_t v = 0; v < known.size(); ++v) known[v] = graph_.values[v].constant.has_value();
  for (const ir::ValueId input : graph_.inputs) {
    if (!input.valid() || input.index() >= known.size())
      return fail({.where = options_.where, .what = "graph input without a value"});
    known[input.index()] = true;
  }
  for (const ir::Node& node : graph_.nodes) {
    for (const ir::ValueId input : node.inputs) {
      if (!input.valid() || input.index() >= known.size() || !known[input.index()]) {
        return fail({.where = where_of(node), .what = "an operand has no value when the node runs"});
      }
    }
    for (const ir::ValueId output : node.outputs) {
      if (!output.valid() || output.index() >= known.size() || known[output.index()]) {
        return fail({.where = where_of(node), .what = "an output already has a value"});
      }
      known[output.index()] = true;
    }
  }
  for (const ir::ValueId output : graph_.outputs) {
    if (!output.valid() || output.index() >= known.size() || !known[output.index()]) {
      return fail({.where = options_.where, .what = "a graph output has no value"});
    }
  }
  return {};
}

// A graph input has priority over a constant of the same value, because inner graphs may declare outer constants as
// inputs.
void Planner::take_constants() {
  program_->allocations_.assign(graph_.values.size(), Allocation{});
  program_->constants_.resize(graph_.values.size());
  roots_.resize(graph_.values.size());
  std::iota(roots_.begin(), roots_.end(), size_t{0});
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    const auto& constant = graph_.values[v].constant;
    if (!constant) continue;
    Tensor tensor = *constant;
    if (reinterpret_cast<uintptr_t>(tensor.data.data()) % element_bytes(tensor.dtype) != 0)
      tensor.data = Buffer::copy_of(tensor.data.bytes());
    program_->constants_[v] = std::move(tensor);
    program_->allocations_[v] = {.kind = Allocation::Kind::kConstant, .index = v};
  }
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    program_->allocations_[graph_.inputs[i].index()] = {.kind = Allocation::Kind::kInput, .index = i};
  }
}

Operand Planner::operand(ir::ValueId value) const {
  const ir::Value& described = graph_[value];
  const bool constant = program_->allocations_[value.index()].kind == Allocation::Kind::kConstant;
  return {.name = described.name,
          .dtype = described.dtype,
          .shape = &described.shape,
          .constant = constant ? &program_->constants_[value.index()] : nullptr};
}

NodePlan Planner::node_plan(const ir::Node& node) const {
  NodePlan plan{.graph = graph_,
                .node = node,
                .in = {},
                .out = {},
                .where = where_of(node),
                .linker = linker_,
                .threads = options_.threads,
                .packing = options_.packing,
                .sums = options_.sums,
                .kernels = options_.kernels};
  for (const ir::ValueId input : node.inputs) plan.in.push_back(operand(input));
  for (const ir::ValueId output : node.outputs) plan.out.push_back(operand(output));
  return plan;
}

bool Planner::copies_nothing(const ir::Node& node) const {
  const TosaOp op = node.op.tosa();
  return op == TosaOp::RESHAPE || op == TosaOp::IDENTITY;
}

void Planner::share_bytes(ir::ValueId from, ir::ValueId to) {
  roots_[to.index()] = root(from.index());
  if (program_->allocations_[from.index()].kind != Allocation::Kind::kConstant) return;
  program_->allocations_[to.index()] = {.kind = Allocation::Kind::kConstant, .index = to.index()};
  program_->constants_[to.index()] = {
      .dtype = graph_[to].dtype, .shape = graph_[to].shape, .data = program_->constants_[from.index()].data};
}

namespace {

// Releases the memory pages of weights that a kernel has packed. Later reads of a mapped file load them again.
void drop_weights(const ir::Graph& graph, const Kernel& kernel, const std::vector<ir::ValueId>& reads) {
  if (kernel.packed_bytes == 0 || reads.size() < 2 || !reads[1].valid()) return;
  if (const auto& weights = graph[reads[1]].constant) release_pages_around(weights->data.bytes());
}

}  // namespace

Result<void> Planner::make_step(size_t node_index) {
  const ir::Node& node = graph_.nodes[node_index];
  if (!node.op.is_tosa())
    return fail({.where = where_of(node), .what = fmt::format("{} is not a TOSA operator", node.op.name())});
  const OpRow* row = kernel_row_of(node.op.tosa());
  if (row == nullptr)
    return fail({.where = where_of(node), .what = fmt::format("{} is not an operator of TOSA 1.0", node.op.name())});
  CARINA_CHECKED(ir::check_row(node, where_of(node)));
  if (const auto fused = fused_.find(node_index); fused != fused_.end()) {
    add_step(node_index, std::move(fused->second.kernel), fused->second.reads, fused->second.writes);
    program_->steps_.back().fused = std::move(fused->second.others);
    if (fused->second.in_place) in_place_.push_back(program_->steps_.size() - 1);
    return {};
  }
  const NodePlan plan = node_plan(node);
  CARINA_TRY(Kernel kernel, row->prepare(plan));
  drop_weights(graph_, kernel, node.inputs);
  // The observer still sees a shared value with the node's own type and shape.
  if (copies_nothing(node)) {
    share_bytes(node.inputs[0], node.outputs[0]);
    if (!options_.observer && !program_->is_watched(node.outputs[0])) return {};
    kernel.run = [](const Call&) -> Result<void> { return {}; };
  }
  add_step(node_index, std::move(kernel), node.inputs, node.outputs);
  return {};
}

void Planner::add_step(size_t node_index, Kernel kernel, const std::vector<ir::ValueId>& reads,
                       const std::vector<ir::ValueId>& writes) {
  program_->packed_bytes_ += kernel.packed_bytes;
  program_->steps_.push_back({.kernel = std::move(kernel),
                              .node = ir::NodeId(node_index),
                              .fused = {},
                              .where = where_of(graph_.nodes[node_index]),
                              .reads = reads,
                              .writes = writes,
                              .in = std::vector<const std::byte*>(reads.size()),
                              .out = std::vector<std::byte*>(writes.size())});
}

// Returns the following nodes that can be fused: each is the only user of the previous one, and its other operands are
// constants.
std::vector<size_t> Planner::tail_of(size_t node_index) const {
  constexpr size_t kLongest = 2;
  std::vector<size_t> tail;
  const ir::Node* node = &graph_.nodes[node_index];
  while (tail.size() < kLongest && node->outputs.size() == 1) {
    const ir::ValueId value = node->outputs.front();
    if (is_seen_[value.index()] || users_[value.index()].size() != 1) break;
    const size_t next = users_[value.index()].front().index();
    node = &graph_.nodes[next];
    const bool first =
        !node->inputs.empty() && node->inputs.front() == value && node->outputs.size() == 1 && node->op.is_tosa();
    if (!first || done_[next] || !ir::check_row(*node, {})) break;
    if (node->op.tosa() != TosaOp::RESCALE && node->op.tosa() != TosaOp::CLAMP) break;
    tail.push_back(next);
  }
  return tail;
}

// Returns the RESCALE nodes that compute the first operands of a node. Empty if one of them has another producer.
std::vector<size_t> Planner::front_of(size_t node_index) const {
  const ir::Node& node = graph_.nodes[node_index];
  const size_t size = kernel_row_of(node.op.tosa())->front_size;
  std::vector<size_t> front;
  for (size_t i = 0; i < std::min(size, node.inputs.size()); ++i) {
    const ir::NodeId producer = producers_[node.inputs[i].index()];
    if (!producer.valid() || done_[producer.index()]) return {};
    const ir::Node& made_by = graph_[producer];
    if (!made_by.op.is_tosa() || made_by.op.tosa() != TosaOp::RESCALE || !ir::check_row(made_by, {})) return {};
    front.push_back(producer.index());
  }
  return front.size() == size ? front : std::vector<size_t>{};
}

// Returns whether nodes other than `user` read a value, and compute it themselves in no kernel.
bool Planner::is_shared(ir::ValueId value, size_t user) const {
  return is_seen_[value.index()] || std::ranges::any_of(users_[value.index()], [&](ir::NodeId id) {
           return id.index() != user && !has_front_[id.index()];
         });
}

std::optional<Planner::Fused> Planner::fuse_neighbors(size_t node_index, std::span<const size_t> tail) const {
  const ir::Node& node = graph_.nodes[node_index];
  const OpRow& row = *kernel_row_of(node.op.tosa());
  TailPlan plan{.node = node_plan(node)};
  for (const size_t next : tail) plan.tail.push_back(node_plan(graph_.nodes[next]));
  const ir::Node& last = tail.empty() ? node : graph_.nodes[tail.back()];
  Fused fused{.kernel = {}, .reads = node.inputs, .writes = last.outputs, .others = {}};
  if (const auto front = front_of(node_index); !front.empty()) {
    FrontPlan with_front{.front = {}, .rest = plan};
    for (const size_t before : front) {
      const ir::Node& rescale = graph_.nodes[before];
      with_front.front.push_back(
          {.node = node_plan(rescale), .is_shared = is_shared(rescale.outputs.front(), node_index)});
    }
    if (auto kernel = row.fuse_front(with_front)) {
      fused.kernel = std::move(kernel->kernel);
      for (size_t i = 0; i < front.size(); ++i) fused.reads[i] = graph_.nodes[front[i]].inputs.front();
      fused.front = front;
    }
  }
  if (!fused.kernel.run && row.fuse_tail != nullptr && !tail.empty()) {
    if (auto with_tail = row.fuse_tail(plan)) fused.kernel = *std::move(with_tail);
  }
  if (!fused.kernel.run) return std::nullopt;
  for (const size_t next : tail) fused.others.emplace_back(next);
  return fused;
}

void Planner::fuse_node(size_t node_index) {
  const ir::Node& node = graph_.nodes[node_index];
  const OpRow* row = node.op.is_tosa() ? kernel_row_of(node.op.tosa()) : nullptr;
  if (row == nullptr || (row->fuse_tail == nullptr && row->fuse_front == nullptr) || !ir::check_row(node, {})) return;
  std::vector<size_t> tail = tail_of(node_index);
  std::optional<Fused> fused = fuse_neighbors(node_index, tail);
  for (; !fused && !tail.empty(); fused = fuse_neighbors(node_index, tail)) tail.pop_back();
  if (!fused) return;
  // A RESCALE that all its users compute themselves has no step. It belongs to the last of them.
  has_front_[node_index] = !fused->front.empty();
  for (const size_t before : fused->front) {
    if (done_[before] || is_shared(graph_.nodes[before].outputs.front(), node_index)) continue;
    done_[before] = true;
    fused->others.emplace_back(before);
  }
  std::ranges::sort(fused->others);
  for (const ir::NodeId other : fused->others) done_[other.index()] = true;
  drop_weights(graph_, fused->kernel, node.inputs);
  fused_.emplace(node_index, *std::move(fused));
}

void Planner::fuse_nodes() {
  fuse_channels();
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (!done_[n] && !fused_.contains(n)) fuse_node(n);
  }
  fuse_elementwise();
  fuse_layout_ops();
}

Result<void> Planner::make_steps() {
  Diagnostics all;
  constexpr size_t kEnough = 20;
  users_ = ir::users(graph_);
  is_seen_ = ir::is_output(graph_);
  for (size_t v = 0; v < is_seen_.size(); ++v) is_seen_[v] = is_seen_[v] || program_->is_watched(ir::ValueId(v));
  producers_ = ir::producers(graph_);
  done_.assign(graph_.nodes.size(), false);
  has_front_.assign(graph_.nodes.size(), false);
  if (!options_.observer && options_.kernels == Kernels::kFast) fuse_nodes();
  for (size_t n = 0; n < graph_.nodes.size() && all.size() < kEnough; ++n) {
    if (done_[n]) continue;
    if (auto made = make_step(n); !made) all.insert(all.end(), made.error().begin(), made.error().end());
  }
  if (!all.empty()) return fail(std::move(all));
  return {};
}

// Allocates the graph's outputs. An output that a node computes is written directly to the caller's memory; other
// outputs are copied at the end.
void Planner::allocate_outputs() {
  std::vector<Allocation>& allocations = program_->allocations_;
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    Allocation& allocation = allocations[root(graph_.outputs[i].index())];
    if (allocation.kind == Allocation::Kind::kNowhere) {
      allocation = {.kind = Allocation::Kind::kOutput, .index = i};
    } else {
      program_->output_copies_.push_back({.value = graph_.outputs[i], .output = i});
    }
  }
}

void Planner::drop_packed() {
  std::vector<bool> is_packed(graph_.values.size(), false), is_read = ir::is_output(graph_);
  for (const Program::Step& step : program_->steps_) {
    for (size_t i = 0; i < step.reads.size(); ++i)
      (step.kernel.has_weights && i == 1 ? is_packed : is_read)[step.reads[i].index()] = true;
  }
  for (size_t v = 0; v < is_packed.size(); ++v) {
    if (!is_packed[v] || is_read[v] || program_->allocations_[v].kind != Allocation::Kind::kConstant) continue;
    program_->constants_[v] = {};
    program_->allocations_[v] = {};
    program_->packed_.emplace_back(v);
  }
}

void Planner::number_uses() {
  first_use_.assign(graph_.values.size(), SIZE_MAX);
  last_use_.assign(graph_.values.size(), 0);
  const auto use = [&](ir::ValueId value, size_t step) {
    const size_t r = root(value.index());
    first_use_[r] = std::min(first_use_[r], step);
    last_use_[r] = std::max(last_use_[r], step);
  };
  for (size_t s = 0; s < program_->steps_.size(); ++s) {
    for (const ir::ValueId value : program_->steps_[s].reads) use(value, s);
    for (const ir::ValueId value : program_->steps_[s].writes) use(value, s);
  }
}

Result<void> Planner::allocate_rest() {
  std::vector<Block> blocks;
  std::vector<size_t> value_of_block;
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    if (root(v) != v || program_->allocations_[v].kind != Allocation::Kind::kNowhere || first_use_[v] == SIZE_MAX)
      continue;
    blocks.push_back({.bytes = tensor_bytes(graph_.values[v].dtype, graph_.values[v].shape),
                      .first = first_use_[v],
                      .last = last_use_[v]});
    value_of_block.push_back(v);
  }
  const size_t scratch_begin = blocks.size();
  for (size_t s = 0; s < program_->steps_.size(); ++s) {
    blocks.push_back({.bytes = program_->steps_[s].kernel.scratch_bytes, .first = s, .last = s});
  }
  const auto total = lay_out(blocks);
  if (!total || *total + program_->packed_bytes_ > options_.memory_budget_bytes) {
    return fail({.where = options_.where,
                 .what = fmt::format("graph {} does not fit the memory budget", graph_.name),
                 .expected = fmt::format("at most {} bytes", options_.memory_budget_bytes),
                 .got = total ? fmt::format("{}", *total + program_->packed_bytes_) : "more than 2^63"});
  }
  program_->arena_bytes_ = *total;
  for (size_t b = 0; b < scratch_begin; ++b)
    program_->allocations_[value_of_block[b]] = {.kind = Allocation::Kind::kArena, .index = blocks[b].offset};
  for (size_t s = 0; s < program_->steps_.size(); ++s)
    program_->steps_[s].scratch_offset = blocks[scratch_begin + s].offset;
  for (size_t v = 0; v < graph_.values.size(); ++v) program_->allocations_[v] = program_->allocations_[root(v)];
  return {};
}

}  // namespace carina::interpret
