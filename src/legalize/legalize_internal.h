#pragma once

#include <span>
#include <string_view>

#include "lower/target.h"
#include "normalize/rewriter.h"

namespace carina::legalize {

// Rewrites an operator so that it satisfies one rule by which the target rejects it. The results stay the same.
struct LegalizeRow {
  std::string_view rule;
  AtenOp op;
  std::string_view change;  // the change in words for the user
  Result<bool> (*rewrite)(normalize::Rewriter& in, const ir::Node& node, const lower::Target& target);
};

std::span<const LegalizeRow> stride_rows();  // windows that move far
std::span<const LegalizeRow> extent_rows();  // windows and axes that are too long

// How a window moves: stride, kernel and padding per axis (y, x).
std::vector<int64_t> stride_of(const ir::Node& node);
// How far the window of a pool or a convolution reaches along an axis (0: y, 1: x), with its dilation.
int64_t window_reach(const normalize::Rewriter& in, const ir::Node& node, size_t axis);

// Elements start, start + step ... of an axis, `count` of them.
struct Picked {
  size_t axis;
  int64_t start;
  int64_t count;
  int64_t step;
};
ir::ValueId picked(normalize::Rewriter& in, ir::ValueId x, const Picked& which);
// Zeros before and after the rows (axis 2) and columns (axis 3) of an image. Negative numbers remove elements.
struct Margins {
  std::vector<int64_t> before, after;
};
ir::ValueId with_margins(normalize::Rewriter& in, ir::ValueId image, const Margins& margins);
// A new value that is quantized as `like` is.
ir::ValueId quantized_like(normalize::Rewriter& in, ir::ValueId value, ir::ValueId like);

}  // namespace carina::legalize
