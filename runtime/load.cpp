// Method::load(): resolves the delegates and instructions of a program to kernels, backends and slots of the value
// table.
#include <algorithm>

#include "runtime/method_internal.h"

namespace carina::runtime {

namespace {

const KernelEntry* kernel_of(std::span<const KernelEntry> kernels, std::string_view name) {
  const auto found = std::lower_bound(kernels.begin(), kernels.end(), name,
                                      [](const KernelEntry& entry, std::string_view n) { return entry.name < n; });
  return found == kernels.end() || found->name != name ? nullptr : &*found;
}

}  // namespace

Error Method::Loader::load_delegate(const fb::BackendDelegate& source, Delegate& delegate) {
  const std::string_view id = text_of(source.id());
  set_problem(method_.problem_, id, -1);
  const auto found = std::find_if(linkage_.backends.begin(), linkage_.backends.end(),
                                  [id](const Backend* backend) { return backend->serves(id); });
  if (found == linkage_.backends.end()) return Error::kBackendMissing;
  std::span<const std::byte> blob;
  if (!program_.blob(source, blob)) return Error::kInvalidProgram;
  std::span<CompileSpec> specs;
  CARINA_RT_TRY(make(source.compile_specs() == nullptr ? 0 : source.compile_specs()->size(), specs));
  for (size_t i = 0; i < specs.size(); ++i) {
    const fb::CompileSpec* spec = source.compile_specs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    specs[i] = {.key = text_of(spec->key()), .value = std::as_bytes(items_of(spec->value()))};
  }
  delegate.backend = *found;
  CARINA_RT_TRY(delegate.backend->init(blob, specs, *memory_.method, &delegate.handle));
  method_.problem_ = {};
  return Error::kOk;
}

Error Method::Loader::load_delegates() {
  CARINA_RT_TRY(make(plan_.delegates() == nullptr ? 0 : plan_.delegates()->size(), method_.delegates_));
  for (size_t i = 0; i < method_.delegates_.size(); ++i) {
    const fb::BackendDelegate* source = plan_.delegates()->Get(static_cast<flatbuffers::uoffset_t>(i));
    CARINA_RT_TRY(load_delegate(*source, method_.delegates_[i]));
  }
  return Error::kOk;
}

Error Method::Loader::load_arguments(std::span<const int32_t> indices, Instruction& instruction) {
  CARINA_RT_TRY(make(indices.size(), instruction.arguments));
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!in_table(indices[i])) return Error::kInvalidProgram;
    instruction.arguments[i] = &method_.values_[static_cast<size_t>(indices[i])];
  }
  return Error::kOk;
}

Error Method::Loader::load_kernel(const fb::KernelCall& call, Instruction& instruction, int32_t index) {
  if (plan_.operators() == nullptr || call.op_index() < 0 ||
      static_cast<size_t>(call.op_index()) >= plan_.operators()->size())
    return Error::kInvalidProgram;
  KernelName name;
  if (!name.assign(*plan_.operators()->Get(static_cast<flatbuffers::uoffset_t>(call.op_index()))))
    return Error::kInvalidProgram;
  const KernelEntry* entry = kernel_of(linkage_.kernels, name.view());
  if (entry == nullptr) {
    set_problem(method_.problem_, name.view(), index);
    return Error::kOperatorMissing;
  }
  instruction.kind = Instruction::Kind::kKernel;
  instruction.kernel = entry->kernel;
  instruction.name = entry->name;
  CARINA_RT_TRY(load_arguments(items_of(call.args()), instruction));
  const EValue* last = instruction.arguments.empty() ? nullptr : instruction.arguments.back();
  instruction.computes_number = last != nullptr && is_computed_number(entry->name);
  return Error::kOk;
}

Error Method::Loader::load_delegate_call(const fb::DelegateCall& call, Instruction& instruction) {
  if (call.delegate_index() < 0 || static_cast<size_t>(call.delegate_index()) >= method_.delegates_.size())
    return Error::kInvalidProgram;
  instruction.kind = Instruction::Kind::kDelegate;
  instruction.target = static_cast<size_t>(call.delegate_index());
  instruction.name = method_.delegates_[instruction.target].backend->id();
  return load_arguments(items_of(call.args()), instruction);
}

Error Method::Loader::load_move(const fb::MoveCall& move, Instruction& instruction) {
  const int32_t slots[] = {move.move_from(), move.move_to()};
  instruction.kind = Instruction::Kind::kMove;
  return load_arguments(slots, instruction);
}

Error Method::Loader::load_jump(const fb::JumpFalseCall& jump, Instruction& instruction, size_t instructions) {
  if (jump.destination_instruction() < 0 || static_cast<size_t>(jump.destination_instruction()) > instructions)
    return Error::kInvalidProgram;
  const int32_t slots[] = {jump.cond_value_index()};
  instruction.kind = Instruction::Kind::kJumpFalse;
  instruction.target = static_cast<size_t>(jump.destination_instruction());
  return load_arguments(slots, instruction);
}

