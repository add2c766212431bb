#include "pte/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/checked_math.h"
#include "base/memory/memory_planner.h"
#include "facts/aten_composites.h"
#include "facts/aten_traits.h"
#include "facts/executorch.h"
#include "pte/kernel_arguments_internal.h"
#include "pte/methods_internal.h"
#include "pte/scalar_type.h"
#include "pte/steps_internal.h"

namespace carina::pte {

namespace {

const AtenKernel* kernel_of(const ir::Node& node) {
  return pte::has_kernel(node.op) ? &carina::kernel_of(node.op.aten()) : nullptr;
}

std::string location_of(const ir::Node& node) {
  return node.source.empty() ? node.name : fmt::format("{} ({})", node.name, node.source);
}

constexpr bool is_readable(const AtenKernel& kernel) {
  return for_each_argument(kernel.arguments, [](const KernelArgument&) {});
}
static_assert(std::ranges::all_of(kAtenTraits, is_readable, &AtenTraits::kernel),
              "a kernel of facts/aten has an argument that means nothing");

// Reports element types among a node's attributes that a .pte cannot represent.
void note_unwritable_types(const ir::Node& node, const AtenKernel& row, Diagnostics& errors) {
  for_each_argument(row.arguments, [&](const KernelArgument& wanted) {
    if (wanted.kind != KernelArgument::Kind::kAttribute) return;
    const ir::Attribute* attribute = node.attributes.find(wanted.attribute);
    const DType* type = attribute == nullptr ? nullptr : std::get_if<DType>(attribute);
    if (type == nullptr || scalar_type_of(*type)) return;
    errors.push_back({.where = location_of(node),
                      .what = fmt::format("a .pte cannot say {} = {}", wanted.attribute, name_of(*type)),
                      .hint = "use an element type that ExecuTorch has"});
  });
}

// A hint for nodes whose scales are computed at run time (torchao's dynamic quantization).
std::string_view hint_without_kernel(const ir::Node& node) {
  if (node.op.name().starts_with("quantized_decomposed."))
    return "quantize with scales that are known before: is_dynamic=False, or the float model with --quantize int8";
  return remedy_without(node.op.name());
}

// Collects everything that cannot be written, so that one run reports all of it.
Diagnostics unwritable(const ir::Graph& graph) {
  Diagnostics errors;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    if (node.op == ir::Op(AtenOp::executorch_call_delegate_default)) continue;
    if (const AtenKernel* row = kernel_of(node)) {
      note_unwritable_types(node, *row, errors);
      continue;
    }
    errors.push_back(
        {.where = location_of(node),
         .what = fmt::format("{} stays on the CPU, and Carina knows no ExecuTorch kernel for it", node.op.name()),
         .hint = std::string(hint_without_kernel(node)),
         .node = n});
  }
  for (const ir::Value& value : graph.values) {
    const DType dtype = value.constant ? value.constant->dtype : value.dtype;
    if (!scalar_type_of(dtype))
      errors.push_back({.where = value.name, .what = fmt::format("a .pte cannot hold a tensor of {}", name_of(dtype))});
  }
  return errors;
}

class Emitter {
 public:
  Emitter(const Steps& steps, std::span<const Delegate> delegates, const SharedStates& shared)
      : graph_(steps.graph), steps_(steps.steps), delegates_(delegates), shared_(shared) {
    program_.constants.resize(1);
    program_.plans.resize(1);
    find_states_in_place();
  }

  Program run() {
    for (size_t i = 0; i < graph_.inputs_without_state(); ++i) plan().inputs.push_back(tensor(graph_.inputs[i]));
    for (size_t i = 0; i < graph_.states.size(); ++i) add_state(i);
    for (const Step& step : steps_) {
      ++step_;
      if (const auto* node = std::get_if<ir::NodeId>(&step))
        emit_node(graph_[*node]);
      else
        emit_call(std::get<IntegerCall>(step));
    }
    for (size_t i = 0; i < graph_.states.size(); ++i) write_state(i);
    ++step_;
    for (size_t i = 0; i < graph_.outputs_without_state(); ++i) {
      const ir::ValueId output = graph_.outputs[i];
      plan().outputs.push_back(output.valid() ? tensor(output) : scalar(None{}));
    }
    for (size_t i = 0; i < graph_.states.size(); ++i) tensor(graph_.state_input(i));  // planned for the whole method
    plan_values();
    return std::move(program_);
  }

