#include "runtime/delegate_state.h"

#include <algorithm>

#include "facts/executorch.h"
#include "runtime/evalue.h"
#include "runtime/format_internal.h"

namespace carina::runtime {

namespace {

bool overlaps(uint64_t first, uint64_t bytes, uint64_t other, uint64_t other_bytes) {
  return first < other + other_bytes && other < first + bytes;
}

// The only call of a delegate. nullptr: there is none, there are several, or instructions may run twice.
const fb::DelegateCall* only_call(const fb::ExecutionPlan& plan) {
  if (plan.chains() == nullptr || plan.chains()->size() != 1 || plan.chains()->Get(0)->instructions() == nullptr)
    return nullptr;
  const fb::DelegateCall* found = nullptr;
  for (const fb::Instruction* instruction : *plan.chains()->Get(0)->instructions()) {
    if (instruction->instr_args() == nullptr || instruction->instr_args_as_MoveCall() != nullptr ||
        instruction->instr_args_as_JumpFalseCall() != nullptr)
      return nullptr;
    const fb::DelegateCall* call = instruction->instr_args_as_DelegateCall();
    if (call == nullptr) continue;
    if (found != nullptr) return nullptr;
    found = call;
  }
  return found;
}

bool has(std::span<const int32_t> list, size_t value) {
  return std::ranges::find(list, static_cast<int32_t>(value)) != list.end();
}

const fb::BackendDelegate* delegate_of(const fb::ExecutionPlan& plan, const fb::DelegateCall& call) {
  if (plan.delegates() == nullptr || call.delegate_index() < 0 ||
      static_cast<size_t>(call.delegate_index()) >= plan.delegates()->size())
    return nullptr;
  return plan.delegates()->Get(static_cast<flatbuffers::uoffset_t>(call.delegate_index()));
}

// The bytes of a planned tensor; 0 for sizes or a type that Method::load() rejects.
uint64_t bytes_of(const fb::Tensor& tensor) {
  uint64_t bytes = element_bytes(static_cast<PteScalarType>(tensor.scalar_type()));
  for (const int32_t size : items_of(tensor.sizes())) {
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) return 0;
  }
  return bytes;
}

uint64_t offset_of(const fb::AllocationDetails& allocation) {
  return uint64_t{allocation.memory_offset_high()} << 32 | allocation.memory_offset_low();
}

bool is_named(const fb::Tensor& tensor) {
  return tensor.extra_tensor_info() != nullptr && tensor.extra_tensor_info()->fully_qualified_name() != nullptr;
}

}  // namespace

struct DelegateState::Ends {
  ArgumentPlace before;
  ArgumentPlace after;
};

DelegateState::DelegateState(const Program& program, size_t method, PlaceOf place_of)
    : program_(&program), method_(method) {
  find_all(place_of);
}

DelegateState::DelegateState(const Program& program, size_t method, std::span<Backend* const> backends)
    : program_(&program), method_(method) {
  const fb::ExecutionPlan& plan = plan_of(program.file_, method);
  const fb::DelegateCall* call = only_call(plan);
  const fb::BackendDelegate* delegate = call == nullptr ? nullptr : delegate_of(plan, *call);
  if (delegate == nullptr) return;
  const auto found =
      std::ranges::find_if(backends, [&](const Backend* backend) { return backend->serves(text_of(delegate->id())); });
  if (found != backends.end()) find_all((*found)->place_of());
}

void DelegateState::find_all(PlaceOf place_of) {
  const fb::ExecutionPlan& plan = plan_of(program_->file_, method_);
  call_ = only_call(plan);
  const fb::BackendDelegate* delegate = call_ == nullptr ? nullptr : delegate_of(plan, *call_);
  place_of_ = place_of;
  if (delegate == nullptr || place_of_ == nullptr || plan.values() == nullptr || !program_->blob(*delegate, blob_)) {
    call_ = nullptr;
    return;
  }
  for (size_t value = 0; value < plan.values()->size(); ++value) {
    Ends ends;
    if (!is_own(value) || !ends_of(value, ends) || collides(value, ends)) continue;
    scratch_bytes_ = ends.before.scratch_bytes;
    state_bytes_ += ends.before.bytes;
    moved_bytes_ += ends.before.offset == ends.after.offset ? 0 : ends.before.bytes;
  }
}

bool DelegateState::find(size_t value, size_t& offset) const {
  Ends ends;
  if (scratch_bytes_ == 0 || !is_own(value) || !ends_of(value, ends) || collides(value, ends)) return false;
  offset = ends.before.offset;
  return true;
}

