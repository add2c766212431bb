// GATHER and SCATTER: an index tensor selects rows of C elements.

#include <fmt/format.h>

#include <cstring>

#include "interpret/checks_internal.h"

namespace carina::interpret {

namespace {

struct Rows {
  int64_t n;
  int64_t k;  // rows of values
  int64_t w;  // selected rows
  size_t row_bytes;
  Shape indices;
};

// Checks the shapes: values [N,K,C], indices [N,W], chosen [N,W,C].
Result<Rows> check_rows(const NodePlan& plan, const Operand& values, const Operand& indices, const Operand& chosen) {
  Checks checks(plan);
  checks.rank(values, 3, 3).rank(indices, 2, 2).same_type(indices, DType::kInt32).same_type(chosen, values.dtype);
  if (!checks.good()) return fail(checks.done().error());
  const Rows rows{.n = values.dim(0),
                  .k = values.dim(1),
                  .w = indices.dim(1),
                  .row_bytes = static_cast<size_t>(values.dim(2)) * element_bytes(values.dtype),
                  .indices = *indices.shape};
  checks.shape(indices, {rows.n, rows.w}).shape(chosen, {rows.n, rows.w, values.dim(2)});
  CARINA_CHECKED(checks.done());
  return rows;
}

std::unexpected<Diagnostics> bad_index(const Call& call, const Rows& rows, int64_t at, int32_t index) {
  return fail_at(call, rows.indices, at, fmt::format("index {} is outside of [0, {})", index, rows.k));
}

// kBytes: the bytes of a row, so that it is copied without a call; 0 for others.
template <size_t kBytes>
Result<void> gather(const Rows& rows, const Call& call) {
  const size_t bytes = kBytes == 0 ? rows.row_bytes : kBytes;
  const auto* indices = call.input<int32_t>(1);
  std::byte* out = call.out[0];
  for (int64_t n = 0; n < rows.n; ++n) {
    const std::byte* values = call.in[0] + static_cast<size_t>(n * rows.k) * bytes;
    for (int64_t i = n * rows.w; i < (n + 1) * rows.w; ++i, out += bytes) {
      const int32_t index = indices[i];
      if (index < 0 || index >= rows.k) return bad_index(call, rows, i, index);
      std::memcpy(out, values + static_cast<size_t>(index) * bytes, bytes);
    }
  }
  return {};
}

Result<void> scatter(const Rows& rows, const Call& call) {
  const auto* indices = call.input<int32_t>(1);
  const auto all = static_cast<size_t>(rows.n * rows.k);
  std::byte* written = call.scratch;
  if (all != 0) std::memset(written, 0, all);
  if (all * rows.row_bytes != 0) std::memcpy(call.out[0], call.in[0], all * rows.row_bytes);
  for (int64_t i = 0; i < rows.n * rows.w; ++i) {
    const int32_t index = indices[i];
    if (index < 0 || index >= rows.k) return bad_index(call, rows, i, index);
    const auto row = static_cast<size_t>(i / rows.w * rows.k + index);
    if (written[row] != std::byte{0})
      return fail_at(call, rows.indices, i, fmt::format("row {} is written twice", index));
    written[row] = std::byte{1};
    std::memcpy(call.out[0] + row * rows.row_bytes, call.in[2] + static_cast<size_t>(i) * rows.row_bytes,
                rows.row_bytes);
  }
  return {};
}

}  // namespace

Result<Kernel> prepare_GATHER(const NodePlan& plan) {
  CARINA_CHECKED(Checks(plan).operands(2, 1).done());
  CARINA_TRY(const Rows rows, check_rows(plan, plan.in[0], plan.in[1], plan.out[0]));
  const auto run = rows.row_bytes == 1   ? &gather<1>
                   : rows.row_bytes == 2 ? &gather<2>
                   : rows.row_bytes == 4 ? &gather<4>
                                         : &gather<0>;
  return Kernel{.run = [rows, run](const Call& call) { return run(rows, call); }};
}

Result<Kernel> prepare_SCATTER(const NodePlan& plan) {
  CARINA_CHECKED(Checks(plan).operands(3, 1).done());
  CARINA_TRY(const Rows rows, check_rows(plan, plan.in[0], plan.in[1], plan.in[2]));
  CARINA_CHECKED(Checks(plan).same_type(plan.out[0], plan.in[0].dtype).shape(plan.out[0], *plan.in[0].shape).done());
  return Kernel{.run = [rows](const Call& call) { return scatter(rows, call); },
                .scratch_bytes = static_cast<size_t>(rows.n * rows.k)};
}

}  // namespace carina::interpret
