// Loads a method's value table: numbers, lists, and tensors with their memory.
#include <algorithm>
#include <cstring>

#include "runtime/method_internal.h"

namespace carina::runtime {

namespace {

constexpr size_t kMaxRank = 16;

bool is_permutation(std::span<const uint8_t> order) {
  uint32_t seen = 0;
  for (const uint8_t axis : order) {
    if (axis >= order.size() || (seen >> axis & 1) != 0) return false;
    seen |= 1U << axis;
  }
  return true;
}

// Sizes of 0 count as 1 here, so that strides cannot overflow either.
bool has_possible_size(std::span<const int32_t> sizes, size_t bytes) {
  for (const int32_t size : sizes) {
    const auto extent = static_cast<size_t>(std::max<int32_t>(size, 1));
    if (size < 0 || __builtin_mul_overflow(bytes, extent, &bytes) || bytes > SIZE_MAX / 2) return false;
  }
  return true;
}

}  // namespace

Error Method::Loader::find_planned(const fb::AllocationDetails& allocation, size_t value, Tensor& tensor) {
  size_t in_delegate = 0;
  if (state_.find(value, in_delegate)) {
    tensor.data = memory_.delegate.data() + in_delegate;
    return is_aligned(tensor.data, tensor.type) ? Error::kOk : Error::kInvalidProgram;
  }
  const size_t buffer = allocation.memory_id();
  const uint64_t offset = uint64_t{allocation.memory_offset_high()} << 32 | allocation.memory_offset_low();
  if (buffer < 1 || buffer > memory_.planned.size()) return Error::kInvalidProgram;
  const std::span<std::byte> planned = memory_.planned[buffer - 1];
  if (offset > planned.size() || tensor.bytes() > planned.size() - offset) return Error::kInvalidProgram;
  tensor.data = planned.data() + offset;
  return is_aligned(tensor.data, tensor.type) ? Error::kOk : Error::kInvalidProgram;
}

// Finds the bytes of an external tensor by its name.
Error Method::Loader::find_external(const fb::Tensor& source, const Tensor& tensor, const std::byte*& data) {
  const std::string_view name = text_of(source.extra_tensor_info()->fully_qualified_name());
  NamedData::Entry entry;
  const bool found = std::any_of(linkage_.data.begin(), linkage_.data.end(),
                                 [&](const NamedData& given) { return given.find(name, entry); });
  set_problem(method_.problem_, name, -1);
  if (!found) return Error::kDataMissing;
  const bool fits = entry.is_tensor && entry.type == tensor.type && std::ranges::equal(entry.sizes, tensor.sizes()) &&
                    std::ranges::equal(entry.dim_order, tensor.dim_order()) && entry.bytes.size() >= tensor.bytes() &&
                    is_aligned(entry.bytes.data(), tensor.type);
  if (!fits) return Error::kInvalidArgument;
  method_.problem_ = {};
  data = entry.bytes.data();
  return Error::kOk;
}

// Finds the bytes with which a planned tensor begins.
Error Method::Loader::find_initial(const fb::Tensor& source, const Tensor& tensor, const std::byte*& data) {
  if (is_external(source)) return find_external(source, tensor, data);
  const fb::ExtraTensorInfo* extra = source.extra_tensor_info();
  const uint64_t table = extra == nullptr ? 0 : extra->mutable_data_segments_idx();
  return program_.initial_value(table, source.data_buffer_idx(), tensor.bytes(), data) ? Error::kOk
                                                                                       : Error::kInvalidProgram;
}

// Copies the initial values to the state, and keeps them for reset_state().
Error Method::Loader::load_initial_values() {
  size_t count = 0;
  const auto initial = [this](size_t value) {
    const fb::Tensor* tensor = source_of(static_cast<int64_t>(value)).val_as_Tensor();
    return tensor != nullptr && has_initial_value(*tensor) ? tensor : nullptr;
  };
  for (size_t i = 0; i < method_.values_.size(); ++i) count += initial(i) == nullptr ? 0 : 1;
  if (count == 0) return Error::kOk;
  CARINA_RT_TRY(make(count, method_.initial_values_));
  size_t next = 0;
  for (size_t i = 0; i < method_.values_.size(); ++i) {
    const fb::Tensor* source = initial(i);
    if (source == nullptr) continue;
    Tensor& tensor = method_.values_[i].tensor;
    const std::byte* data = nullptr;
    CARINA_RT_TRY(find_initial(*source, tensor, data));
    if (tensor.bytes() > 0) std::memcpy(tensor.data, data, tensor.bytes());
    tensor.is_state = true;
    method_.initial_values_[next++] = {.value = &method_.values_[i], .data = data};
  }
  return Error::kOk;
}

// Sets the memory of a tensor: planned memory, a constant of the program, external data, or the caller's memory.
Error Method::Loader::place_tensor(const fb::Tensor& source, size_t value, Tensor& tensor) {
  if (const fb::AllocationDetails* allocation = source.allocation_info())
    return find_planned(*allocation, value, tensor);
  const std::byte* data = nullptr;
  if (is_external(source)) {
    CARINA_RT_TRY(find_external(source, tensor, data));
  } else if (source.data_buffer_idx() != 0) {
    if (!program_.constant(source.data_buffer_idx(), tensor.bytes(), data)) return Error::kInvalidProgram;
    if (!is_aligned(data, tensor.type)) return Error::kInvalidProgram;
  } else {
    return Error::kOk;
  }
  tensor.data = const_cast<std::byte*>(data);
  tensor.read_only = true;
  return Error::kOk;
}

Error Method::Loader::load_tensor(const fb::Tensor& source, EValue& value) {
  const auto type = static_cast<PteScalarType>(source.scalar_type());
  const std::span<const int32_t> sizes = items_of(source.sizes());
  const std::span<const uint8_t> order = items_of(source.dim_order());
  if (element_bytes(type) == 0 || sizes.size() > kMaxRank || order.size() != sizes.size() || !is_permutation(order) ||
      !has_possible_size(sizes, element_bytes(type)) || source.storage_offset() != 0)
    return Error::kInvalidProgram;
  Tensor tensor(type, sizes, order, nullptr);
  if (source.shape_dynamism() != kPteStaticShape) {  // the program has the largest sizes, for which memory is planned
    std::span<int32_t> own;
    CARINA_RT_TRY(make(2 * sizes.size(), own));
    std::ranges::copy(sizes, own.begin());
    std::ranges::copy(sizes, own.begin() + static_cast<std::ptrdiff_t>(sizes.size()));
    tensor = Tensor(type, own.first(sizes.size()), order, nullptr);
    tensor.resizable = true;
  }
  CARINA_RT_TRY(place_tensor(source, static_cast<size_t>(&value - method_.values_.data()), tensor));
  value = EValue(tensor);
  return Error::kOk;
}

Error Method::Loader::load_int_list(const flatbuffers::Vector<int64_t>* items, EValue& value) {
  if (!has_aligned_items(items)) return Error::kInvalidProgram;
  std::span<int64_t> numbers;
  CARINA_RT_TRY(make(items_of(items).size(), numbers));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int64_t index = items_of(items)[i];
    if (!in_table(index)) return Error::kInvalidProgram;
    const fb::Int* number = source_of(index).val_as_Int();
    if (number == nullptr) return Error::kInvalidProgram;
    numbers[i] = number->int_val();
  }
  value = EValue(std::span<const int64_t>(numbers));
  return Error::kOk;
}

