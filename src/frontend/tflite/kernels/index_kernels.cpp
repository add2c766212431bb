#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "frontend/tflite/kernels/kernel_call_internal.h"

// Kernels that address by index: GATHER_ND, SCATTER_ND, ARG_MAX with int64 indices, and RESIZE_BILINEAR of any ratio.
namespace carina::tflite {

namespace {

constexpr std::array kElements{DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kFp32};
constexpr std::array kIndices{DType::kInt32};
constexpr std::array kWideIndices{DType::kInt64};
constexpr std::array kNarrow{DType::kInt8, DType::kUInt8, DType::kInt16};

// Indices [..., K] of slices of a tensor: the K first axes are addressed.
struct Slices {
  int64_t count = 0;     // of the indices
  int64_t indexed = 0;   // K
  int64_t elements = 1;  // of a slice
};

Result<Slices> slices_of(const KernelCall& call, const std::string& where, const Shape& indices, const Shape& of) {
  if (indices.rank() == 0 || indices[indices.rank() - 1] > static_cast<int64_t>(of.rank()))
    return call.reject(where, "more indices than the tensor has axes", to_string(of), to_string(indices));
  Slices out{.count = 1, .indexed = indices[indices.rank() - 1]};
  for (size_t i = 0; i + 1 < indices.rank(); ++i) out.count *= indices[i];
  for (size_t i = static_cast<size_t>(out.indexed); i < of.rank(); ++i) out.elements *= of[i];
  return out;
}

// The number of the slice that an index names.
Result<size_t> slice_at(const KernelCall& call, const std::string& where, std::span<const int32_t> index,
                        const Shape& of) {
  int64_t at = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= of[i])
      return call.reject(where, "an index out of range", fmt::format("0 to {}", of[i] - 1), fmt::to_string(index[i]));
    at = at * of[i] + index[i];
  }
  return static_cast<size_t>(at);
}

}  // namespace

Result<void> check_gather_nd(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 0, kElements));
  CARINA_CHECKED(call.need_type(where, 1, kIndices));
  CARINA_CHECKED(call.need_result(where, std::array{call.in(0).dtype}));
  CARINA_TRY(const Slices slices, slices_of(call, where, call.in(1).shape, call.in(0).shape));
  if (call.out().shape.elements() == slices.count * slices.elements) return {};
  return call.reject(where, "the result has another size", {}, to_string(call.out().shape));
}

Result<void> run_gather_nd(const KernelCall& call, const TensorBytes& bytes, const std::string& where) {
  CARINA_TRY(const Slices slices, slices_of(call, where, call.in(1).shape, call.in(0).shape));
  const auto indices = values_of<int32_t>(bytes.read(call.op().inputs[1]));
  const size_t size = static_cast<size_t>(slices.elements) * element_bytes(call.out().dtype);
  const std::span from = bytes.read(call.op().inputs[0]);
  const std::span to = bytes.write(call.op().outputs[0]);
  const auto indexed = static_cast<size_t>(slices.indexed);
  for (size_t i = 0; i < static_cast<size_t>(slices.count); ++i) {
    CARINA_TRY(const size_t at, slice_at(call, where, indices.subspan(i * indexed, indexed), call.in(0).shape));
    std::memcpy(to.data() + i * size, from.data() + at * size, size);
  }
  return {};
}

Result<void> check_scatter_nd(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 0, kIndices));
  CARINA_CHECKED(call.need_type(where, 1, kElements));
  CARINA_CHECKED(call.need_result(where, std::array{call.in(1).dtype}));
  CARINA_TRY(const Slices slices, slices_of(call, where, call.in(0).shape, call.out().shape));
  if (call.in(1).shape.elements() == slices.count * slices.elements) return {};
  return call.reject(where, "the updates have another size", {}, to_string(call.in(1).shape));
}

namespace {

// Updates of one place are added, in the type's own arithmetic: integers wrap.
template <typename T>
void add_slice(std::span<std::byte> to, std::span<const std::byte> from) {
  const std::span<T> sums = values_of<T>(to);
  const std::span<const T> updates = values_of<T>(from);
  for (size_t i = 0; i < sums.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      sums[i] = static_cast<T>(static_cast<uint64_t>(sums[i]) + static_cast<uint64_t>(updates[i]));
    } else {
      sums[i] += updates[i];
    }
  }
}

}  // namespace

