#include "execute/tflite_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <variant>

#include "base/memory/copy_bytes.h"
#include "base/memory/zeroed_pages.h"
#include "execute/npu_calls.h"
#include "execute/run_progress_internal.h"
#include "execute/tflite_variables.h"
#include "files/tflite_file.h"
#include "frontend/tflite/borders.h"
#include "frontend/tflite/kernels/kernels.h"
#include "frontend/tflite/moved_floats.h"
#include "frontend/tflite/parts.h"
#include "frontend/tflite/reader.h"
#include "interpret/interpreter.h"
#include "litert/compiled_graph.h"
#include "npu/payload.h"
#include "simulate/simulator.h"

// Tensors with an address lie in one arena, which all streams share; the others have memory of their own. Operators on
// the CPU that follow each other are one TOSA graph. Variables have a memory of their own.
namespace carina::execute {

namespace {

struct CpuStep {
  tflite::Part part;
  tflite::Borders borders;
  interpret::Interpreter interpreter;
};
struct NpuStep {
  const litert::NpuOperator* stream;
  simulate::Simulator simulator;
};
// An operator with a kernel of its own.
struct KernelStep {
  size_t op;  // among the graph's operators
};
struct VariableStep {
  size_t op;  // among the graph's operators
};
using Step = std::variant<CpuStep, NpuStep, KernelStep, VariableStep>;

std::span<std::byte> writable(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

enum class StepKind : uint8_t { kCpu, kMove, kNpu, kKernel, kVariable };

StepKind kind_of(const tflite::Subgraph& graph, const tflite::Operator& op) {
  if (op.name == tflite::kNpuOperator) return StepKind::kNpu;
  if (tflite::has_kernel(graph, op)) return StepKind::kKernel;
  if (tflite::moves_floats(graph, op)) return StepKind::kMove;
  return acts_on_variables(op) ? StepKind::kVariable : StepKind::kCpu;
}

// The graph's operators in the file's order. Those on the CPU that follow each other are one list.
std::vector<std::vector<size_t>> consecutive_operators(const tflite::Subgraph& graph) {
  std::vector<std::vector<size_t>> lists;
  StepKind last = StepKind::kNpu;
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const StepKind kind = kind_of(graph, graph.operators[i]);
    if (kind != StepKind::kCpu || last != StepKind::kCpu) lists.emplace_back();
    lists.back().push_back(i);
    last = kind;
  }
  return lists;
}

}  // namespace

struct TfliteSession::State {
  std::string where;
  tflite::Model model;
  litert::CompiledGraph compiled;
  std::optional<plan::Target> target;  // of the streams; none if there are none
  std::vector<Step> steps;
  ZeroedPages arena;  // a file may declare far more than its streams touch
  ZeroedPages fast;
  std::vector<ZeroedPages> own;  // by tensor
  std::vector<datasets::InputType> inputs;
  std::vector<simulate::Report> reports;
  NpuCalls calls;
  TfliteVariables variables;

  [[nodiscard]] const tflite::Subgraph& graph() const { return model.subgraphs.front(); }
  [[nodiscard]] const tflite::Tensor& tensor(int32_t index) const {
    return graph().tensors[static_cast<size_t>(index)];
  }

  // The bytes of a tensor that is not constant.
  std::span<std::byte> memory(int32_t index) {
    const auto at = static_cast<size_t>(index);
    if (compiled.addresses[at] < 0) return own[at].bytes();
    return arena.bytes().subspan(static_cast<size_t>(compiled.addresses[at]),
                                 static_cast<size_t>(tensor(index).bytes()));
  }

  void allocate() {
    arena = ZeroedPages(static_cast<size_t>(compiled.arena_bytes));
    fast = ZeroedPages(static_cast<size_t>(compiled.fast_bytes));
    own.resize(graph().tensors.size());
    for (size_t i = 0; i < own.size(); ++i) {
      if (compiled.addresses[i] < 0 && !graph().tensors[i].is_constant)
        own[i] = ZeroedPages(static_cast<size_t>(graph().tensors[i].bytes()));
      if (graph().tensors[i].is_variable)
        std::ranges::fill(memory(static_cast<int32_t>(i)), tflite::initial_state(graph().tensors[i]));
    }
  }

  Tensor value(int32_t index) {
    const tflite::Tensor& from = tensor(index);
    return {.dtype = from.dtype,
            .shape = from.shape,
            .data = from.is_constant ? from.data : Buffer::copy_of(memory(index))};
  }