 private:
  Plan& plan() { return program_.plans.front(); }

  int32_t add(Value value) {
    plan().values.push_back(std::move(value));
    return static_cast<int32_t>(plan().values.size() - 1);
  }

  // Returns the index of an equal existing value, or adds the value.
  template <typename T>
  int32_t scalar(const T& value) {
    for (size_t i = 0; i < plan().values.size(); ++i) {
      const T* other = std::get_if<T>(&plan().values[i]);
      if (other != nullptr && *other == value) return static_cast<int32_t>(i);
    }
    return add(value);
  }

  // The index of a tensor. Each call extends the tensor's lifetime to the current step.
  int32_t tensor(ir::ValueId id) {
    const auto found = index_of_.find(id);
    const int32_t index = found == index_of_.end() ? new_tensor(id) : found->second;
    if (const auto lifetime = lifetime_of_.find(index); lifetime != lifetime_of_.end())
      lifetimes_[lifetime->second].last = step_;
    return index;
  }

  // Finds the states whose next content may be written to their own memory: a step gives it after the last step that
  // reads the state before, or it is a delegate, which copies its inputs before it runs and its outputs afterwards. The
  // other states are copied at the end. Source: ExecuTorch 1.5, EthosUBackend.cpp, execute().
  //   Example: h_next = add(mul(z, h), n) of a GRU is written to h, since only the product before it reads h
  void find_states_in_place() {
    std::map<ir::ValueId, size_t> last_read, made;
    for (size_t n = 0; n < steps_.size(); ++n) {
      if (const auto* call = std::get_if<IntegerCall>(&steps_[n])) {
        for (const CallArgument& argument : call->arguments) {
          if (const auto* value = std::get_if<ir::ValueId>(&argument)) last_read[*value] = n;
        }
        made[call->output] = n;
        continue;
      }
      const ir::Node& node = graph_[std::get<ir::NodeId>(steps_[n])];
      for (const ir::ValueId input : node.inputs) last_read[input] = n;
      for (const ir::ValueId output : node.outputs) made[output] = n;
    }
    for (size_t i = 0; i < graph_.states.size(); ++i) {
      const ir::ValueId before = graph_.state_input(i), after = graph_.state_output(i);
      const auto step = made.find(after);
      const auto read = last_read.find(before);
      if (step == made.end()) continue;
      const size_t readable =
          step->second + (is_delegate_call(steps_[step->second]) ? 1 : 0);  // steps that may read it
      if (read != last_read.end() && read->second >= readable) continue;
      in_place_.emplace(after, before);  // of two states with one next content, the first
    }
  }

  [[nodiscard]] bool is_delegate_call(const Step& step) const {
    const auto* node = std::get_if<ir::NodeId>(&step);
    return node != nullptr && graph_[*node].op == ir::Op(AtenOp::executorch_call_delegate_default);
  }

  int32_t new_tensor(ir::ValueId id) {
    if (const auto state = in_place_.find(id); state != in_place_.end()) {
      const int32_t index = tensor(state->second);
      index_of_.emplace(id, index);
      return index;
    }
    const ir::Value& value = graph_[id];
    TensorSpec spec{.dtype = value.constant ? value.constant->dtype : value.dtype,
                    .shape = value.shape,
                    .dim_order = {},
                    .constant = 0,
                    .allocation = {}};
    if (value.constant) {
      spec.constant = static_cast<uint32_t>(program_.constants.size());
      program_.constants.push_back(value.constant->data);
    }
    const bool planned = !value.constant;
    const int32_t index = planned ? planned_tensor(std::move(spec)) : add(std::move(spec));
    index_of_.emplace(id, index);
    return index;
  }

