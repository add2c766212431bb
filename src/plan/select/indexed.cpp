#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"

// GATHER and SCATTER as indexed transfers, one per batch.
namespace carina::plan {
namespace {

// The elements contiguous in memory.
View side_by_side(Selection& s, const Operand& x) {
  if (is_dense(x.view)) return x.view;
  const View dense = s.new_tensor("dense", x.view.shape(), x.type);
  emit_copy(s, dense, x.view, x.type);
  return dense;
}

struct Rows {
  View from;
  View to;
  View index;  // [N,W] of 32 bits
  ElementType type;
  Indexed indexed;
};
void push_rows(Selection& s, const Rows& rows) {
  const View& indexed = rows.indexed == Indexed::kGather ? rows.from : rows.to;
  const int64_t batches = indexed.axes[0].size, places = indexed.axes[1].size, row = indexed.axes[2].size;
  for (int64_t n = 0; n < batches && !s.is_full(); ++n) {
    s.push({.kind = StepKind::kDma,
            .ofm = flat_map(at(rows.to, n), rows.type),
            .ifm = flat_map(at(rows.from, n), rows.type),
            .second = SecondOperand::kFeatureMap,
            .ifm2 = flat_map(at(rows.index, n), kSigned32),
            .dma_bytes = row * rows.type.bytes(),
            .indexed = rows.indexed,
            .places = places,
            .name = {}});
  }
}

}  // namespace

Result<void> select_gather(Selection& s) {
  const Operand values = s.plain(s.input(0)), indices = s.plain(s.input(1));
  const View view = s.destination(s.output());
  const View out = is_dense(view) ? view : s.new_tensor("gathered", view.shape(), values.type);
  push_rows(s, {.from = side_by_side(s, values),
                .to = out,
                .index = side_by_side(s, indices),
                .type = values.type,
                .indexed = Indexed::kGather});
  s.define(s.output(), {.view = out, .type = values.type});
  return {};
}

Result<void> select_scatter(Selection& s) {
  const Operand before = s.plain(s.input(0)), indices = s.plain(s.input(1)), values = s.plain(s.input(2));
  const View view = s.destination(s.output());
  const View out = is_dense(view) ? view : s.new_tensor("scattered", view.shape(), values.type);
  emit_copy(s, out, before.view, before.type);
  push_rows(s, {.from = side_by_side(s, values),
                .to = out,
                .index = side_by_side(s, indices),
                .type = values.type,
                .indexed = Indexed::kScatter});
  s.define(s.output(), {.view = out, .type = values.type});
  return {};
}

}  // namespace carina::plan