  Result<void> set_target(const TfliteOptions& options, const Log& log);
  Result<void> add_steps(const TfliteOptions& options, const Log& log);
  void add_npu_step(const litert::NpuOperator& stream, const TfliteOptions& options, const Log& log);
  Result<void> add_cpu_step(tflite::Part part, const TfliteOptions& options);
  Result<void> run_step(CpuStep& step);
  Result<void> run_step(NpuStep& step);
  Result<void> run_step(KernelStep& step);
  Result<void> run_step(VariableStep& step);

  tflite::TensorBytes tensor_bytes() {
    const auto read = [this](int32_t index) -> std::span<const std::byte> {
      return tensor(index).is_constant ? tensor(index).data.bytes() : memory(index);
    };
    return {.read = read, .write = [this](int32_t index) { return memory(index); }};
  }
};

Result<void> TfliteSession::State::set_target(const TfliteOptions& options, const Log& log) {
  for (const litert::NpuOperator& stream : compiled.streams) {
    CARINA_TRY(const npu::Payload payload, npu::parse_payload(stream.payload.bytes(), where));
    const std::string accelerator(payload.accelerator()->name);
    if (target && target->accelerator.name != accelerator)
      return fail({.where = where,
                   .what = "streams for different NPUs",
                   .expected = std::string(target->accelerator.name),
                   .got = accelerator});
    if (target) continue;
    targets::TargetNames names = options.memories;
    names.accelerator = accelerator;
    CARINA_TRY(target, targets::find_target(names, log));
  }
  if (target) calls = NpuCalls(compiled.streams.size(), *target);
  return {};
}

Result<void> TfliteSession::State::add_steps(const TfliteOptions& options, const Log& log) {
  size_t stream = 0;
  for (std::vector<size_t>& operators : consecutive_operators(graph())) {
    switch (kind_of(graph(), graph().operators[operators.front()])) {
      case StepKind::kKernel:
        CARINA_CHECKED(tflite::check_kernel(graph(), graph().operators[operators.front()], where));
        steps.emplace_back(KernelStep{.op = operators.front()});
        break;
      case StepKind::kVariable:
        steps.emplace_back(VariableStep{.op = operators.front()});
        break;
      case StepKind::kNpu:
        add_npu_step(compiled.streams[stream++], options, log);
        break;
      case StepKind::kCpu:
      case StepKind::kMove:
        CARINA_CHECKED(add_cpu_step(tflite::part_of(graph(), std::move(operators), false), options));
        break;
    }
  }
  return {};
}

void TfliteSession::State::add_npu_step(const litert::NpuOperator& stream, const TfliteOptions& options,
                                        const Log& log) {
  const auto timed = options.timed ? simulate::Timing::kOn : simulate::Timing::kOff;
  const auto occupied = options.timed ? simulate::Occupied::kOn : simulate::Occupied::kOff;
  steps.emplace_back(NpuStep{.stream = &stream,
                             .simulator = simulate::Simulator({.timing = timed,
                                                               .occupied = occupied,
                                                               .threads = options.threads,
                                                               .own_system_config = target->system,
                                                               .own_memory_mode = target->memory,
                                                               .between_operations = run_progress(log)})});
}

Result<void> TfliteSession::State::add_cpu_step(tflite::Part part, const TfliteOptions& options) {
  tflite::Model cut = tflite::model_of(graph(), part);
  if (kind_of(graph(), graph().operators[part.operators.front()]) == StepKind::kMove)
    tflite::take_floats_as_integers(cut);
  tflite::Borders borders = tflite::cut_float_borders(cut);
  CARINA_TRY(const ir::Module module, files::sound_model(cut, where, "8K"));
  CARINA_TRY(interpret::Interpreter interpreter,
             interpret::Interpreter::create(module, {.threads = options.threads, .where = where}));
  steps.emplace_back(
      CpuStep{.part = std::move(part), .borders = std::move(borders), .interpreter = std::move(interpreter)});
  return {};
}

Result<void> TfliteSession::State::run_step(CpuStep& step) {
  std::vector<Tensor> given;
  for (size_t i = 0; i < step.part.inputs.size(); ++i)
    given.push_back(tflite::to_stored(value(step.part.inputs[i]), step.borders.inputs[i]));
  CARINA_TRY(const std::vector<Tensor> results, step.interpreter.run(given));
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor declared = tflite::to_declared(results[i], step.borders.outputs[i]);
    const std::span<std::byte> to = memory(step.part.outputs[i]);
    std::memcpy(to.data(), declared.data.data(), std::min(to.size(), declared.data.size()));
  }
  return {};
}

