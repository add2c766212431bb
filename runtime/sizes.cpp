#include "runtime/sizes.h"

#include <algorithm>
#include <array>

#include "facts/executorch.h"
#include "runtime/backend.h"
#include "runtime/delegate_state.h"
#include "runtime/method_internal.h"

namespace carina::runtime {

namespace {

constexpr size_t kAlignment = 16;  // of each allocation

constexpr std::array<std::string_view, 5> kKernelsWithScratch{
    "aten::_fft_c2r.out", "aten::_fft_r2c.out", "aten::index.Tensor_out", "aten::index_put.out", "aten::index_put_"};

constexpr size_t rounded(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Adds up the allocations of an arena without memory.
class Allocations {
 public:
  void add(size_t count, size_t bytes_each) { used_ = rounded(used_) + count * bytes_each; }
  [[nodiscard]] size_t used_bytes() const { return used_; }

 private:
  size_t used_ = 0;
};

}  // namespace

// Walks a method in the order of Method::Loader and adds up what the loader allocates.
class MethodSizer {
 public:
  MethodSizer(const Program& program, size_t method, const Sizers& sizers, const TypeSizes& types)
      : program_(program), plan_(plan_of(program.file_, method)), sizers_(sizers), types_(types) {}

  Error measure(MethodSizes& sizes) {
    CARINA_RT_TRY(add_values());
    CARINA_RT_TRY(add_delegates());
    CARINA_RT_TRY(add_instructions());
    sizes.method_bytes = arena_.used_bytes();
    sizes.scratch_bytes = scratch_bytes_;
    sizes.kernel_stack_bytes = kernel_stack_bytes_;
    sizes.calls_with_more_scratch = calls_with_more_scratch_;
    return Error::kOk;
  }

 private:
  // The loader's types as numbers of pointers.
  static_assert(sizeof(Method::Instruction) == 8 * sizeof(void*) && sizeof(Method::Delegate) == 2 * sizeof(void*) &&
                sizeof(Method::RuntimeNumber) == 2 * sizeof(void*) &&
                sizeof(Method::InitialValue) == 2 * sizeof(void*) && sizeof(CompileSpec) == 4 * sizeof(void*));
  void add_pointers(size_t count, size_t pointers_each) { arena_.add(count, pointers_each * types_.pointer); }

  Error add_values() {
    const auto* values = plan_.values();
    arena_.add(values == nullptr ? 0 : values->size(), types_.value);
    if (values == nullptr) return Error::kOk;
    for (const fb::EValue* value : *values) {
      if (value->val_type() != fb::KernelTypes::NONE && value->val() == nullptr) return Error::kInvalidProgram;
      if (const fb::Tensor* tensor = value->val_as_Tensor()) {
        if (has_initial_value(*tensor)) ++initial_values_;
        if (tensor->shape_dynamism() != kPteStaticShape)
          arena_.add(2 * items_of(tensor->sizes()).size(), sizeof(int32_t));
      } else if (const fb::IntList* numbers = value->val_as_IntList()) {
        arena_.add(items_of(numbers->items()).size(), sizeof(int64_t));
        list_entries_ += items_of(numbers->items()).size();
      } else if (const fb::TensorList* tensors = value->val_as_TensorList()) {
        add_pointers(items_of(tensors->items()).size(), 1);
      } else if (const fb::OptionalTensorList* some = value->val_as_OptionalTensorList()) {
        add_pointers(items_of(some->items()).size(), 1);
      }
    }
    if (initial_values_ > 0) add_pointers(initial_values_, 2);
    return Error::kOk;
  }

