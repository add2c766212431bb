#include "runtime/method.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstring>

#include "program_generated.h"
#include "runtime/format_internal.h"

namespace carina::runtime {

// A verified instruction with its arguments resolved to slots.
struct Method::Instruction {
  enum class Kind : uint8_t { kKernel, kDelegate, kMove, kJumpFalse, kFree };
  Kind kind = Kind::kFree;
  Kernel kernel = nullptr;
  size_t target = 0;  // kDelegate: index of the delegate; kJumpFalse: instruction to go to
  std::span<EValue*> arguments;
  std::string_view name;
};

struct Method::Delegate {
  Backend* backend = nullptr;
  void* handle = nullptr;
};

namespace {

constexpr size_t kMaxNameBytes = 127;  // of "namespace::op.overload"; longer names are not ExecuTorch's

std::string_view text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

// A file may place a tensor anywhere.
bool is_aligned(const void* data, PteScalarType type) {
  return reinterpret_cast<uintptr_t>(data) % element_bytes(type) == 0;
}

bool is_permutation(std::span<const uint8_t> order) {
  uint32_t seen = 0;
  for (const uint8_t axis : order) {
    if (axis >= order.size() || (seen >> axis & 1) != 0) return false;
    seen |= 1U << axis;
  }
  return true;
}

}  // namespace

// Load in steps, each of which may fail; allocates from the method arena only.
struct Method::Loader {
  Method& method;
  const Program& program;
  const fb::ExecutionPlan& plan;
  const MemoryManager& memory;
  const Linkage& linkage;

  void set_problem(std::string_view name, int32_t instruction) {
    const size_t size = std::min(name.size(), sizeof(method.problem_.name) - 1);
    std::copy_n(name.data(), size, method.problem_.name);  // memcpy may not be given an empty name's nullptr
    method.problem_.name[size] = '\0';
    method.problem_.instruction = instruction;
  }

  template <typename T>
  Error make(size_t count, std::span<T>& out) {
    T* elements = memory.method->make_array<T>(count);
    if (elements == nullptr) return Error::kOutOfMemory;
    out = {elements, count};
    return Error::kOk;
  }

  [[nodiscard]] bool in_table(int64_t index) const {
    return index >= 0 && static_cast<uint64_t>(index) < method.values_.size();
  }

  Error load_tensor(const fb::Tensor& source, Tensor& tensor) {
    tensor.type = static_cast<PteScalarType>(source.scalar_type());
    tensor.sizes = items_of(source.sizes());
    tensor.dim_order = items_of(source.dim_order());
    size_t bytes = element_bytes(tensor.type);
    if (bytes == 0 || tensor.rank() > 16 || tensor.dim_order.size() != tensor.rank() ||
        !is_permutation(tensor.dim_order) || source.storage_offset() != 0) {
      return Error::kInvalidProgram;
    }
    // Empty dimensions count as 1 here, so that strides cannot overflow either.
    bool empty = false;
    for (const int32_t size : tensor.sizes) {
      empty |= size == 0;
      if (size < 0 || __builtin_mul_overflow(bytes, std::max<size_t>(static_cast<size_t>(size), 1), &bytes) ||
          bytes > SIZE_MAX / 2)
        return Error::kInvalidProgram;
    }
    bytes = empty ? 0 : bytes;
    tensor.bytes = bytes;
    if (const fb::AllocationDetails* allocation = source.allocation_info()) {
      const size_t buffer = allocation->memory_id();
      const uint64_t offset = uint64_t{allocation->memory_offset_high()} << 32 | allocation->memory_offset_low();
      if (buffer < 1 || buffer > memory.planned.size()) return Error::kInvalidProgram;
      const std::span<std::byte> planned = memory.planned[buffer - 1];
      if (offset > planned.size() || bytes > planned.size() - offset) return Error::kInvalidProgram;
      tensor.data = planned.data() + offset;
      if (!is_aligned(tensor.data, tensor.type)) return Error::kInvalidProgram;
      return source.data_buffer_idx() == 0 ? Error::kOk : Error::kNotSupported;  // mutable data with initial values
    }
    if (source.data_buffer_idx() == 0) return Error::kOk;  // the caller's
    const std::byte* data = nullptr;
    if (!program.constant(source.data_buffer_idx(), bytes, data)) return Error::kInvalidProgram;
    tensor.data = const_cast<std::byte*>(data);
    tensor.read_only = true;
    if (!is_aligned(data, tensor.type)) return Error::kInvalidProgram;
    return Error::kOk;
  }

