#include <algorithm>

#include "runtime/kernels/cortex_m_internal.h"
#include "runtime/kernels/int8_dot_internal.h"
#include "runtime/kernels/kernels_internal.h"

namespace carina::runtime {

namespace {

int64_t products(const Int8Rows& a, const Int8Rows& b, int64_t count) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += (a.data[i] + a.offset) * (b.data[i] + b.offset);
  return sum;
}

Requantization scale_of(const Int8Product& p, int64_t n) {
  return p.multipliers == nullptr ? p.scale : Requantization{.multiplier = p.multipliers[n], .shift = p.shifts[n]};
}

// Whether sums without `start` are int32, and what they are built of.
bool fits_sums(const Int8Product& p) {
  return sums_fit(2 * p.inner, p.a.offset) && p.b.offset >= -kMaxOffset && p.b.offset <= kMaxOffset &&
         p.inner <= INT32_MAX / (2 * (128 + kMaxOffset) * (128 + kMaxOffset));
}

// Some rows of a product, at least one.
struct SomeRows {
  const int8_t* a;
  int32_t count;
  int8_t* out;
};

// Four columns, from column n on. The offsets apply to sums:
//   sum((a + o) * (b + p)) = sum(a * b) + o * sum(b) + p * (sum(a) + count * o)
// `more` has the last term of each row; nullptr: 0.
[[gnu::noinline]] void four_columns(const Int8Product& p, ptrdiff_t n, const SomeRows& rows, const int32_t* more) {
  const auto inner = static_cast<int32_t>(p.inner);
  const auto a_offset = static_cast<int32_t>(p.a.offset);
  const int8_t* b = p.b.data + n * inner;
  const int32_t* starts = p.start == nullptr ? nullptr : p.start + n;
  int32_t sums[4];
  if (a_offset != 0) {
    for (int i = 0; i < 4; ++i) sums[i] = (starts == nullptr ? 0 : starts[i]) + a_offset * sum_of(b + i * inner, inner);
    starts = sums;
  }
  const FourCodes codes =
      p.multipliers == nullptr ? FourCodes(p.scale, p.codes) : FourCodes(p.multipliers + n, p.shifts + n, p.codes);
  codes.write_rows({.a = rows.a,
                    .b = b,
                    .inner = inner,
                    .rows = static_cast<size_t>(rows.count),
                    .starts = starts,
                    .more = more,
                    .out = rows.out + n,
                    .out_step = static_cast<ptrdiff_t>(p.columns)});
}

// All columns of all rows. If b has an offset, the sums of some rows are computed at a time.
void write_fours(const Int8Product& p, int8_t* out) {
  constexpr int32_t kRows = 64;
  const auto inner = static_cast<int32_t>(p.inner);
  const auto columns = static_cast<ptrdiff_t>(p.columns);
  const auto a_offset = static_cast<int32_t>(p.a.offset), b_offset = static_cast<int32_t>(p.b.offset);
  int32_t more[kRows];
  SomeRows rows{.a = p.a.data, .count = 0, .out = out};
  for (int64_t left = p.rows; left > 0; left -= rows.count) {
    rows.count = static_cast<int32_t>(std::min<int64_t>(left, b_offset == 0 ? INT32_MAX : kRows));
    const int8_t* a = rows.a;
    for (int32_t row = 0; b_offset != 0 && row < rows.count; ++row, a += inner)
      more[row] = b_offset * (sum_of(a, inner) + inner * a_offset);
    for (ptrdiff_t n = 0; n < columns; n += 4)  // the last four columns may be computed twice
      four_columns(p, std::min(n, columns - 4), rows, b_offset == 0 ? nullptr : more);
    rows.a += static_cast<ptrdiff_t>(rows.count) * inner;
    rows.out += rows.count * columns;
  }
}

// Column n of all rows.
void one_column(const Int8Product& p, int64_t n, bool fits_sums, int8_t* out) {
  const auto inner = static_cast<int32_t>(p.inner);
  const auto a_offset = static_cast<int32_t>(p.a.offset), b_offset = static_cast<int32_t>(p.b.offset);
  const int64_t start = p.start == nullptr ? 0 : p.start[n];
  for (int64_t row = 0; row < p.rows; ++row) {
    const Int8Rows a{.data = p.a.data + row * p.inner, .offset = p.a.offset};
    const Int8Rows b{.data = p.b.data + n * p.inner, .offset = p.b.offset};
    const int64_t sum = fits_sums ? dot(a.data, b.data, inner, a_offset) +
                                        (b_offset == 0 ? 0 : b_offset * (sum_of(a.data, inner) + inner * a_offset))
                                  : products(a, b, p.inner);
    out[row * p.columns + n] = p.codes(scale_of(p, n), sum + start);
  }
}

bool is_int8(const Tensor& tensor) {
  return tensor.type == PteScalarType::kChar && tensor.contiguous();
}

// Returns whether there is one int32 for each of `count` channels, or no tensor.
bool fits(const Tensor* sums, int64_t count) {
  return sums == nullptr ||
         (sums->type == PteScalarType::kInt && static_cast<int64_t>(sums->elements()) == count && sums->contiguous());
}

}  // namespace