  Error add_delegates() {
    const auto* delegates = plan_.delegates();
    add_pointers(delegates == nullptr ? 0 : delegates->size(), 2);
    if (delegates == nullptr) return Error::kOk;
    for (const fb::BackendDelegate* source : *delegates) {
      if (sizers_.delegate == nullptr) return Error::kBackendMissing;
      std::span<const std::byte> blob;
      if (!program_.blob(*source, blob)) return Error::kInvalidProgram;
      DelegateSizes sizes;
      CARINA_RT_TRY(sizers_.delegate(text_of(source->id()), blob, types_, sizes));
      add_pointers(source->compile_specs() == nullptr ? 0 : source->compile_specs()->size(), 4);
      arena_.add(1, sizes.method_bytes);
      scratch_bytes_ = std::max(scratch_bytes_, sizes.scratch_bytes);
    }
    return Error::kOk;
  }

  Error add_kernel(const fb::KernelCall& call) {
    KernelName name;
    if (plan_.operators() == nullptr || call.op_index() < 0 ||
        static_cast<size_t>(call.op_index()) >= plan_.operators()->size() ||
        !name.assign(*plan_.operators()->Get(static_cast<flatbuffers::uoffset_t>(call.op_index()))))
      return Error::kInvalidProgram;
    const size_t arguments = items_of(call.args()).size();
    add_pointers(arguments, 1);
    computes_numbers_ |= arguments > 0 && is_computed_number(name.view());
    if (sizers_.kernel_stack != nullptr)
      kernel_stack_bytes_ = std::max(kernel_stack_bytes_, sizers_.kernel_stack(name.view()));
    if (std::ranges::find(kKernelsWithScratch, name.view()) != kKernelsWithScratch.end()) ++calls_with_more_scratch_;
    return Error::kOk;
  }

  Error add_instruction(const fb::Instruction& source) {
    if (source.instr_args() == nullptr) return Error::kInvalidProgram;
    if (const fb::KernelCall* kernel = source.instr_args_as_KernelCall()) return add_kernel(*kernel);
    if (const fb::DelegateCall* delegate = source.instr_args_as_DelegateCall())
      add_pointers(items_of(delegate->args()).size(), 1);
    if (source.instr_args_as_MoveCall() != nullptr) add_pointers(2, 1);
    if (source.instr_args_as_JumpFalseCall() != nullptr) add_pointers(1, 1);
    return Error::kOk;
  }

  Error add_instructions() {
    if (plan_.chains() == nullptr || plan_.chains()->size() == 0) return Error::kOk;
    const auto* list = plan_.chains()->Get(0)->instructions();
    add_pointers(list == nullptr ? 0 : list->size(), 8);
    if (list == nullptr) return Error::kOk;
    for (const fb::Instruction* source : *list) CARINA_RT_TRY(add_instruction(*source));
    if (computes_numbers_) add_pointers(list_entries_, 2);
    return Error::kOk;
  }

  const Program& program_;
  const fb::ExecutionPlan& plan_;
  const Sizers& sizers_;
  const TypeSizes& types_;
  Allocations arena_;
  size_t list_entries_ = 0;
  size_t initial_values_ = 0;
  size_t scratch_bytes_ = 0;
  size_t kernel_stack_bytes_ = 0;
  uint32_t calls_with_more_scratch_ = 0;
  bool computes_numbers_ = false;
};

Error method_sizes(const Program& program, size_t method, const Sizers& sizers, MethodSizes& sizes,
                   const TypeSizes& types) {
#ifdef __arm__
  static_assert(sizeof(void*) == kCortexMTypes.pointer && sizeof(EValue) == kCortexMTypes.value);
#endif
  sizes = {};
  if (method >= program.methods()) return Error::kInvalidArgument;
  CARINA_RT_TRY(MethodSizer(program, method, sizers, types).measure(sizes));
  const DelegateState state(program, method, sizers.place_of);
  sizes.delegate_bytes = state.scratch_bytes();
  sizes.delegate_state_bytes = state.state_bytes();
  for (size_t i = 0; i < program.planned_buffers(method); ++i) sizes.planned_bytes += rounded(state.planned_bytes(i));
  return Error::kOk;
}

}  // namespace carina::runtime
