// The state of a method: tensors that keep their content from run to run. ExecuTorch plans such a tensor for the life
// of the method, and writes its new value with a last kernel in place. Nothing in the file marks it as state, unless
// the exporter wrote names or initial values. It is then the tensor whose memory a run reads before it writes it:
//   aten::add.out(x, h, 1, y, y)     reads h, writes y
//   aten::mul.out(v, h, z, z)        reads v, which has the memory of y: a view without an instruction
//   aten::copy_(h, y, false, h)      writes h, after it was read: h is state, y and v are not
// Each tensor is compared once with what the instructions before its first reader write: n * m comparisons for n
// tensors that nothing writes by their own name, and m arguments.
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

bool overlaps(const Tensor& a, const Tensor& b) {
  const auto* first = static_cast<const std::byte*>(a.data);
  const auto* second = static_cast<const std::byte*>(b.data);
  return first != nullptr && second != nullptr && first < second + b.bytes() && second < first + a.bytes();
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

// The first of the arguments that an instruction may write. What a delegate reads and writes is not known.
size_t Method::Loader::first_written(const Instruction& instruction) {
  using Kind = Instruction::Kind;
  switch (instruction.kind) {
    case Kind::kKernel:
      return arguments_read(instruction.name, instruction.arguments);
    case Kind::kMove:
    case Kind::kJumpFalse:
      return 1;
    case Kind::kDelegate:
    case Kind::kFree:
      return 0;
  }
  return 0;
}

// Returns whether an input or an instruction before `end` has written to the memory of a tensor, or state is there.
bool Method::Loader::is_known(const Tensor& tensor, size_t end) const {
  bool known = false;
  const auto compare = [&](const Tensor& other) { known = known || overlaps(tensor, other); };
  for (const int32_t input : method_.inputs_) for_tensors(method_.values_[static_cast<size_t>(input)], compare);
  for (const Instruction& instruction : method_.instructions_.first(end)) {
    for (EValue* argument : instruction.arguments.subspan(first_written(instruction))) for_tensors(*argument, compare);
  }
  for (EValue& value : method_.values_) {
    if (value.is_tensor() && value.tensor.is_state) compare(value.tensor);
  }
  return known;
}

void Method::Loader::mark_read(Tensor& tensor, size_t instruction) const {
  const bool is_planned = tensor.data != nullptr && !tensor.read_only;
  if (!is_planned || tensor.is_state || tensor.written || tensor.delegated) return;
  tensor.written = is_known(tensor, instruction);
  tensor.is_state = !tensor.written;
}

void Method::Loader::find_state_of(size_t index) const {
  const Instruction& instruction = method_.instructions_[index];
  if (instruction.kind == Instruction::Kind::kDelegate) {
    for (EValue* argument : instruction.arguments)
      for_tensors(*argument, [](Tensor& tensor) { tensor.delegated = !tensor.written; });
    return;
  }
  const size_t read = first_written(instruction);
  for (EValue* argument : instruction.arguments.first(read))
    for_tensors(*argument, [&](Tensor& tensor) { mark_read(tensor, index); });
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
  for (size_t i = 0; i < method_.instructions_.size(); ++i) find_state_of(i);
  for (const int32_t output : method_.outputs_) {
    for_tensors(method_.values_[static_cast<size_t>(output)],
                [&](Tensor& tensor) { mark_read(tensor, method_.instructions_.size()); });
  }
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