  Error load_int_list(const flatbuffers::Vector<int64_t>* items, EValue& value) {
    if (!has_aligned_items(items)) return Error::kInvalidProgram;
    std::span<int64_t> numbers;
    CARINA_RT_TRY(make(items_of(items).size(), numbers));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const int64_t index = items_of(items)[i];
      if (!in_table(index)) return Error::kInvalidProgram;
      const auto* slot = plan.values()->Get(static_cast<flatbuffers::uoffset_t>(index));
      if (slot->val_type() != fb::KernelTypes::Int || slot->val() == nullptr) return Error::kInvalidProgram;
      numbers[i] = slot->val_as_Int()->int_val();
    }
    value.kind = EValue::Kind::kIntList;
    value.integers = numbers;
    return Error::kOk;
  }

  Error load_tensor_list(const flatbuffers::Vector<int32_t>* items, EValue& value) {
    std::span<EValue*> slots;
    CARINA_RT_TRY(make(items_of(items).size(), slots));
    for (size_t i = 0; i < slots.size(); ++i) {
      const int32_t index = items_of(items)[i];
      if (index == -1) continue;
      if (!in_table(index) ||
          plan.values()->Get(static_cast<flatbuffers::uoffset_t>(index))->val_type() != fb::KernelTypes::Tensor)
        return Error::kInvalidProgram;
      slots[i] = &method.values_[static_cast<size_t>(index)];
    }
    value.kind = EValue::Kind::kTensorList;
    value.tensors = slots;
    return Error::kOk;
  }

  Error load_value(const fb::EValue& source, EValue& value) {
    using Kind = EValue::Kind;
    if (source.val_type() != fb::KernelTypes::NONE && source.val() == nullptr) return Error::kInvalidProgram;
    switch (source.val_type()) {
      case fb::KernelTypes::NONE:
      case fb::KernelTypes::Null:
        return Error::kOk;
      case fb::KernelTypes::Int:
        value.kind = Kind::kInt;
        value.integer = source.val_as_Int()->int_val();
        return Error::kOk;
      case fb::KernelTypes::Bool:
        value.kind = Kind::kBool;
        value.boolean = source.val_as_Bool()->bool_val();
        return Error::kOk;
      case fb::KernelTypes::Double:
        value.kind = Kind::kDouble;
        value.number = source.val_as_Double()->double_val();
        return Error::kOk;
      case fb::KernelTypes::String:
        value.kind = Kind::kString;
        value.text = text_of(source.val_as_String()->string_val()).data();
        return value.text == nullptr ? Error::kInvalidProgram : Error::kOk;
      case fb::KernelTypes::Tensor:
        value.kind = Kind::kTensor;
        return load_tensor(*source.val_as_Tensor(), value.tensor);
      case fb::KernelTypes::IntList:
        return load_int_list(source.val_as_IntList()->items(), value);
      case fb::KernelTypes::DoubleList:
        if (!has_aligned_items(source.val_as_DoubleList()->items())) return Error::kInvalidProgram;
        value.kind = Kind::kDoubleList;
        value.numbers = items_of(source.val_as_DoubleList()->items());
        return Error::kOk;
      case fb::KernelTypes::BoolList:
        value.kind = Kind::kBoolList;
        value.booleans = items_of(source.val_as_BoolList()->items());
        return Error::kOk;
      case fb::KernelTypes::TensorList:
        return load_tensor_list(source.val_as_TensorList()->items(), value);
      case fb::KernelTypes::OptionalTensorList:
        return load_tensor_list(source.val_as_OptionalTensorList()->items(), value);
    }
    return Error::kInvalidProgram;
  }

  Error load_values() {
    CARINA_RT_TRY(make(plan.values() == nullptr ? 0 : plan.values()->size(), method.values_));
    for (size_t i = 0; i < method.values_.size(); ++i) {
      const auto* value = plan.values()->Get(static_cast<flatbuffers::uoffset_t>(i));
      CARINA_RT_TRY(load_value(*value, method.values_[i]));
    }
    method.inputs_ = items_of(plan.inputs());
    method.outputs_ = items_of(plan.outputs());
    for (const std::span<const int32_t> list : {method.inputs_, method.outputs_}) {
      for (const int32_t index : list) {
        if (!in_table(index)) return Error::kInvalidProgram;
      }
    }
    return Error::kOk;
  }

