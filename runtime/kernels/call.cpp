#include "runtime/kernels/call_internal.h"

#include <algorithm>

#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

using Kind = EValue::Kind;

constinit const EValue kNothing;
constinit const Tensor kNoTensor;

bool is_scalar(const EValue& value) {
  return value.kind == Kind::kInt || value.kind == Kind::kDouble || value.kind == Kind::kBool;
}

}  // namespace

bool readable(const EValue* value) {
  return value != nullptr && value->is_tensor() && (value->tensor.data != nullptr || value->tensor.bytes() == 0);
}

bool is_complex(PteScalarType type) {
  return type == PteScalarType::kComplexHalf || type == PteScalarType::kComplexFloat ||
         type == PteScalarType::kComplexDouble;
}

bool has_complex(Arguments arguments) {
  return std::ranges::any_of(arguments,
                             [](const EValue* value) { return value->is_tensor() && is_complex(value->tensor.type); });
}

bool copies(PteScalarType from, PteScalarType to) {
  return from == to || (!is_complex(from) && !is_complex(to));
}

PteScalarType part_of(PteScalarType complex) {
  if (complex == PteScalarType::kComplexHalf) return PteScalarType::kHalf;
  return complex == PteScalarType::kComplexFloat ? PteScalarType::kFloat : PteScalarType::kDouble;
}

const EValue& Call::at(size_t index) {
  if (index < arguments_.size()) return *arguments_[index];
  note(Error::kInvalidProgram);
  return kNothing;
}

const Tensor& Call::tensor(size_t index) {
  const EValue& value = at(index);
  if (!readable(&value)) {
    note(Error::kInvalidArgument);
    return kNoTensor;
  }
  support(elements_ == Elements::kAny || !is_complex(value.tensor.type));
  return value.tensor;
}

void Call::fit_like(const Tensor& out, const Tensor& other) {
  require(takes_sizes_of(out, other));
}

void Call::fit_along(const Tensor& out, const Tensor& like, size_t axis, int64_t size) {
  if (!out.resizable) return;
  Extents sizes = layout_of(like).sizes;
  if (axis < like.rank()) sizes[axis] = size;
  fit(out, {sizes.data(), like.rank()});
}

void Call::fit_without(const Tensor& out, const Tensor& like, size_t axis) {
  if (!out.resizable) return;
  Extents sizes = layout_of(like).sizes;
  std::copy(sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, sizes.end(),
            sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  fit(out, {sizes.data(), like.rank() - 1});
}

const Tensor* Call::optional_tensor(size_t index) {
  return at(index).is_none() ? nullptr : &tensor(index);
}

const Tensor& Call::out(size_t index) {
  const Tensor& tensor = this->tensor(index);
  if (tensor.read_only) note(Error::kInvalidProgram);
  return tensor;
}

int64_t Call::integer(size_t index) {
  const EValue& value = at(index);
  if (value.kind != Kind::kInt && value.kind != Kind::kBool) note(Error::kInvalidArgument);
  return value.kind == Kind::kDouble ? 0 : value.to_int();
}

int64_t Call::integer_or(size_t index, int64_t otherwise) {
  return at(index).is_none() ? otherwise : integer(index);
}

size_t Call::axis(size_t index, size_t rank) {
  size_t axis = 0;
  require(axis_of(integer(index), rank, axis));
  return axis;
}

double Call::number(size_t index) {
  const EValue& value = at(index);
  if (!is_scalar(value)) note(Error::kInvalidArgument);
  return value.to_double();
}

double Call::number_or(size_t index, double otherwise) {
  return at(index).is_none() ? otherwise : number(index);
}

bool Call::flag(size_t index) {
  const EValue& value = at(index);
  if (value.kind != Kind::kBool && value.kind != Kind::kInt) note(Error::kInvalidArgument);
  return value.kind == Kind::kBool ? value.boolean : value.integer != 0;
}

bool Call::is_none(size_t index) {
  return at(index).is_none();
}

std::string_view Call::text(size_t index) {
  const EValue& value = at(index);
  if (value.kind == Kind::kString) return value.text;
  note(Error::kInvalidArgument);
  return {};
}

std::span<const int64_t> Call::integers(size_t index) {
  const EValue& value = at(index);
  if (value.kind != Kind::kIntList && !value.is_none()) note(Error::kInvalidArgument);
  return value.kind == Kind::kIntList ? value.integers : std::span<const int64_t>();
}

std::span<const double> Call::numbers(size_t index) {
  const EValue& value = at(index);
  if (value.kind != Kind::kDoubleList && !value.is_none()) note(Error::kInvalidArgument);
  return value.kind == Kind::kDoubleList ? value.numbers : std::span<const double>();
}

std::span<const uint8_t> Call::flags(size_t index) {
  const EValue& value = at(index);
  if (value.kind == Kind::kBoolList) return value.booleans;
  note(Error::kInvalidArgument);
  return {};
}

std::span<EValue* const> Call::tensors(size_t index) {
  const EValue& value = at(index);
  if (value.kind == Kind::kTensorList) return value.tensors;
  note(Error::kInvalidArgument);
  return {};
}

}  // namespace carina::runtime
