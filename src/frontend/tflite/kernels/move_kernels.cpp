#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory/copy_bytes.h"
#include "frontend/tflite/kernels/kernel_call_internal.h"
#include "frontend/tflite/stretch.h"

// Kernels that move floats, which TOSA's integer profile cannot hold: PACK, UNPACK, RESHAPE, SPLIT and STRIDED_SLICE.
namespace carina::tflite {

namespace {

constexpr std::array kMovedTypes{DType::kFp32};

// The number of elements before, along and after an axis.
struct Along {
  size_t before = 1;
  size_t size = 1;
  size_t after = 1;
};
Along along(const Shape& shape, size_t axis) {
  Along out{.size = static_cast<size_t>(shape[axis])};
  for (size_t i = 0; i < axis; ++i) out.before *= static_cast<size_t>(shape[i]);
  for (size_t i = axis + 1; i < shape.rank(); ++i) out.after *= static_cast<size_t>(shape[i]);
  return out;
}

// An axis that may count from the end; nothing if the shape does not have it.
std::optional<size_t> axis_in(const Shape& shape, int64_t axis) {
  const auto rank = static_cast<int64_t>(shape.rank());
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

std::optional<int32_t> constant_axis(const KernelCall& call, size_t i) {
  const Tensor& tensor = call.in(i);
  if (!tensor.is_constant || tensor.dtype != DType::kInt32 || tensor.data.size() != sizeof(int32_t))
    return std::nullopt;
  return values_of<int32_t>(tensor.data.bytes()).front();
}

// Checks the tensors that together are one: parts of PACK, UNPACK and SPLIT.
Result<void> check_parts(const KernelCall& call, const std::string& where, const Tensor& whole,
                         std::span<const Tensor* const> parts, std::optional<size_t> axis) {
  if (!axis) return call.reject(where, "the axis is out of range, or not constant");
  const int64_t each = whole.shape.elements() / std::max<int64_t>(1, static_cast<int64_t>(parts.size()));
  bool fits = each * static_cast<int64_t>(parts.size()) == whole.shape.elements() &&
              whole.shape[*axis] % static_cast<int64_t>(parts.size()) == 0;
  for (const Tensor* part : parts) fits = fits && part->shape.elements() == each && part->dtype == whole.dtype;
  return fits ? Result<void>() : call.reject(where, "the shapes do not fit", to_string(whole.shape));
}

std::vector<const Tensor*> results_of(const KernelCall& call) {
  std::vector<const Tensor*> parts;
  for (size_t i = 0; i < call.op().outputs.size(); ++i) parts.push_back(&call.out(i));
  return parts;
}

// Copies the parts of a tensor along an axis to the results.
void divide(const KernelCall& call, const TensorBytes& bytes, size_t input, size_t axis) {
  const auto x = values_of<float>(bytes.read(call.op().inputs[input]));
  const Along whole = along(call.in(input).shape, axis);
  const size_t parts = call.op().outputs.size(), run = whole.size / parts * whole.after;
  for (size_t k = 0; k < parts; ++k) {
    const std::span<float> part = values_of<float>(bytes.write(call.op().outputs[k]));
    for (size_t i = 0; i < whole.before; ++i)
      std::ranges::copy(x.subspan((i * parts + k) * run, run), part.subspan(i * run, run).begin());
  }
}

// The elements of each axis that STRIDED_SLICE takes.
std::optional<std::vector<Stretch>> steps_of(const KernelCall& call) {
  const Shape& shape = call.in(0).shape;
  const Options& o = call.op().options;
  std::array<std::span<const int32_t>, 3> given;
  for (size_t k = 0; k < given.size(); ++k) {
    if (!call.has(k + 1) || !call.in(k + 1).is_constant || call.in(k + 1).dtype != DType::kInt32) return std::nullopt;
    given[k] = values_of<int32_t>(call.in(k + 1).data.bytes());
    if (given[k].size() != shape.rank()) return std::nullopt;
  }
  if (o.ellipsis_mask != 0 || o.new_axis_mask != 0 || o.has_offset) return std::nullopt;
  std::vector<Stretch> steps;
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (given[2][i] == 0) return std::nullopt;
    const Stretch stretch = stretch_of(o, i, given[0][i], given[1][i], given[2][i], shape[i]);
    if (stretch.count > 0 && (stretch.begin < 0 || stretch.begin >= shape[i])) return std::nullopt;
    steps.push_back(stretch);
  }
  return steps;
}

}  // namespace

Result<void> check_pack(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_result(where, kMovedTypes));
  std::vector<const Tensor*> parts;
  for (size_t i = 0; i < call.op().inputs.size(); ++i) {
    CARINA_CHECKED(call.need_type(where, i, kMovedTypes));
    parts.push_back(&call.in(i));
  }
  const auto axis = axis_in(call.out().shape, call.op().options.axis);
  if (axis && call.out().shape[*axis] != static_cast<int64_t>(parts.size()))
    return call.reject(where, "another number of operands", to_string(call.out().shape));
  return check_parts(call, where, call.out(), parts, axis);
}