  // A mutable buffer. Zeros are not stored: they are what memory begins with.
  void add_state(size_t index) {
    const ir::State& state = graph_.states[index];
    auto& spec = std::get<TensorSpec>(plan().values[static_cast<size_t>(tensor(graph_.state_input(index)))]);
    spec.state_name = state.name;
    const std::span<const std::byte> bytes =
        state.initial.data.bytes().first(tensor_bytes(state.initial.dtype, state.initial.shape));
    if (std::ranges::any_of(bytes, [](std::byte byte) { return byte != std::byte{0}; }))
      spec.initial = state.initial.data;
  }

  // Where the methods of the program have a state in common; no value: it is this method's own.
  [[nodiscard]] std::optional<uint64_t> shared_offset(const TensorSpec& spec) const {
    const auto found = shared_.offsets.find(spec.state_name);
    return spec.state_name.empty() || found == shared_.offsets.end() ? std::nullopt : std::optional(found->second);
  }

  // Copies the next content of a mutable buffer to it, as ExecuTorch's insert_write_back_for_buffers_pass does.
  void write_state(size_t index) {
    const ir::ValueId before = graph_.state_input(index), after = graph_.state_output(index);
    ++step_;
    const int32_t buffer = tensor(before), next = tensor(after);
    if (buffer == next) return;
    plan().instructions.emplace_back(
        KernelCall{.op = operator_index("aten::copy_", ""), .arguments = {buffer, next, scalar(false), buffer}});
  }

  int32_t planned_tensor(TensorSpec spec) {
    const uint64_t bytes = tensor_bytes(spec.dtype, spec.shape);
    spec.allocation = Allocation{};
    const int32_t index = add(std::move(spec));
    lifetime_of_.emplace(index, lifetimes_.size());
    lifetimes_.push_back({.bytes = static_cast<int64_t>(bytes), .first = step_, .last = step_});
    return index;
  }

  struct AttributeEmitter {
    Emitter& emitter;
    int32_t operator()(std::monostate /*none*/) const { return emitter.scalar(None{}); }
    int32_t operator()(bool v) const { return emitter.scalar(v); }
    int32_t operator()(int64_t v) const { return emitter.scalar(v); }
    int32_t operator()(double v) const { return emitter.scalar(v); }
    int32_t operator()(const std::string& v) const { return emitter.scalar(v); }
    int32_t operator()(const std::vector<int64_t>& v) const { return emitter.int_list(v); }
    int32_t operator()(const std::vector<double>& v) const { return emitter.add(DoubleList{.numbers = v}); }
    int32_t operator()(const std::vector<bool>& v) const { return emitter.add(BoolList{.flags = v}); }
    int32_t operator()(DType v) const {
      const auto type = scalar_type_of(v);  // unwritable() has checked this type
      CARINA_CHECK(type.has_value(), "{} is not an element type of .pte", name_of(v));
      return emitter.scalar(static_cast<int64_t>(*type));
    }
    int32_t operator()(const ir::Bytes& /*bytes*/) const { CARINA_UNREACHABLE("bytes in an ATen node", 0); }
  };

  int32_t int_list(const std::vector<int64_t>& numbers) {
    IntList list;
    for (const int64_t number : numbers) list.values.push_back(scalar(number));
    return add(std::move(list));
  }

  int32_t operand(const ir::Node& node, size_t index) {
    const bool present = index < node.inputs.size() && node.inputs[index].valid();
    return present ? tensor(node.inputs[index]) : scalar(None{});
  }

  int32_t all_operands(const ir::Node& node) {
    TensorList list;
    for (const ir::ValueId input : node.inputs) list.tensors.push_back(tensor(input));
    return add(std::move(list));
  }

