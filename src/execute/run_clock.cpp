#include "execute/run_clock_internal.h"

#include <utility>

#include "evaluate/memory_order.h"

namespace carina::execute {

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
  InstructionTime& step = steps_.back();
  step.end_ns = now_ns();
  step.invocations = npu_.reports().size() - step.first_invocation;
  if (method_ != nullptr) keep_values(instruction);
}

pte::RunRecord RunClock::take(const runtime::Method& method, const Invocation& invocation) {
  pte::RunRecord record = record_of(steps_, method, invocation);
  steps_.clear();
  if (method_ != nullptr) {
    for (size_t i = 0; i < method_->outputs(); ++i) keep(-1, method_->output(i));
    record.values = std::exchange(values_, {});
  }
  return record;
}

}  // namespace carina::execute