// Regions as TFLM's kernel sets them: constants, scratch, fast scratch, and the operands.
Result<void> TfliteSession::State::run_step(NpuStep& step) {
  const litert::NpuOperator& stream = *step.stream;
  simulate::Memory memories;
  memories.regions[0] = writable(stream.constants.bytes());
  memories.read_only[0] = true;
  const auto scratch =
      arena.bytes().subspan(static_cast<size_t>(compiled.addresses[static_cast<size_t>(stream.scratch)]));
  memories.regions[1] = scratch;
  memories.regions[2] = stream.fast_scratch == stream.scratch ? scratch : fast.bytes();
  size_t region = 3;
  for (const std::vector<int32_t>* edges : {&stream.inputs, &stream.outputs}) {
    for (const int32_t edge : *edges) {
      if (region == memories.regions.size()) break;
      memories.read_only[region] = tensor(edge).is_constant;
      memories.regions[region++] = tensor(edge).is_constant ? writable(tensor(edge).data.bytes()) : memory(edge);
    }
  }
  CARINA_TRY(simulate::Report report, step.simulator.run(stream.payload.bytes(), memories));
  reports.push_back(std::move(report));
  return {};
}

Result<void> TfliteSession::State::run_step(KernelStep& step) {
  return tflite::run_kernel(graph(), graph().operators[step.op], tensor_bytes(), where);
}

Result<void> TfliteSession::State::run_step(VariableStep& step) {
  return variables.run(model, graph().operators[step.op], tensor_bytes(), where);
}

TfliteSession::TfliteSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
TfliteSession::TfliteSession(TfliteSession&&) noexcept = default;
TfliteSession& TfliteSession::operator=(TfliteSession&&) noexcept = default;
TfliteSession::~TfliteSession() = default;

Result<TfliteSession> TfliteSession::create(const Buffer& file, const std::string& where, const TfliteOptions& options,
                                            const Log& log) {
  auto state = std::make_unique<State>();
  state->where = where;
  CARINA_TRY(state->model, tflite::read_model(file, where));
  CARINA_TRY(state->compiled, litert::read_compiled(state->model, where));
  CARINA_CHECKED(TfliteVariables::check(state->model, where));
  CARINA_CHECKED(state->set_target(options, log));
  CARINA_CHECKED(state->add_steps(options, log));
  state->allocate();
  for (const int32_t input : state->graph().inputs) {
    const tflite::Tensor& tensor = state->tensor(input);
    state->inputs.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape});
  }
  return TfliteSession(std::move(state));
}

const std::vector<datasets::InputType>& TfliteSession::inputs() const {
  return state_->inputs;
}

Result<std::vector<datasets::NamedTensor>> TfliteSession::run(const datasets::Sample& inputs) {
  CARINA_CHECKED(datasets::check_sample(inputs, state_->inputs));
  state_->reports.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int32_t index = state_->graph().inputs[i];
    if (!state_->tensor(index).is_constant) copy_bytes(inputs[i].data.bytes(), state_->memory(index));
  }
  for (Step& step : state_->steps) CARINA_CHECKED(std::visit([&](auto& one) { return state_->run_step(one); }, step));
  std::vector<datasets::NamedTensor> outputs;
  for (const int32_t output : state_->graph().outputs)
    outputs.push_back({.name = state_->tensor(output).name, .tensor = state_->value(output)});
  return outputs;
}

results::NpuReport TfliteSession::npu_report() const {
  std::vector<results::NpuReport> reports;
  for (size_t i = 0; i < state_->reports.size(); ++i) reports.push_back(state_->calls.report(state_->reports[i], i));
  return state_->calls.joined(std::move(reports));
}

int64_t TfliteSession::streams() const {
  return static_cast<int64_t>(state_->compiled.streams.size());
}

std::vector<std::string> TfliteSession::cpu_operators() const {
  std::vector<std::string> names;
  for (const tflite::Operator& op : state_->graph().operators) {
    if (op.name != tflite::kNpuOperator) names.push_back(op.name);
  }
  return names;
}

int64_t TfliteSession::arena_bytes() const {
  return state_->compiled.arena_bytes;
}

}  // namespace carina::execute