  int32_t argument(const ir::Node& node, const KernelArgument& wanted) {
    using Kind = KernelArgument::Kind;
    switch (wanted.kind) {
      case Kind::kOperand:
        return operand(node, wanted.operand);
      case Kind::kAllOperands:
        return all_operands(node);
      case Kind::kNone:
        return scalar(None{});
      case Kind::kFlag:
        return scalar(wanted.flag);
      case Kind::kInteger:
        return scalar(wanted.numbers[0]);
      case Kind::kIntegers:
        return int_list({wanted.numbers.begin(), wanted.numbers.begin() + wanted.count});
      case Kind::kAttribute:
        break;
    }
    const ir::Attribute* attribute = node.attributes.find(wanted.attribute);
    return attribute == nullptr ? scalar(None{}) : std::visit(AttributeEmitter{*this}, *attribute);
  }

  void emit_node(const ir::Node& node) {
    if (node.op == ir::Op(AtenOp::executorch_call_delegate_default))
      emit_delegate(node);
    else
      emit_kernel(node, *kernel_of(node));
  }

  struct ArgumentEmitter {
    Emitter& emitter;
    int32_t operator()(const std::vector<int64_t>& v) const { return emitter.int_list(v); }
    int32_t operator()(ir::ValueId v) const { return emitter.tensor(v); }
    int32_t operator()(const Scratch& v) const {
      return emitter.planned_tensor(
          {.dtype = DType::kUInt8, .shape = Shape{v.bytes}, .dim_order = {}, .constant = 0, .allocation = {}});
    }
    template <typename T>
    int32_t operator()(const T& v) const {
      return emitter.scalar(v);
    }
  };

  void emit_call(const IntegerCall& step) {
    KernelCall call{.op = operator_index(step.name, "out"), .arguments = {}};
    for (const CallArgument& argument : step.arguments)
      call.arguments.push_back(std::visit(ArgumentEmitter{*this}, argument));
    const int32_t output = tensor(step.output);
    call.arguments.insert(call.arguments.end(), {output, output});
    plan().instructions.emplace_back(std::move(call));
  }

  void emit_kernel(const ir::Node& node, const AtenKernel& row) {
    KernelCall call{.op = operator_index(row.name, row.overload), .arguments = {}};
    for_each_argument(row.arguments,
                      [&](const KernelArgument& wanted) { call.arguments.push_back(argument(node, wanted)); });
    std::vector<int32_t> outputs;
    for (const ir::ValueId output : node.outputs) outputs.push_back(tensor(output));
    if (!row.hidden_outputs.empty()) {
      const auto dtype = dtype_of_name(row.hidden_outputs);
      CARINA_CHECK(dtype.has_value(), "{} in the row of {}", row.hidden_outputs, node.op.name());
      outputs.push_back(planned_tensor({.dtype = *dtype,
                                        .shape = graph_[node.outputs.front()].shape,
                                        .dim_order = {},
                                        .constant = 0,
                                        .allocation = {}}));
    }
    call.arguments.insert(call.arguments.end(), outputs.begin(), outputs.end());
    call.arguments.push_back(outputs.size() == 1 ? outputs.front()
                                                 : add(TensorList{.tensors = outputs, .optional = false}));
    plan().instructions.emplace_back(std::move(call));
  }

  void emit_delegate(const ir::Node& node) {
    const auto index = static_cast<size_t>(node.attributes.integer("delegate"));
    CARINA_CHECK(index < delegates_.size(), "{} calls delegate {}", node.name, index);
    DelegateCall call{.delegate = static_cast<int32_t>(index), .arguments = {}};
    for (const ir::ValueId input : node.inputs) call.arguments.push_back(tensor(input));
    for (const ir::ValueId output : node.outputs) call.arguments.push_back(tensor(output));
    plan().instructions.emplace_back(std::move(call));
  }

  int32_t operator_index(std::string_view name, std::string_view overload) {
    auto& operators = plan().operators;
    for (size_t i = 0; i < operators.size(); ++i) {
      if (operators[i].name == name && operators[i].overload == overload) return static_cast<int32_t>(i);
    }
    operators.push_back({.name = std::string(name), .overload = std::string(overload)});
    return static_cast<int32_t>(operators.size() - 1);
  }

