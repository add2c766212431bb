// The state of a method: tensors that keep their content from run to run. ExecuTorch plans such a tensor for the life
// of the method, and writes its new value with a last kernel in place. Nothing in the file marks it as state, unless
// the exporter wrote names or initial values. It is then the tensor that a run reads before it writes it:
//   aten::add.out(x, h, 1, y, y)     reads h, writes y
//   aten::copy_(h, y, false, h)      writes h, after it was read: h is state, y is not
#include <algorithm>
#include <cstring>

#include "runtime/method_internal.h"

namespace carina::runtime {

namespace {

// Calls `act` for the tensor of a value, or for each tensor of a list.
template <typename Act>
void for_tensors(EValue& value, const Act& act) {
  if (value.is_tensor()) return act(value.tensor);
  if (value.kind != EValue::Kind::kTensorList) return;
  for (EValue* element : value.tensors) {
    if (element != nullptr && element->is_tensor()) act(element->tensor);
  }
}

void mark_read(Tensor& tensor) {
  const bool is_planned = tensor.data != nullptr && !tensor.read_only;
  if (is_planned && !tensor.written && !tensor.delegated) tensor.is_state = true;
}

void mark_written(Tensor& tensor) {
  tensor.written = true;
}

// Returns whether a kernel writes its first argument: "aten::copy_", "aten::add_.Tensor".
bool is_in_place(std::string_view name) {
  return name.substr(0, name.find('.')).ends_with('_');
}

// The number of arguments that a kernel reads. The results of an out variant are its last arguments before the return
// value: one tensor, or the tensors of a list.
size_t arguments_read(std::string_view name, Arguments arguments) {
  if (arguments.empty()) return 0;
  if (is_in_place(name)) return arguments.size();
  const EValue& last = *arguments.back();
  const size_t results = last.kind == EValue::Kind::kTensorList ? last.tensors.size() : 1;
  return arguments.size() - std::min(arguments.size(), results + 1);
}

}  // namespace

void Method::Loader::find_state_of(const Instruction& instruction) {
  using Kind = Instruction::Kind;
  if (instruction.kind == Kind::kDelegate) {
    for (EValue* argument : instruction.arguments)
      for_tensors(*argument, [](Tensor& tensor) { tensor.delegated = !tensor.written; });
    return;
  }
  const size_t read = instruction.kind == Kind::kKernel ? arguments_read(instruction.name, instruction.arguments)
                      : instruction.kind == Kind::kFree ? 0
                                                        : 1;
  for (EValue* argument : instruction.arguments.first(read)) for_tensors(*argument, mark_read);
  // A delegate may have read the tensor. Only state is overwritten as a whole.
  if (instruction.name == "aten::copy_") {
    for_tensors(*instruction.arguments.front(), [](Tensor& tensor) { tensor.is_state |= tensor.delegated; });
  }
  for (EValue* argument : instruction.arguments.subspan(read)) for_tensors(*argument, mark_written);
}

void Method::Loader::find_state() {
  for (const int32_t input : method_.inputs_) for_tensors(method_.values_[static_cast<size_t>(input)], mark_written);
  for (size_t i = 0; i < method_.values_.size(); ++i) {
    const fb::Tensor* tensor = source_of(static_cast<int64_t>(i)).val_as_Tensor();
    const bool is_named = tensor != nullptr && tensor->allocation_info() != nullptr &&
                          tensor->extra_tensor_info() != nullptr &&
                          tensor->extra_tensor_info()->fully_qualified_name() != nullptr;
    if (is_named) method_.values_[i].tensor.is_state = true;
  }
  for (const Instruction& instruction : method_.instructions_) find_state_of(instruction);
  for (const int32_t output : method_.outputs_) for_tensors(method_.values_[static_cast<size_t>(output)], mark_read);
}

size_t Method::states() const {
  return static_cast<size_t>(
      std::ranges::count_if(values_, [](const EValue& value) { return value.is_tensor() && value.tensor.is_state; }));
}

StateTensor Method::state(size_t index) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i].is_tensor() || !values_[i].tensor.is_state || index-- > 0) continue;
    const fb::Tensor* source = plan_->values()->Get(static_cast<flatbuffers::uoffset_t>(i))->val_as_Tensor();
    const fb::ExtraTensorInfo* extra = source == nullptr ? nullptr : source->extra_tensor_info();
    return {.name = extra == nullptr ? std::string_view() : text_of(extra->fully_qualified_name()),
            .tensor = &values_[i].tensor};
  }
  return {};
}

Error Method::reset_state() {
  if (!loaded_) return Error::kNotLoaded;
  for (const EValue& value : values_) {
    const bool is_state = value.is_tensor() && value.tensor.is_state;
    if (is_state && value.tensor.bytes() > 0) std::memset(value.tensor.data, 0, value.tensor.bytes());
  }
  for (const InitialValue& initial : initial_values_) {
    const Tensor& tensor = initial.value->tensor;
    if (tensor.bytes() > 0) std::memcpy(tensor.data, initial.data, tensor.bytes());
  }
  return Error::kOk;
}

size_t Method::state_bytes() const {
  size_t bytes = 0;
  for (const EValue& value : values_) bytes += value.is_tensor() && value.tensor.is_state ? value.tensor.bytes() : 0;
  return bytes;
}

Error Method::save_state(std::span<std::byte> bytes) const {
  if (!loaded_) return Error::kNotLoaded;
  if (bytes.size() != state_bytes()) return Error::kInvalidArgument;
  for (const EValue& value : values_) {
    if (!value.is_tensor() || !value.tensor.is_state || value.tensor.bytes() == 0) continue;
    std::memcpy(bytes.data(), value.tensor.data, value.tensor.bytes());
    bytes = bytes.subspan(value.tensor.bytes());
  }
  return Error::kOk;
}

Error Method::restore_state(std::span<const std::byte> bytes) {
  if (!loaded_) return Error::kNotLoaded;
  if (bytes.size() != state_bytes()) return Error::kInvalidArgument;
  for (const EValue& value : values_) {
    if (!value.is_tensor() || !value.tensor.is_state || value.tensor.bytes() == 0) continue;
    std::memcpy(value.tensor.data, bytes.data(), value.tensor.bytes());
    bytes = bytes.subspan(value.tensor.bytes());
  }
  return Error::kOk;
}

}  // namespace carina::runtime
