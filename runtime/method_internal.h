#pragma once

#include <algorithm>

#include "runtime/delegate_state.h"
#include "runtime/format_internal.h"
#include "runtime/method.h"

namespace carina::runtime {

// A verified instruction with its arguments resolved to slots.
struct Method::Instruction {
  enum class Kind : uint8_t { kKernel, kDelegate, kMove, kJumpFalse, kFree };
  Kind kind = Kind::kFree;
  Kernel kernel = nullptr;
  size_t target = 0;             // kDelegate: index of the delegate; kJumpFalse: instruction to go to
  bool computes_number = false;  // writes a number of the table, not a tensor
  std::span<EValue*> arguments;
  std::string_view name;
};

// An entry of a list of integers whose value a kernel computes while the method runs.
struct Method::RuntimeNumber {
  int64_t* entry = nullptr;
  const EValue* value = nullptr;
};

// A state tensor whose initial value is not zeros.
struct Method::InitialValue {
  const EValue* value = nullptr;
  const std::byte* data = nullptr;
};

struct Method::Delegate {
  Backend* backend = nullptr;
  void* handle = nullptr;
};

inline void set_problem(Problem& problem, std::string_view name, int32_t instruction) {
  const size_t size = std::min(name.size(), sizeof(problem.name) - 1);
  std::copy_n(name.data(), size, problem.name);  // memcpy may not be given an empty name's nullptr
  problem.name[size] = '\0';
  problem.instruction = instruction;
}

inline void set_missing(Problem& problem, MemoryArena which, const Arena& arena) {
  problem.arena = which;
  problem.missing_bytes = arena.missing_bytes();
}

// Returns whether the bytes of a tensor are in external named data (.ptd).
inline bool is_external(const fb::Tensor& source) {
  return source.extra_tensor_info() != nullptr && source.extra_tensor_info()->location() == kPteExternalLocation;
}

// Returns whether a tensor is planned and has an initial value, which the program or a .ptd file holds.
inline bool has_initial_value(const fb::Tensor& source) {
  return source.allocation_info() != nullptr && (source.data_buffer_idx() != 0 || is_external(source));
}

// Returns whether the data are aligned for the type. A file may store a tensor at any offset.
inline bool is_aligned(const void* data, PteScalarType type) {
  return reinterpret_cast<uintptr_t>(data) % element_bytes(type) == 0;
}

// The name of a kernel: "namespace::op.overload", without the dot if there is no overload.
class KernelName {
 public:
  // Returns false if the name is longer than any of ExecuTorch's.
  bool assign(const fb::Operator& op) {
    const std::string_view base = text_of(op.name());
    const std::string_view overload = text_of(op.overload());
    if (base.size() + overload.size() + 1 > sizeof text_) return false;
    append(base);
    if (!overload.empty()) append(".");
    append(overload);
    return true;
  }
  [[nodiscard]] std::string_view view() const { return {text_, size_}; }

 private:
  void append(std::string_view part) {
    std::copy_n(part.data(), part.size(), text_ + size_);
    size_ += part.size();
  }
  char text_[128];
  size_t size_ = 0;
};

// Kernels whose result is a number in the value table.
inline bool is_computed_number(std::string_view name) {
  return (name.starts_with("executorch_prim::") && name.ends_with(".Scalar")) || name.ends_with(".int") ||
         name == "aten::sym_numel" || name == "aten::_local_scalar_dense";
}

// Loads a method from a program in steps, each of which may fail. Allocates from the method arena only.
class Method::Loader {
 public:
  Loader(Method& method, const Program& program, size_t index, const MemoryManager& memory, const Linkage& linkage,
         const DelegateState& state)
      : method_(method),
        program_(program),
        plan_(plan_of(program.file_, index)),
        memory_(memory),
        linkage_(linkage),
        state_(state) {}

  Error load();

 private:
  template <typename T>
  Error make(size_t count, std::span<T>& out) {
    T* elements = memory_.method->make_array<T>(count);
    if (elements == nullptr) return Error::kOutOfMemory;
    out = {elements, count};
    return Error::kOk;
  }
  [[nodiscard]] bool in_table(int64_t index) const {
    return index >= 0 && static_cast<uint64_t>(index) < method_.values_.size();
  }
  [[nodiscard]] const fb::EValue& source_of(int64_t value) const {
    return *plan_.values()->Get(static_cast<flatbuffers::uoffset_t>(value));
  }

  // load_values.cpp
  Error load_values();
  Error load_value(const fb::EValue& source, EValue& value);
  Error load_number_list(const fb::EValue& source, EValue& value);
  Error load_int_list(const flatbuffers::Vector<int64_t>* items, EValue& value);
  Error load_tensor_list(const flatbuffers::Vector<int32_t>* items, EValue& value);
  Error load_tensor(const fb::Tensor& source, EValue& value);
  Error place_tensor(const fb::Tensor& source, size_t value, Tensor& tensor);
  Error find_planned(const fb::AllocationDetails& allocation, size_t value, Tensor& tensor);
  Error find_external(const fb::Tensor& source, const Tensor& tensor, const std::byte*& data);
  Error load_initial_values();
  Error find_initial(const fb::Tensor& source, const Tensor& tensor, const std::byte*& data);

  // load.cpp
  Error load_delegates();
  Error load_delegate(const fb::BackendDelegate& source, Delegate& delegate);
  Error load_instructions();
  Error load_instruction(const fb::Instruction& source, Instruction& instruction, int32_t index, size_t instructions);
  Error load_kernel(const fb::KernelCall& call, Instruction& instruction, int32_t index);
  Error load_delegate_call(const fb::DelegateCall& call, Instruction& instruction);
  Error load_move(const fb::MoveCall& move, Instruction& instruction);
  Error load_jump(const fb::JumpFalseCall& jump, Instruction& instruction, size_t instructions);
  Error load_numbers();
  Error load_arguments(std::span<const int32_t> indices, Instruction& instruction);

  // state.cpp
  void find_state();
  void find_state_of(size_t instruction) const;
  void mark_read(Tensor& tensor, size_t instruction) const;
  [[nodiscard]] bool is_known(const Tensor& tensor, size_t end) const;
  static size_t first_written(const Instruction& instruction);

  Method& method_;
  const Program& program_;
  const fb::ExecutionPlan& plan_;
  const MemoryManager& memory_;
  const Linkage& linkage_;
  const DelegateState& state_;
};

}  // namespace carina::runtime