Error Method::Loader::load_tensor_list(const flatbuffers::Vector<int32_t>* items, EValue& value) {
  std::span<EValue*> slots;
  CARINA_RT_TRY(make(items_of(items).size(), slots));
  for (size_t i = 0; i < slots.size(); ++i) {
    const int32_t index = items_of(items)[i];
    if (index == -1) continue;
    if (!in_table(index) || source_of(index).val_type() != fb::KernelTypes::Tensor) return Error::kInvalidProgram;
    slots[i] = &method_.values_[static_cast<size_t>(index)];
  }
  value = EValue(std::span<EValue* const>(slots));
  return Error::kOk;
}

Error Method::Loader::load_number_list(const fb::EValue& source, EValue& value) {
  if (const fb::IntList* list = source.val_as_IntList()) return load_int_list(list->items(), value);
  if (const fb::BoolList* list = source.val_as_BoolList()) {
    value = EValue(items_of(list->items()));
    return Error::kOk;
  }
  const auto* items = source.val_as_DoubleList()->items();
  if (!has_aligned_items(items)) return Error::kInvalidProgram;
  value = EValue(items_of(items));
  return Error::kOk;
}

Error Method::Loader::load_value(const fb::EValue& source, EValue& value) {
  if (source.val_type() != fb::KernelTypes::NONE && source.val() == nullptr) return Error::kInvalidProgram;
  switch (source.val_type()) {
    case fb::KernelTypes::NONE:
    case fb::KernelTypes::Null:
      return Error::kOk;
    case fb::KernelTypes::Int:
      value = EValue(source.val_as_Int()->int_val());
      return Error::kOk;
    case fb::KernelTypes::Bool:
      value = EValue(source.val_as_Bool()->bool_val());
      return Error::kOk;
    case fb::KernelTypes::Double:
      value = EValue(source.val_as_Double()->double_val());
      return Error::kOk;
    case fb::KernelTypes::String:
      value = EValue(text_of(source.val_as_String()->string_val()).data());
      return value.text == nullptr ? Error::kInvalidProgram : Error::kOk;
    case fb::KernelTypes::Tensor:
      return load_tensor(*source.val_as_Tensor(), value);
    case fb::KernelTypes::IntList:
    case fb::KernelTypes::DoubleList:
    case fb::KernelTypes::BoolList:
      return load_number_list(source, value);
    case fb::KernelTypes::TensorList:
      return load_tensor_list(source.val_as_TensorList()->items(), value);
    case fb::KernelTypes::OptionalTensorList:
      return load_tensor_list(source.val_as_OptionalTensorList()->items(), value);
  }
  return Error::kInvalidProgram;
}

Error Method::Loader::load_values() {
  CARINA_RT_TRY(make(plan_.values() == nullptr ? 0 : plan_.values()->size(), method_.values_));
  for (size_t i = 0; i < method_.values_.size(); ++i) {
    CARINA_RT_TRY(load_value(source_of(static_cast<int64_t>(i)), method_.values_[i]));
  }
  CARINA_RT_TRY(load_initial_values());
  method_.inputs_ = items_of(plan_.inputs());
  method_.outputs_ = items_of(plan_.outputs());
  for (const std::span<const int32_t> list : {method_.inputs_, method_.outputs_}) {
    for (const int32_t index : list) {
      if (!in_table(index)) return Error::kInvalidProgram;
    }
  }
  return Error::kOk;
}

}  // namespace carina::runtime