  Error load_delegate(const fb::BackendDelegate& source, Delegate& delegate) {
    const std::string_view id = text_of(source.id());
    const auto found = std::find_if(linkage.backends.begin(), linkage.backends.end(),
                                    [id](const Backend* b) { return b->id() == id; });
    if (found == linkage.backends.end()) {
      set_problem(id, -1);
      return Error::kBackendMissing;
    }
    std::span<const std::byte> blob;
    const fb::BackendDelegateDataReference* reference = source.processed();
    if (reference == nullptr) return Error::kInvalidProgram;
    if (reference->location() == 1) {
      if (!program.segment(reference->index(), blob)) return Error::kInvalidProgram;
    } else {
      const auto* all = root_of(program.file_).backend_delegate_data();
      if (all == nullptr || reference->index() >= all->size()) return Error::kInvalidProgram;
      blob = std::as_bytes(items_of(all->Get(reference->index())->data()));
    }
    std::span<CompileSpec> specs;
    CARINA_RT_TRY(make(source.compile_specs() == nullptr ? 0 : source.compile_specs()->size(), specs));
    for (size_t i = 0; i < specs.size(); ++i) {
      const fb::CompileSpec* spec = source.compile_specs()->Get(static_cast<flatbuffers::uoffset_t>(i));
      specs[i] = {.key = text_of(spec->key()), .value = std::as_bytes(items_of(spec->value()))};
    }
    delegate.backend = *found;
    const Error error = delegate.backend->init(blob, specs, *memory.method, &delegate.handle);
    if (error != Error::kOk) set_problem(id, -1);
    return error;
  }

  Error load_delegates() {
    CARINA_RT_TRY(make(plan.delegates() == nullptr ? 0 : plan.delegates()->size(), method.delegates_));
    for (size_t i = 0; i < method.delegates_.size(); ++i) {
      CARINA_RT_TRY(
          load_delegate(*plan.delegates()->Get(static_cast<flatbuffers::uoffset_t>(i)), method.delegates_[i]));
    }
    return Error::kOk;
  }

  Error load_arguments(std::span<const int32_t> indices, Instruction& instruction) {
    CARINA_RT_TRY(make(indices.size(), instruction.arguments));
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!in_table(indices[i])) return Error::kInvalidProgram;
      instruction.arguments[i] = &method.values_[static_cast<size_t>(indices[i])];
    }
    return Error::kOk;
  }

  Error load_kernel(const fb::KernelCall& call, Instruction& instruction, int32_t index) {
    if (plan.operators() == nullptr || call.op_index() < 0 ||
        static_cast<size_t>(call.op_index()) >= plan.operators()->size())
      return Error::kInvalidProgram;
    const fb::Operator* op = plan.operators()->Get(static_cast<flatbuffers::uoffset_t>(call.op_index()));
    const std::string_view base = text_of(op->name());
    const std::string_view overload = text_of(op->overload());
    if (base.size() + overload.size() + 1 > kMaxNameBytes) return Error::kInvalidProgram;
    char name[kMaxNameBytes + 1];
    std::copy_n(base.data(), base.size(), name);
    size_t size = base.size();
    if (!overload.empty()) {
      name[size++] = '.';
      std::copy_n(overload.data(), overload.size(), name + size);
      size += overload.size();
    }
    const std::string_view wanted(name, size);
    const auto found = std::lower_bound(linkage.kernels.begin(), linkage.kernels.end(), wanted,
                                        [](const KernelEntry& e, std::string_view n) { return e.name < n; });
    if (found == linkage.kernels.end() || found->name != wanted) {
      set_problem(wanted, index);
      return Error::kOperatorMissing;
    }
    instruction.kind = Instruction::Kind::kKernel;
    instruction.kernel = found->kernel;
    instruction.name = found->name;
    return load_arguments(items_of(call.args()), instruction);
  }

  Error load_instruction(const fb::Instruction& source, Instruction& instruction, int32_t index, size_t instructions) {
    using Kind = Instruction::Kind;
    if (source.instr_args() == nullptr) return Error::kInvalidProgram;
    switch (source.instr_args_type()) {
      case fb::InstructionArguments::KernelCall:
        return load_kernel(*source.instr_args_as_KernelCall(), instruction, index);
      case fb::InstructionArguments::DelegateCall: {
        const fb::DelegateCall* call = source.instr_args_as_DelegateCall();
        if (call->delegate_index() < 0 || static_cast<size_t>(call->delegate_index()) >= method.delegates_.size())
          return Error::kInvalidProgram;
        instruction.kind = Kind::kDelegate;
        instruction.target = static_cast<size_t>(call->delegate_index());
        instruction.name = method.delegates_[instruction.target].backend->id();
        return load_arguments(items_of(call->args()), instruction);
      }
      case fb::InstructionArguments::MoveCall: {
        const int32_t slots[] = {source.instr_args_as_MoveCall()->move_from(),
                                 source.instr_args_as_MoveCall()->move_to()};
        instruction.kind = Kind::kMove;
        return load_arguments(slots, instruction);
      }
      case fb::InstructionArguments::JumpFalseCall: {
        const fb::JumpFalseCall* jump = source.instr_args_as_JumpFalseCall();
        if (jump->destination_instruction() <= index) return Error::kNotSupported;  // a loop, which might never end
        if (static_cast<size_t>(jump->destination_instruction()) > instructions) return Error::kInvalidProgram;
        const int32_t slots[] = {jump->cond_value_index()};
        instruction.kind = Kind::kJumpFalse;
        instruction.target = static_cast<size_t>(jump->destination_instruction());
        return load_arguments(slots, instruction);
      }
      case fb::InstructionArguments::FreeCall:
        instruction.kind = Kind::kFree;
        return Error::kOk;
      case fb::InstructionArguments::NONE:
        break;
    }
    return Error::kInvalidProgram;
  }

  Error load_instructions() {
    if (plan.chains() == nullptr || plan.chains()->size() == 0) return Error::kOk;
    if (plan.chains()->size() > 1) return Error::kNotSupported;
    const auto* list = plan.chains()->Get(0)->instructions();
    const size_t count = list == nullptr ? 0 : list->size();
    CARINA_RT_TRY(make(count, method.instructions_));
    for (size_t i = 0; i < count; ++i) {
      CARINA_RT_TRY(load_instruction(*list->Get(static_cast<flatbuffers::uoffset_t>(i)), method.instructions_[i],
                                     static_cast<int32_t>(i), count));
    }
    return Error::kOk;
  }

  Error load() {
    CARINA_RT_TRY(load_values());
    CARINA_RT_TRY(load_delegates());
    return load_instructions();
  }
};