  void plan_values() {
    plan().delegates.assign(delegates_.begin(), delegates_.end());
    const auto spec_of = [&](int32_t index) -> TensorSpec& {
      return std::get<TensorSpec>(plan().values[static_cast<size_t>(index)]);
    };
    // States are there for the whole method. They come last, so that a runtime that has them elsewhere plans less.
    std::vector<int64_t> bytes_of_state(lifetimes_.size(), 0);
    for (const auto& [index, lifetime] : lifetime_of_) {
      if (spec_of(index).state_name.empty()) continue;
      if (!shared_offset(spec_of(index))) bytes_of_state[lifetime] = lifetimes_[lifetime].bytes;
      lifetimes_[lifetime].bytes = 0;
    }
    MemoryPlan memory =
        plan_memory(lifetimes_, static_cast<int64_t>(kPtePlannedAlignmentBytes), PlanStrategy::kFirstFit);
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      if (bytes_of_state[i] == 0) continue;
      memory.total_bytes = round_up<int64_t>(memory.total_bytes, static_cast<int64_t>(kPtePlannedAlignmentBytes));
      memory.offsets[i] = memory.total_bytes;
      memory.total_bytes += bytes_of_state[i];
    }
    for (const auto& [index, lifetime] : lifetime_of_) {
      const std::optional<uint64_t> shared = shared_offset(spec_of(index));
      spec_of(index).allocation =
          Allocation{.memory_id = shared ? kSharedMemory : 1,
                     .offset_bytes = shared.value_or(static_cast<uint64_t>(memory.offsets[lifetime]))};
    }
    plan().planned_bytes = {memory.total_bytes};
    if (!shared_.offsets.empty()) plan().planned_bytes.push_back(shared_.bytes);
  }

  const ir::Graph& graph_;
  const std::vector<Step>& steps_;
  std::span<const Delegate> delegates_;
  const SharedStates& shared_;
  Program program_;
  std::map<ir::ValueId, int32_t> index_of_;
  std::map<ir::ValueId, ir::ValueId> in_place_;  // the next content of a state -> the state, whose memory it takes
  std::map<int32_t, size_t> lifetime_of_;        // index of a planned tensor's value -> index of its lifetime
  std::vector<MemoryRequest> lifetimes_;         // in instructions
  int64_t step_ = -1;                            // -1: the inputs are alive before the first instruction
};

}  // namespace

namespace {

// Copies the state that a result is, because the run overwrites the state before a caller or another state's
// write-back reads the result.
//   Example: buffers a and b that swap. The write-back of a would otherwise lose the a that b becomes.
ir::Graph with_own_results(ir::Graph graph) {
  const auto overwritten = [&](ir::ValueId id, size_t output) {
    for (size_t i = 0; i < graph.states.size(); ++i) {
      if (graph.state_input(i) != id || graph.state_output(i) == id) continue;
      return output != graph.outputs_without_state() + i;
    }
    return false;
  };
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::ValueId id = graph.outputs[i];
    if (!id.valid() || !overwritten(id, i)) continue;
    const ir::Value state = graph[id];
    const ir::ValueId copy = graph.add_value(state.name + "_before", state.dtype, state.shape);
    graph.add_node({.op = AtenOp::clone_default,
                    .name = graph[copy].name,
                    .inputs = {id},
                    .outputs = {copy},
                    .attributes = {{"memory_format", std::monostate()}},
                    .source = {}});
    graph.outputs[i] = copy;
  }
  return graph;
}

}  // namespace

bool has_kernel(ir::Op op) {
  return op.is_aten() && carina::has_kernel(op.aten());
}

Result<Program> emit(const ir::Graph& graph, std::span<const Delegate> delegates, CpuKernels kernels) {
  return emit_with(graph, delegates, kernels, {});
}

Result<Program> emit_with(const ir::Graph& graph, std::span<const Delegate> delegates, CpuKernels kernels,
                          const SharedStates& shared) {
  if (Diagnostics errors = unwritable(graph); !errors.empty()) return fail(std::move(errors));
  const ir::Graph whole = with_own_results(graph);
  const Steps steps = kernels == CpuKernels::kCortexM ? integer_steps(whole) : node_steps(whole);
  return Emitter(steps, delegates, shared).run();
}

}  // namespace carina::pte