Result<void> run_pack(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const std::span<float> y = values_of<float>(bytes.write(call.op().outputs[0]));
  const Along whole = along(call.out().shape, *axis_in(call.out().shape, call.op().options.axis));
  for (size_t k = 0; k < whole.size; ++k) {
    const auto part = values_of<float>(bytes.read(call.op().inputs[k]));
    for (size_t i = 0; i < whole.before; ++i)
      std::ranges::copy(part.subspan(i * whole.after, whole.after),
                        y.subspan((i * whole.size + k) * whole.after).begin());
  }
  return {};
}

Result<void> check_unpack(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 0, kMovedTypes));
  const auto axis = axis_in(call.in(0).shape, call.op().options.axis);
  if (axis && call.in(0).shape[*axis] != static_cast<int64_t>(call.op().outputs.size()))
    return call.reject(where, "another number of results", to_string(call.in(0).shape));
  return check_parts(call, where, call.in(0), results_of(call), axis);
}

Result<void> run_unpack(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  divide(call, bytes, 0, *axis_in(call.in(0).shape, call.op().options.axis));
  return {};
}

Result<void> check_split(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 1, kMovedTypes));
  const auto axis = call.has(0) ? constant_axis(call, 0) : std::nullopt;
  return check_parts(call, where, call.in(1), results_of(call), axis ? axis_in(call.in(1).shape, *axis) : std::nullopt);
}

Result<void> run_split(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  divide(call, bytes, 1, *axis_in(call.in(1).shape, *constant_axis(call, 0)));
  return {};
}

Result<void> check_strided_slice(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 0, kMovedTypes));
  CARINA_CHECKED(call.need_result(where, kMovedTypes));
  const auto steps = steps_of(call);
  if (!steps) return call.reject(where, "only constant positions inside the input are supported, without ellipsis");
  int64_t elements = 1;
  for (const Stretch& axis : *steps) elements *= axis.count;
  if (elements == call.out().shape.elements()) return {};
  return call.reject(where, "the shapes do not fit", to_string(call.in(0).shape), to_string(call.out().shape));
}

Result<void> run_strided_slice(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const std::vector<Stretch> steps = *steps_of(call);
  const auto x = values_of<float>(bytes.read(call.op().inputs[0]));
  const std::span<float> y = values_of<float>(bytes.write(call.op().outputs[0]));
  const Shape& shape = call.in(0).shape;
  for (size_t i = 0; i < y.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t at = 0, stride = 1;
    for (size_t axis = steps.size(); axis-- > 0; stride *= shape[axis]) {
      at += (steps[axis].begin + rest % steps[axis].count * steps[axis].stride) * stride;
      rest /= steps[axis].count;
    }
    y[i] = x[static_cast<size_t>(at)];
  }
  return {};
}

Result<void> check_reshape(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 0, kMovedTypes));
  CARINA_CHECKED(call.need_result(where, kMovedTypes));
  if (call.in(0).shape.elements() == call.out().shape.elements()) return {};
  return call.reject(where, "input and result have different sizes", to_string(call.in(0).shape),
                     to_string(call.out().shape));
}

Result<void> run_reshape(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  copy_bytes(bytes.read(call.op().inputs[0]), bytes.write(call.op().outputs[0]));
  return {};
}

}  // namespace carina::tflite