Error Method::load(const Program& program, size_t method, const MemoryManager& memory, const Linkage& linkage) {
  *this = Method();
  if (method >= program.methods()) return Error::kInvalidArgument;
  scratch_ = memory.scratch;
  const fb::ExecutionPlan& plan =
      *root_of(program.file_).execution_plan()->Get(static_cast<flatbuffers::uoffset_t>(method));
  if (memory.planned.size() < program.planned_buffers(method)) return Error::kInvalidArgument;
  for (size_t i = 0; i < program.planned_buffers(method); ++i) {
    if (memory.planned[i].size() < program.planned_buffer_bytes(method, i)) return Error::kOutOfMemory;
  }
  Loader loader{.method = *this, .program = program, .plan = plan, .memory = memory, .linkage = linkage};
  const Error error = loader.load();
  if (error != Error::kOk) {  // nothing half loaded stays
    const Problem problem = problem_;
    *this = Method();
    problem_ = problem;
  }
  return error;
}

Error Method::set_input(size_t index, std::span<const std::byte> bytes) {
  if (index >= inputs_.size()) return Error::kInvalidArgument;
  EValue& value = values_[static_cast<size_t>(inputs_[index])];
  if (!value.is_tensor() || value.tensor.bytes != bytes.size()) return Error::kInvalidArgument;
  if (value.tensor.read_only) return Error::kInvalidArgument;
  if (value.tensor.data == nullptr) {
    if (!is_aligned(bytes.data(), value.tensor.type)) return Error::kInvalidArgument;
    value.tensor.data = const_cast<std::byte*>(bytes.data());
  } else if (!bytes.empty()) {
    std::memcpy(value.tensor.data, bytes.data(), bytes.size());
  }
  return Error::kOk;
}

namespace {

// A condition is a Bool, or a bool tensor of one element.
bool is_false(const EValue& condition) {
  if (condition.is_tensor()) return condition.tensor.bytes > 0 && *condition.tensor.as<uint8_t>() == 0;
  return condition.to_int() == 0;
}

}  // namespace

Error Method::execute() {
  using Kind = Instruction::Kind;
  problem_ = {};
  for (size_t at = 0; at < instructions_.size();) {
    const Instruction& instruction = instructions_[at];
    Error error = Error::kOk;
    size_t next = at + 1;
    switch (instruction.kind) {
      case Kind::kKernel:
        error = instruction.kernel(instruction.arguments, *scratch_);
        break;
      case Kind::kDelegate: {
        const Delegate& delegate = delegates_[instruction.target];
        error = delegate.backend->execute(delegate.handle, instruction.arguments, *scratch_);
        break;
      }
      case Kind::kMove:
        *instruction.arguments[1] = *instruction.arguments[0];
        break;
      case Kind::kJumpFalse:
        if (is_false(*instruction.arguments[0])) next = instruction.target;
        break;
      case Kind::kFree:
        break;
    }
    scratch_->reset();
    if (error != Error::kOk) {
      const size_t size = std::min(instruction.name.size(), sizeof(problem_.name) - 1);
      std::copy_n(instruction.name.data(), size, problem_.name);
      problem_.instruction = static_cast<int32_t>(at);
      return error;
    }
    at = next;
  }
  return Error::kOk;
}

std::string_view Method::instruction_name(size_t index) const {
  return instructions_[index].name;
}

bool Method::calls_delegate(size_t index) const {
  return instructions_[index].kind == Instruction::Kind::kDelegate;
}

}  // namespace carina::runtime