Result<void> run_scatter_nd(const KernelCall& call, const TensorBytes& bytes, const std::string& where) {
  CARINA_TRY(const Slices slices, slices_of(call, where, call.in(0).shape, call.out().shape));
  const auto indices = values_of<int32_t>(bytes.read(call.op().inputs[0]));
  const size_t size = static_cast<size_t>(slices.elements) * element_bytes(call.out().dtype);
  const std::span from = bytes.read(call.op().inputs[1]);
  const std::span to = bytes.write(call.op().outputs[0]);
  std::ranges::fill(to, std::byte{0});
  const auto indexed = static_cast<size_t>(slices.indexed);
  for (size_t i = 0; i < static_cast<size_t>(slices.count); ++i) {
    CARINA_TRY(const size_t at, slice_at(call, where, indices.subspan(i * indexed, indexed), call.out().shape));
    with_type(call.out().dtype,
              [&]<typename T>(T /*type*/) { add_slice<T>(to.subspan(at * size, size), from.subspan(i * size, size)); });
  }
  return {};
}

Result<void> check_arg_max(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 0, kNarrow));
  CARINA_CHECKED(call.need_type(where, 1, kIndices));
  CARINA_CHECKED(call.need_result(where, kWideIndices));
  const Tensor& axis = call.in(1);
  if (!axis.is_constant || axis.shape.elements() != 1 || call.in(0).shape.rank() == 0)
    return call.reject(where, "the axis is not one constant");
  const auto rank = static_cast<int32_t>(call.in(0).shape.rank());
  const int32_t at = values_of<int32_t>(axis.data.bytes()).front();
  if (at < -rank || at >= rank) return call.reject(where, "an axis that the input does not have");
  const int64_t size = call.in(0).shape[static_cast<size_t>(at < 0 ? at + rank : at)];
  if (size > 0 && call.in(0).shape.elements() == size * call.out().shape.elements()) return {};
  return call.reject(where, "the result has another size", {}, to_string(call.out().shape));
}

namespace {

template <typename T>
void first_largest(std::span<const T> from, std::span<int64_t> to, size_t size, size_t inner) {
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t start = i / inner * size * inner + i % inner;
    size_t best = 0;
    for (size_t k = 1; k < size; ++k) {
      if (from[start + k * inner] > from[start + best * inner]) best = k;
    }
    to[i] = static_cast<int64_t>(best);
  }
}

}  // namespace

Result<void> run_arg_max(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const Shape& shape = call.in(0).shape;
  const int32_t given = values_of<int32_t>(call.in(1).data.bytes()).front();
  const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int32_t>(shape.rank()) : given);
  size_t inner = 1;
  for (size_t i = axis + 1; i < shape.rank(); ++i) inner *= static_cast<size_t>(shape[i]);
  const auto size = static_cast<size_t>(shape[axis]);
  const std::span from = bytes.read(call.op().inputs[0]);
  const std::span<int64_t> to = values_of<int64_t>(bytes.write(call.op().outputs[0]));
  if (call.in(0).dtype == DType::kInt8) first_largest(values_of<int8_t>(from), to, size, inner);
  if (call.in(0).dtype == DType::kUInt8) first_largest(values_of<uint8_t>(from), to, size, inner);
  if (call.in(0).dtype == DType::kInt16) first_largest(values_of<int16_t>(from), to, size, inner);
  return {};
}

Result<void> check_resize_bilinear(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 0, kNarrow));
  CARINA_CHECKED(call.need_result(where, std::array{call.in(0).dtype}));
  const Shape &in = call.in(0).shape, &out = call.out().shape;
  constexpr int64_t kLargest = 1 << 20;  // positions in units of 1/1024 stay below 2^31
  if (in.rank() == 4 && out.rank() == 4 && in[0] == out[0] && in[3] == out[3] && in.elements() > 0 &&
      out.elements() > 0 && std::max({in[1], in[2], out[1], out[2]}) <= kLargest)
    return {};
  return call.reject(where, "the shapes do not fit", to_string(in), to_string(out));
}