Error Method::Loader::load_instruction(const fb::Instruction& source, Instruction& instruction, int32_t index,
                                       size_t instructions) {
  if (source.instr_args() == nullptr) return Error::kInvalidProgram;
  switch (source.instr_args_type()) {
    case fb::InstructionArguments::KernelCall:
      return load_kernel(*source.instr_args_as_KernelCall(), instruction, index);
    case fb::InstructionArguments::DelegateCall:
      return load_delegate_call(*source.instr_args_as_DelegateCall(), instruction);
    case fb::InstructionArguments::MoveCall:
      return load_move(*source.instr_args_as_MoveCall(), instruction);
    case fb::InstructionArguments::JumpFalseCall:
      return load_jump(*source.instr_args_as_JumpFalseCall(), instruction, instructions);
    case fb::InstructionArguments::FreeCall:
      instruction.kind = Instruction::Kind::kFree;
      return Error::kOk;
    case fb::InstructionArguments::NONE:
      break;
  }
  return Error::kInvalidProgram;
}

Error Method::Loader::load_instructions() {
  if (plan_.chains() == nullptr || plan_.chains()->size() == 0) return Error::kOk;
  if (plan_.chains()->size() > 1) return Error::kNotSupported;
  const auto* list = plan_.chains()->Get(0)->instructions();
  const size_t count = list == nullptr ? 0 : list->size();
  CARINA_RT_TRY(make(count, method_.instructions_));
  for (size_t i = 0; i < count; ++i) {
    CARINA_RT_TRY(load_instruction(*list->Get(static_cast<flatbuffers::uoffset_t>(i)), method_.instructions_[i],
                                   static_cast<int32_t>(i), count));
  }
  return Error::kOk;
}

// If kernels compute numbers, lists may contain them. Then the entries of all lists are stored with their values.
Error Method::Loader::load_numbers() {
  const auto computes = [](const Instruction& instruction) { return instruction.computes_number; };
  if (std::ranges::none_of(method_.instructions_, computes)) return Error::kOk;
  size_t count = 0;
  for (const EValue& value : method_.values_) count += value.kind == EValue::Kind::kIntList ? value.integers.size() : 0;
  CARINA_RT_TRY(make(count, method_.numbers_));
  size_t next = 0;
  for (size_t i = 0; i < method_.values_.size(); ++i) {
    const EValue& value = method_.values_[i];
    if (value.kind != EValue::Kind::kIntList) continue;
    const auto items = items_of(source_of(static_cast<int64_t>(i)).val_as_IntList()->items());
    for (size_t k = 0; k < items.size(); ++k) {
      method_.numbers_[next++] = {.entry = const_cast<int64_t*>(&value.integers[k]),  // in the method arena
                                  .value = &method_.values_[static_cast<size_t>(items[k])]};
    }
  }
  return Error::kOk;
}

Error Method::Loader::load() {
  CARINA_RT_TRY(load_values());
  CARINA_RT_TRY(load_delegates());
  CARINA_RT_TRY(load_instructions());
  CARINA_RT_TRY(load_numbers());
  find_state();
  if (linkage_.rewriter != nullptr) {
    MethodCalls calls(method_);
    linkage_.rewriter->rewrite(calls);
  }
  return Error::kOk;
}

Error Method::load(const Program& program, size_t method, const MemoryManager& memory, const Linkage& linkage) {
  *this = Method();
  if (method >= program.methods()) return Error::kInvalidArgument;
  if (memory.method == nullptr || memory.scratch == nullptr) return Error::kInvalidArgument;
  if (memory.planned.size() < program.planned_buffers(method)) return Error::kInvalidArgument;
  DelegateState state;
  if (!memory.delegate.empty()) {
    state = DelegateState(program, method, linkage.backends);
    if (state.scratch_bytes() == 0 || memory.delegate.size() < state.scratch_bytes()) return Error::kInvalidArgument;
  }
  for (size_t i = 0; i < program.planned_buffers(method); ++i) {
    const size_t wanted = state.scratch_bytes() > 0 ? state.planned_bytes(i) : program.planned_buffer_bytes(method, i);
    if (memory.planned[i].size() >= wanted) continue;
    problem_.arena = MemoryArena::kPlanned;
    problem_.planned_buffer = static_cast<uint32_t>(i);
    problem_.missing_bytes = wanted - memory.planned[i].size();
    return Error::kOutOfMemory;
  }
  scratch_ = memory.scratch;
  delegate_memory_ = memory.delegate.first(state.scratch_bytes());
  plan_ = &plan_of(program.file_, method);
  const Error error = Loader(*this, program, method, memory, linkage, state).load();
  if (error != Error::kOk) {  // leaves no partially loaded method
    Problem problem = problem_;
    if (error == Error::kOutOfMemory) set_missing(problem, MemoryArena::kMethod, *memory.method);
    *this = Method();
    problem_ = problem;
  }
  loaded_ = error == Error::kOk;
  return error;
}

}  // namespace carina::runtime
