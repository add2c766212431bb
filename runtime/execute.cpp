// Method: sets inputs and runs the instructions in order.
#include <cstring>

#include "runtime/method_internal.h"

namespace carina::runtime {

namespace {

// Returns whether a condition is false. It is a Bool, or a bool tensor of one element.
bool is_false(const EValue& condition) {
  if (condition.is_tensor()) return condition.tensor.bytes() > 0 && *condition.tensor.as<uint8_t>() == 0;
  return condition.to_int() == 0;
}

}  // namespace

Error Method::set_input(size_t index, std::span<const std::byte> bytes) {
  if (!loaded_) return Error::kNotLoaded;
  if (index >= inputs_.size()) return Error::kInvalidArgument;
  EValue& value = values_[static_cast<size_t>(inputs_[index])];
  if (!value.is_tensor() || value.tensor.bytes() != bytes.size()) return Error::kInvalidArgument;
  if (value.tensor.read_only) return Error::kInvalidArgument;
  if (value.tensor.data == nullptr || value.tensor.of_caller) {
    if (!is_aligned(bytes.data(), value.tensor.type)) return Error::kInvalidArgument;
    value.tensor.data = const_cast<std::byte*>(bytes.data());
    value.tensor.of_caller = true;
  } else if (!bytes.empty()) {
    std::memcpy(value.tensor.data, bytes.data(), bytes.size());
  }
  return Error::kOk;
}

Error Method::resize_input(size_t index, std::span<const int64_t> sizes) {
  if (!loaded_) return Error::kNotLoaded;
  if (index >= inputs_.size()) return Error::kInvalidArgument;
  const EValue& value = values_[static_cast<size_t>(inputs_[index])];
  return value.is_tensor() && value.tensor.resize(sizes) ? Error::kOk : Error::kInvalidArgument;
}

void Method::refresh_lists() {
  for (const RuntimeNumber& number : numbers_) *number.entry = number.value->to_int();
}

Error Method::run(const Instruction& instruction, size_t& next) {
  using Kind = Instruction::Kind;
  switch (instruction.kind) {
    case Kind::kKernel:
      CARINA_RT_TRY(instruction.kernel(instruction.arguments, *scratch_));
      if (instruction.computes_number) refresh_lists();
      return Error::kOk;
    case Kind::kDelegate: {
      const Delegate& delegate = delegates_[instruction.target];
      if (delegate_memory_.empty()) return delegate.backend->execute(delegate.handle, instruction.arguments, *scratch_);
      Arena own(delegate_memory_);
      return delegate.backend->execute(delegate.handle, instruction.arguments, own);
    }
    case Kind::kMove:
      *instruction.arguments[1] = *instruction.arguments[0];
      if (instruction.arguments[1]->is_tensor()) instruction.arguments[1]->tensor.is_state = false;  // listed once
      refresh_lists();
      return Error::kOk;
    case Kind::kJumpFalse:
      if (is_false(*instruction.arguments[0])) next = instruction.target;
      return Error::kOk;
    case Kind::kFree:
      return Error::kOk;
  }
  return Error::kInternal;
}

Error Method::execute() {
  if (!loaded_) return Error::kNotLoaded;
  return run_from(0, Start::kNew);
}

Error Method::resume() {
  if (!loaded_) return Error::kNotLoaded;
  if (problem_.arena != MemoryArena::kScratch) return Error::kInvalidArgument;
  return run_from(static_cast<size_t>(problem_.instruction), Start::kAgain);
}

Error Method::run_from(size_t at, Start start) {
  problem_ = {};
  uint32_t jumps_back = 0;
  while (at < instructions_.size()) {
    size_t next = at + 1;
    if (observer_ != nullptr && start == Start::kNew) observer_->before(at);
    start = Start::kNew;
    const Error error = run(instructions_[at], next);
    scratch_->reset();
    if (error == Error::kOutOfMemory) {
      set_problem(problem_, instructions_[at].name, static_cast<int32_t>(at));
      set_missing(problem_, MemoryArena::kScratch, *scratch_);
      return error;
    }
    if (observer_ != nullptr) observer_->after(at);
    if (error != Error::kOk) {
      set_problem(problem_, instructions_[at].name, static_cast<int32_t>(at));
      return error;
    }
    if (next <= at && ++jumps_back > max_jumps_back_) {
      set_problem(problem_, "a loop without end", static_cast<int32_t>(at));
      return Error::kInvalidProgram;
    }
    at = next;
  }
  return Error::kOk;
}

std::string_view Method::instruction_name(size_t index) const {
  return index < instructions_.size() ? instructions_[index].name : std::string_view();
}

Arguments Method::instruction_arguments(size_t index) const {
  return index < instructions_.size() ? Arguments(instructions_[index].arguments) : Arguments();
}

bool Method::calls_delegate(size_t index) const {
  return index < instructions_.size() && instructions_[index].kind == Instruction::Kind::kDelegate;
}

}  // namespace carina::runtime
