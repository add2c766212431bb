#include <algorithm>
#include <map>
#include <string_view>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"

// einsum becomes permutes, views and one batch product (bmm) for each pair of operands, from left to right.
//   Example: "bij,bjk->bik" is bmm(a, b). "ij,kj->ik" is a product with the second operand transposed. "ii->i" is the
//   diagonal.
namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// Axes by their letters. The axes of an ellipsis have the numbers kEllipsis, kEllipsis + 1, ... from the last axis on.
using Labels = std::vector<int>;
constexpr int kEllipsis = 1000;

struct Operand {
  ValueId value;
  Labels labels;
};

bool has(const Labels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}

Labels labels_of(std::string_view term, size_t ellipsis_axes) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term.substr(i).starts_with("...")) {
      for (size_t n = ellipsis_axes; n-- > 0;) labels.push_back(kEllipsis + static_cast<int>(n));
      i += 2;
    } else {
      labels.push_back(term[i]);
    }
  }
  return labels;
}

size_t letters_of(std::string_view term) {
  return static_cast<size_t>(std::ranges::count_if(term, [](char c) { return c != ' ' && c != '.'; }));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// The result of an equation without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
Labels implied_result(const std::vector<Operand>& operands) {
  std::map<int, int> count;
  Labels result;
  for (const Operand& operand : operands) {
    for (const int label : operand.labels) ++count[label];
  }
  for (auto entry = count.rbegin(); entry != count.rend(); ++entry) {
    if (entry->first >= kEllipsis) result.push_back(entry->first);
  }
  for (const auto& [label, times] : count) {
    if (label < kEllipsis && times == 1) result.push_back(label);
  }
  return result;
}

// A repeated letter selects the diagonal, which becomes the last axis of the result.
Operand with_diagonals(Rewriter& in, Operand x) {
  for (size_t i = 0; i < x.labels.size();) {
    const auto again = std::find(x.labels.begin() + static_cast<ptrdiff_t>(i) + 1, x.labels.end(), x.labels[i]);
    if (again == x.labels.end()) {
      ++i;
      continue;
    }
    const auto j = again - x.labels.begin();
    const Shape shape = in.shape(x.value);
    std::vector<int64_t> dims = dims_of(shape);
    dims.push_back(shape[i]);
    x.labels.push_back(x.labels[i]);
    for (const ptrdiff_t axis : {j, static_cast<ptrdiff_t>(i)}) {
      dims.erase(dims.begin() + axis);
      x.labels.erase(x.labels.begin() + axis);
    }
    x.value = in.move(AtenOp::diagonal_default, {x.value},
                      {{"offset", int64_t{0}}, {"dim1", static_cast<int64_t>(i)}, {"dim2", int64_t{j}}}, Shape(dims));
  }
  return x;
}

class Summation {
 public:
  explicit Summation(Rewriter& in, std::vector<Operand> operands) : in_(in), operands_(std::move(operands)) {
    for (const Operand& operand : operands_) {
      for (size_t i = 0; i < operand.labels.size(); ++i) {
        int64_t& size = sizes_[operand.labels[i]];
        size = std::max(size, in_.shape(operand.value)[i]);
      }
    }
  }

  ValueId run(const Labels& result) {
    Operand sum = operands_.front();
    for (size_t i = 1; i < operands_.size(); ++i) sum = product(sum, operands_[i], needed_after(i, result));
    return in_order(summed(sum, result), result);
  }

 private:
  Labels needed_after(size_t index, Labels needed) const {
    for (size_t i = index + 1; i < operands_.size(); ++i)
      needed.insert(needed.end(), operands_[i].labels.begin(), operands_[i].labels.end());
    return needed;
  }

  Shape shape_of(const Labels& labels) const {
    std::vector<int64_t> dims;
    for (const int label : labels) dims.push_back(sizes_.at(label));
    return Shape(dims);
  }

  // Sums over the axes that are not needed later.
  Operand summed(const Operand& x, const Labels& needed) {
    std::vector<size_t> axes;
    Labels left;
    const Shape shape = in_.shape(x.value);
    std::vector<int64_t> dims;
    for (size_t i = 0; i < x.labels.size(); ++i) {
      if (!has(needed, x.labels[i])) {
        axes.push_back(i);
        continue;
      }
      left.push_back(x.labels[i]);
      dims.push_back(shape[i]);
    }
    if (axes.empty()) return x;
    const ValueId sum = in_.make(AtenOp::sum_dim_IntList, {x.value}, over(axes), kept_shape(shape, axes));
    return {.value = in_.view(sum, Shape(dims)), .labels = std::move(left)};
  }

  // The operand with these axes in full size. Axes that it does not have get size 1.
  ValueId arranged(const Operand& x, const Labels& labels, bool whole) {
    std::vector<int64_t> dims, order;
    const Shape shape = in_.shape(x.value);
    Shape moved = shape;
    for (const int label : labels) {
      const auto at = std::ranges::find(x.labels, label);
      dims.push_back(at == x.labels.end() ? 1 : shape[static_cast<size_t>(at - x.labels.begin())]);
      if (at == x.labels.end()) continue;
      moved[order.size()] = dims.back();
      order.push_back(at - x.labels.begin());
    }
    ValueId value = x.value;
    if (!std::ranges::is_sorted(order)) value = in_.move(AtenOp::permute_default, {value}, {{"dims", order}}, moved);
    value = in_.view(value, Shape(dims));
    if (!whole || Shape(dims) == shape_of(labels)) return value;
    return in_.move(AtenOp::expand_default, {value}, {{"size", dims_of(shape_of(labels))}, {"implicit", false}},
                    shape_of(labels));
  }

  ValueId in_order(const Operand& x, const Labels& labels) { return arranged(x, labels, true); }

  static Labels joined(Labels a, const Labels& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  Operand product(const Operand& first, const Operand& second, const Labels& needed) {
    const Operand a = summed(first, joined(needed, second.labels)), b = summed(second, joined(needed, first.labels));
    Labels batch, left, right, common;
    for (const int label : a.labels) {
      const bool shared = has(b.labels, label);
      (!shared ? left : has(needed, label) ? batch : common).push_back(label);
    }
    std::ranges::copy_if(b.labels, std::back_inserter(right), [&](int label) { return !has(a.labels, label); });
    const Labels labels = joined(joined(batch, left), right);
    if (common.empty()) {
      const ValueId x = arranged(a, labels, false), y = arranged(b, labels, false);
      return {.value = in_.make(AtenOp::mul_Tensor, {x, y}, {}, shape_of(labels)), .labels = labels};
    }
    const Shape sum = shape_of(labels);
    const int64_t n = shape_of(batch).elements(), rows = shape_of(left).elements(), depth = shape_of(common).elements(),
                  columns = shape_of(right).elements();
    const ValueId x = arranged(a, joined(joined(batch, left), common), true),
                  y = arranged(b, joined(joined(batch, common), right), true);
    if (batch.empty()) {
      const ValueId matrix =
          in_.make(AtenOp::matmul_default, {in_.view(x, Shape{rows, depth}), in_.view(y, Shape{depth, columns})}, {},
                   Shape{rows, columns});
      return {.value = in_.view(matrix, sum), .labels = labels};
    }
    const ValueId matrices =
        in_.make(AtenOp::bmm_default, {in_.view(x, Shape{n, rows, depth}), in_.view(y, Shape{n, depth, columns})}, {},
                 Shape{n, rows, columns});
    return {.value = in_.view(matrices, sum), .labels = labels};
  }

  Rewriter& in_;
  std::vector<Operand> operands_;
  std::map<int, int64_t> sizes_;
};

Result<bool> einsum(Rewriter& in, const Node& node) {
  const std::string_view equation = node.attributes.get<std::string>("equation");
  const size_t arrow = equation.find("->");
  const std::vector<std::string_view> terms = split(equation.substr(0, arrow), ',');
  if (terms.size() != node.inputs.size()) return false;
  std::vector<Operand> operands;
  size_t max = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t rank = in.shape(node.inputs[i]).rank(), letters = letters_of(terms[i]);
    if (rank < letters) return false;
    const Labels labels = labels_of(terms[i], rank - letters);
    if (labels.size() != rank) return false;
    operands.push_back({.value = node.inputs[i], .labels = labels});
    max = std::max(max, rank - letters);
  }
  const Labels result =
      arrow == std::string_view::npos ? implied_result(operands) : labels_of(equation.substr(arrow + 2), max);
  for (Operand& operand : operands) operand = with_diagonals(in, std::move(operand));
  return rewritten(in.view_into(node.outputs[0], Summation(in, std::move(operands)).run(result)));
}

constexpr RewriteRow kEinsumRows[] = {{AtenOp::einsum_default, einsum}};
static_assert(rewrites_what_becomes(kEinsumRows));

}  // namespace

std::span<const RewriteRow> einsum_rows() {
  return kEinsumRows;
}

}  // namespace carina::normalize