// Returns whether a value is a planned state that only the delegate has.
bool DelegateState::is_own(size_t value) const {
  const fb::ExecutionPlan& plan = plan_of(program_->file_, method_);
  const auto& values = *plan.values();
  const fb::Tensor* state = values.Get(static_cast<flatbuffers::uoffset_t>(value))->val_as_Tensor();
  if (state == nullptr || state->allocation_info() == nullptr || !is_named(*state) ||
      state->shape_dynamism() != kPteStaticShape || bytes_of(*state) == 0)
    return false;
  const fb::AllocationDetails& place = *state->allocation_info();
  if (place.memory_id() > 1 && program_->methods() > 1) return false;  // a buffer that methods share
  if (has(items_of(plan.inputs()), value) || has(items_of(plan.outputs()), value)) return false;
  for (const fb::Instruction* instruction : *plan.chains()->Get(0)->instructions()) {
    const fb::KernelCall* kernel = instruction->instr_args_as_KernelCall();
    if (kernel != nullptr && has(items_of(kernel->args()), value)) return false;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const fb::EValue& other = *values.Get(static_cast<flatbuffers::uoffset_t>(i));
    if (other.val() == nullptr) continue;
    const fb::TensorList* list = other.val_as_TensorList();
    const fb::OptionalTensorList* some = other.val_as_OptionalTensorList();
    if (list != nullptr && has(items_of(list->items()), value)) return false;
    if (some != nullptr && has(items_of(some->items()), value)) return false;
    const fb::Tensor* tensor = other.val_as_Tensor();
    if (i == value || tensor == nullptr || tensor->allocation_info() == nullptr) continue;
    const fb::AllocationDetails& taken = *tensor->allocation_info();
    if (taken.memory_id() == place.memory_id() &&
        overlaps(offset_of(place), bytes_of(*state), offset_of(taken), bytes_of(*tensor)))
      return false;
  }
  return true;
}

// Finds the places of a state that is once among the inputs and once among the outputs, as a whole.
bool DelegateState::ends_of(size_t value, Ends& ends) const {
  const std::span<const int32_t> arguments = items_of(call_->args());
  if (std::ranges::count(arguments, static_cast<int32_t>(value)) != 2) return false;
  bool is_read = false, is_written = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != static_cast<int32_t>(value)) continue;
    ArgumentPlace place;
    if (!place_of_(blob_, i, place)) return false;
    (place.is_output ? is_written : is_read) = true;
    (place.is_output ? ends.after : ends.before) = place;
  }
  const fb::Tensor& state =
      *plan_of(program_->file_, method_).values()->Get(static_cast<flatbuffers::uoffset_t>(value))->val_as_Tensor();
  const uint64_t bytes = bytes_of(state);
  return is_read && is_written && ends.before.bytes == bytes && ends.after.bytes == bytes &&
         ends.before.offset % element_bytes(static_cast<PteScalarType>(state.scalar_type())) == 0;
}

// Returns whether copies of other arguments overwrite the place of a state. A next state that is moved may overwrite
// results that are copied to other memory before, but no other next state.
bool DelegateState::collides(size_t value, const Ends& ends) const {
  const bool is_moved = ends.before.offset != ends.after.offset;
  const std::span<const int32_t> arguments = items_of(call_->args());
  for (size_t i = 0; i < arguments.size(); ++i) {
    ArgumentPlace place;
    if (arguments[i] == static_cast<int32_t>(value) || !place_of_(blob_, i, place)) continue;
    if (!overlaps(ends.before.offset, ends.before.bytes, place.offset, place.bytes)) continue;
    const fb::Tensor* tensor = nullptr;
    const auto& values = *plan_of(program_->file_, method_).values();
    if (arguments[i] >= 0 && static_cast<size_t>(arguments[i]) < values.size())
      tensor = values.Get(static_cast<flatbuffers::uoffset_t>(arguments[i]))->val_as_Tensor();
    const bool is_state = tensor != nullptr && is_named(*tensor);
    if (!place.is_output || !is_moved || is_state) return true;
  }
  return false;
}

size_t DelegateState::planned_bytes(size_t buffer) const {
  const size_t all = program_->planned_buffer_bytes(method_, buffer);
  if (scratch_bytes_ == 0) return all;
  uint64_t needed = 0;
  bool is_smaller = false;
  const auto& values = *plan_of(program_->file_, method_).values();
  for (size_t i = 0; i < values.size(); ++i) {
    const fb::Tensor* tensor = values.Get(static_cast<flatbuffers::uoffset_t>(i))->val_as_Tensor();
    if (tensor == nullptr || tensor->allocation_info() == nullptr ||
        tensor->allocation_info()->memory_id() != buffer + 1)
      continue;
    size_t offset = 0;
    if (find(i, offset)) {
      is_smaller = true;
      continue;
    }
    needed = std::max(needed, offset_of(*tensor->allocation_info()) + bytes_of(*tensor));
  }
  return is_smaller ? static_cast<size_t>(std::min<uint64_t>(needed, all)) : all;
}

}  // namespace carina::runtime
