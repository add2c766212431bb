#include "execute/run_clock_internal.h"

#include <fmt/format.h>

#include <utility>

#include "evaluate/memory_order.h"
#include "report/tables/layers.h"

namespace carina::execute {

namespace {

constexpr const char* kOperatorCall = "OPERATOR_CALL";
constexpr const char* kDelegateCall = "DELEGATE_CALL";
constexpr const char* kMethodExecute = "Method::execute";

uint64_t ns_of(int64_t cycles, int64_t clock_hz) {
  return clock_hz == 0 ? 0 : static_cast<uint64_t>(1e9 * static_cast<double>(cycles) / static_cast<double>(clock_hz));
}

// The event name of a kernel, as in ExecuTorch's generated calls: "aten::add.out" -> "native_call_add.out".
std::string kernel_event(std::string_view kernel) {
  const size_t colons = kernel.find("::");
  return fmt::format("native_call_{}", colons == std::string_view::npos ? kernel : kernel.substr(colons + 2));
}

// Adds the layers of an NPU call that began at `start_ns`. Returns the end of the call.
uint64_t add_layers(const results::NpuReport& npu, int32_t instruction, uint64_t start_ns, pte::RunRecord& record) {
  for (const results::LayerReport& layer : report::rows_of(npu, report::LayerRows::kFolded)) {
    const uint64_t start = start_ns + ns_of(layer.start_cycle, npu.clock_hz);
    record.events.push_back({.instruction = instruction,
                             .delegate_id = layer.name,
                             .metadata = fmt::format(R"({{"operation":"{}","cycles":{},"macs":{}}})", layer.operation,
                                                     layer.cycles, layer.macs),
                             .start_ns = start,
                             .end_ns = start + ns_of(layer.cycles, npu.clock_hz)});
  }
  return start_ns + ns_of(npu.cycles, npu.clock_hz);
}

}  // namespace

uint64_t RunClock::now_ns() const {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - zero_).count());
}

void RunClock::before(size_t instruction) {
  steps_.push_back({.instruction = instruction, .first_invocation = npu_.reports().size()});
  steps_.back().start_ns = now_ns();
}

void RunClock::keep(int32_t instruction, const runtime::EValue& value) {
  using Kind = pte::RecordedValue::Kind;
  pte::RecordedValue kept{.kind = value.is_tensor() ? Kind::kTensor : Kind::kTensorList, .instruction = instruction};
  const auto add = [&](const runtime::Tensor& tensor) {
    if (tensor.data == nullptr || !pte::is_recordable(tensor.type)) return;
    const Buffer elements =
        evaluate::from_memory_order(tensor, {static_cast<const std::byte*>(tensor.data), tensor.bytes()});
    kept.tensors.push_back({.type = tensor.type,
                            .sizes = {tensor.sizes().begin(), tensor.sizes().end()},
                            .elements = {elements.bytes().begin(), elements.bytes().end()}});
  };
  if (value.is_tensor()) add(value.tensor);
  if (value.kind == runtime::EValue::Kind::kTensorList) {
    for (const runtime::EValue* entry : value.tensors) {
      if (entry != nullptr && entry->is_tensor()) add(entry->tensor);
    }
  }
  if (!kept.tensors.empty()) values_.push_back(std::move(kept));
}

// Records the same values as ExecuTorch: of a delegate, all inputs and outputs; of a kernel, its outputs, one event per
// tensor or one event for a list.
void RunClock::keep_values(size_t instruction) {
  const runtime::Arguments arguments = method_->instruction_arguments(instruction);
  const auto index = static_cast<int32_t>(instruction);
  if (method_->calls_delegate(instruction)) {
    for (const runtime::EValue* argument : arguments) keep(index, *argument);
    return;
  }
  if (arguments.empty() || method_->instruction_name(instruction).empty()) return;
  const runtime::EValue& given = *arguments.back();
  const bool several = given.kind == runtime::EValue::Kind::kTensorList && arguments.size() > 1 &&
                       arguments[arguments.size() - 2]->is_tensor();
  if (!several) return keep(index, given);
  for (const runtime::EValue* entry : given.tensors) keep(index, *entry);
}

void RunClock::after(size_t instruction) {
  Step& step = steps_.back();
  step.end_ns = now_ns();
  step.invocations = npu_.reports().size() - step.first_invocation;
  if (method_ != nullptr) keep_values(instruction);
}

pte::RunRecord RunClock::take(const runtime::Method& method, const Invocation& invocation) {
  pte::RunRecord record;
  const uint64_t start = steps_.empty() ? now_ns() : steps_.front().start_ns;
  uint64_t at = start;  // on a time line at the NPU's own clock rate
  for (const Step& step : steps_) {
    const auto instruction = static_cast<int32_t>(step.instruction);
    const std::string_view name = method.instruction_name(step.instruction);
    const uint64_t began = at;
    if (method.calls_delegate(step.instruction)) {
      for (size_t i = 0; i < step.invocations; ++i)
        at = add_layers(invocation(step.first_invocation + i), instruction, at, record);
    }
    if (at == began) at += step.end_ns - step.start_ns;
    const pte::ProfileEvent event{.instruction = instruction, .start_ns = began, .end_ns = at};
    const auto add = [&](std::string text) {
      record.events.push_back(event);
      record.events.back().name = std::move(text);
    };
    if (method.calls_delegate(step.instruction)) {
      add(kDelegateCall);
    } else if (!name.empty()) {
      add(kernel_event(name));
      add(kOperatorCall);
    }
  }
  record.events.push_back({.name = kMethodExecute, .start_ns = start, .end_ns = at});
  steps_.clear();
  if (method_ != nullptr) {
    for (size_t i = 0; i < method_->outputs(); ++i) keep(-1, method_->output(i));
    record.values = std::exchange(values_, {});
  }
  return record;
}

}  // namespace carina::execute