namespace {

// The two neighbors of a row or column of the result, and the share of the second one.
template <typename Share>
struct Neighbors {
  int64_t low;
  int64_t high;
  Share share;
};

constexpr int64_t kUnit = 1024;

Neighbors<int64_t> integer_neighbors(int64_t in, int64_t out, int64_t o, const Options& options) {
  int64_t step = (kUnit * in + out / 2) / out;
  if (options.align_corners && out > 1) step = (kUnit * (in - 1) + (out - 1) / 2) / (out - 1);
  const int64_t at = options.half_pixel_centers ? o * step + step / 2 - kUnit / 2 : o * step;
  const int64_t low = std::min(std::max<int64_t>(at / kUnit, 0), in - 1);
  return {.low = low, .high = std::min((at + kUnit - 1) / kUnit, in - 1), .share = at - kUnit * low};
}

Neighbors<float> float_neighbors(int64_t in, int64_t out, int64_t o, const Options& options) {
  float step = static_cast<float>(in) / static_cast<float>(out);
  if (options.align_corners && out > 1) step = static_cast<float>(in - 1) / static_cast<float>(out - 1);
  const auto index = static_cast<float>(o);
  const float at = options.half_pixel_centers ? (index + 0.5F) * step - 0.5F : index * step;
  const auto low = std::max<int64_t>(static_cast<int64_t>(std::floor(at)), 0);
  const auto high = std::min(static_cast<int64_t>(std::ceil(at)), in - 1);
  return {.low = low, .high = high, .share = at - static_cast<float>(low)};
}

// uint8 in float, the other types in integers, as LiteRT's reference kernels do.
template <typename T>
T blend(const std::array<T, 4>& corners, int64_t dy, int64_t dx) {
  const int64_t sum = int64_t{corners[0]} * (kUnit - dy) * (kUnit - dx) + int64_t{corners[1]} * (kUnit - dy) * dx +
                      int64_t{corners[2]} * dy * (kUnit - dx) + int64_t{corners[3]} * dy * dx;
  const int64_t half = sum > 0 ? kUnit * kUnit / 2 : -kUnit * kUnit / 2;
  return static_cast<T>((sum + half) / (kUnit * kUnit));
}

uint8_t blend(const std::array<uint8_t, 4>& corners, float dy, float dx) {
  const auto corner = [&](size_t i) { return static_cast<float>(corners[i]); };
  return static_cast<uint8_t>(corner(0) * (1 - dy) * (1 - dx) + corner(2) * dy * (1 - dx) + corner(1) * (1 - dy) * dx +
                              corner(3) * dy * dx + 0.5F);
}

template <typename T, typename Share>
void resize(const KernelCall& call, const TensorBytes& bytes,
            Neighbors<Share> (*neighbors)(int64_t in, int64_t out, int64_t o, const Options& options)) {
  const Shape &in = call.in(0).shape, &out = call.out().shape;
  const auto from = values_of<T>(bytes.read(call.op().inputs[0]));
  T* to = values_of<T>(bytes.write(call.op().outputs[0])).data();
  const Options& options = call.op().options;
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t y = 0; y < out[1]; ++y) {
      const Neighbors<Share> rows = neighbors(in[1], out[1], y, options);
      for (int64_t x = 0; x < out[2]; ++x) {
        const Neighbors<Share> columns = neighbors(in[2], out[2], x, options);
        for (int64_t c = 0; c < out[3]; ++c) {
          const auto at = [&](int64_t row, int64_t column) {
            return from[static_cast<size_t>(((n * in[1] + row) * in[2] + column) * in[3] + c)];
          };
          const std::array<T, 4> corners{at(rows.low, columns.low), at(rows.low, columns.high),
                                         at(rows.high, columns.low), at(rows.high, columns.high)};
          *to++ = blend(corners, rows.share, columns.share);
        }
      }
    }
  }
}

}  // namespace

Result<void> run_resize_bilinear(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  if (call.in(0).dtype == DType::kInt8) resize<int8_t>(call, bytes, integer_neighbors);
  if (call.in(0).dtype == DType::kInt16) resize<int16_t>(call, bytes, integer_neighbors);
  if (call.in(0).dtype == DType::kUInt8) resize<uint8_t>(call, bytes, float_neighbors);
  return {};
}

}  // namespace carina::tflite