bool Int8Product::fits_fours() const {
  if (columns < 4 || !fits_sums(*this) || !codes.fit()) return false;
  if (multipliers == nullptr && start == nullptr) return FourCodes::fits(scale, 0);
  for (int64_t n = 0; n < columns; ++n) {
    if (!FourCodes::fits(scale_of(*this, n), start == nullptr ? 0 : start[n])) return false;
  }
  return true;
}

void Int8Product::write_to(int8_t* out, bool in_fours) const {
  if (in_fours) return write_fours(*this, out);
  const bool fits = fits_sums(*this);
  for (int64_t n = 0; n < columns; ++n) one_column(*this, n, fits, out);
}

// (input [..., K], weights [N, K], bias or None, kernel_sum or None, input_offset, filter_offset, output_offset,
// multipliers, shifts, activation_max, activation_min, out). If kernel_sum is given, it contains the bias and the
// products of the weights and the input's offset, so only the filter's offset is applied.
Error cortex_m_linear(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& weights = call.tensor(1);
  const Tensor* bias = call.optional_tensor(2);
  const Tensor* kernel_sum = call.optional_tensor(3);
  const int64_t filter_offset = call.integer(5), output_offset = call.integer(6);
  const int64_t input_offset = kernel_sum != nullptr ? 0 : call.integer(4);
  const auto multipliers = call.integers(7), shifts = call.integers(8);
  const int64_t high = call.integer(9), low = call.integer(10);
  const Tensor& out = call.out(11);
  call.support(is_int8(in) && is_int8(weights) && is_int8(out));
  call.require(in.rank() >= 1 && weights.rank() == 2 && !multipliers.empty() && !shifts.empty() && low <= high);
  CARINA_RT_TRY(call.error());
  const int64_t inner = weights.sizes()[1], channels = weights.sizes()[0];
  const Tensor* start = kernel_sum != nullptr ? kernel_sum : bias;
  const Requantization scale{.multiplier = multipliers[0], .shift = shifts[0]};
  call.require(in.sizes()[in.rank() - 1] == inner && fits(start, channels) && scale.is_sane());
  const int64_t rows = inner == 0 ? 0 : static_cast<int64_t>(in.elements()) / inner;
  call.require(static_cast<int64_t>(out.elements()) == rows * channels);
  CARINA_RT_TRY(call.error());
  const Int8Product product{.a = {.data = in.as<const int8_t>(), .offset = input_offset},
                            .b = {.data = weights.as<const int8_t>(), .offset = filter_offset},
                            .rows = rows,
                            .columns = channels,
                            .inner = inner,
                            .start = start == nullptr ? nullptr : start->as<const int32_t>(),
                            .scale = scale,
                            .codes = {.zero_point = output_offset, .low = low, .high = high}};
  product.write_to(out.as<int8_t>(), product.fits_fours());
  return Error::kOk;
}

// (lhs [B, M, K], offset, rhs transposed [B, N, K], offset, output zero_point, multiplier, shift, scratch, out)
Error cortex_m_batch_matmul(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& lhs = call.tensor(0);
  const Tensor& rhs = call.tensor(2);
  const int64_t lhs_offset = call.integer(1), rhs_offset = call.integer(3), zero = call.integer(4);
  const Requantization scale = requantization(call, 5);
  const Tensor& out = call.out(8);
  call.support(is_int8(lhs) && is_int8(rhs) && is_int8(out));
  call.require(lhs.rank() == 3 && rhs.rank() == 3 && out.rank() == 3);
  CARINA_RT_TRY(call.error());
  const int64_t batches = lhs.sizes()[0], rows = lhs.sizes()[1], inner = lhs.sizes()[2], columns = rhs.sizes()[1];
  call.require(rhs.sizes()[0] == batches && rhs.sizes()[2] == inner && out.sizes()[0] == batches &&
               out.sizes()[1] == rows && out.sizes()[2] == columns);
  CARINA_RT_TRY(call.error());
  for (int64_t batch = 0; batch < batches; ++batch) {
    const Int8Product product{.a = {.data = lhs.as<const int8_t>() + batch * rows * inner, .offset = lhs_offset},
                              .b = {.data = rhs.as<const int8_t>() + batch * columns * inner, .offset = rhs_offset},
                              .rows = rows,
                              .columns = columns,
                              .inner = inner,
                              .scale = scale,
                              .codes = {.zero_point = zero, .low = INT8_MIN, .high = INT8_MAX}};
    product.write_to(out.as<int8_t>() + batch * rows * columns, product.fits_fours());
  }
  return Error::kOk;
}

}  // namespace carina::runtime
