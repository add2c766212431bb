#include <array>
#include <map>

#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

std::unexpected<std::string> no_product(const Shape& a, const Shape& b) {
  return broken("{} and {} cannot be multiplied", to_string(a), to_string(b));
}

std::expected<Shape, std::string> product_of(const Shape& a, const Shape& b, size_t rank) {
  if (a.rank() != rank || b.rank() != rank || a[rank - 1] != b[rank - 2]) return no_product(a, b);
  if (rank == 3 && a[0] != b[0]) return no_product(a, b);
  Shape result = a;
  result[rank - 1] = b[rank - 1];
  return result;
}

template <size_t kRank>
Shapes product(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, n.node.inputs.size()));
  CARINA_TRY(const Shape shape, product_of(n.shape(0), n.shape(1), kRank));
  return one(shape);
}

// self + a @ b
template <size_t kRank>
Shapes sum_of_product(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, n.node.inputs.size()));
  CARINA_TRY(const Shape shape, product_of(n.shape(1), n.shape(2), kRank));
  if (!broadcasts_to(n.shape(0), shape))
    return broken("{} cannot be added to {}", to_string(n.shape(0)), to_string(shape));
  return one(shape);
}

// Matrices along the last two axes; a vector is a row on the left and a column on the right; other axes are broadcast.
Shapes matmul(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, n.node.inputs.size()));
  const Shape &a = n.shape(0), &b = n.shape(1);
  if (a.rank() == 0 || b.rank() == 0) return no_product(a, b);
  const int64_t inner = b.rank() == 1 ? b[0] : b[b.rank() - 2];
  if (a[a.rank() - 1] != inner) return no_product(a, b);
  const auto batch = [](const Shape& shape) {
    return shape.dims().first(shape.rank() - std::min<size_t>(shape.rank(), 2));
  };
  CARINA_TRY(const Shape batches, broadcast_shapes(Shape(batch(a)), Shape(batch(b))));
  Sizes sizes = sizes_of(batches);
  if (a.rank() > 1) sizes.push_back(a[a.rank() - 2]);
  if (b.rank() > 1) sizes.push_back(b[b.rank() - 1]);
  return one(sizes);
}

Shapes matrix_by_vector(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, n.node.inputs.size()));
  const Shape &a = n.shape(0), &b = n.shape(1);
  if (a.rank() != 2 || b.rank() != 1 || a[1] != b[0]) return no_product(a, b);
  return one(Sizes{a[0]});
}

Shapes sum_of_matrix_by_vector(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, n.node.inputs.size()));
  const Shape &a = n.shape(1), &b = n.shape(2);
  if (a.rank() != 2 || b.rank() != 1 || a[1] != b[0]) return no_product(a, b);
  if (!broadcasts_to(n.shape(0), Shape{a[0]})) return broken("{} cannot be added to [{}]", to_string(n.shape(0)), a[0]);
  return one(Sizes{a[0]});
}

Shapes dot(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, n.node.inputs.size()));
  if (n.rank(0) != 1 || n.shape(0) != n.shape(1)) return no_product(n.shape(0), n.shape(1));
  return one(Shape{});
}

// The sizes of an equation's letters. An ellipsis stands for the axes without a letter, which are broadcast.
class Equation {
 public:
  // "ij,...j" with the shapes of the operands
  std::expected<void, std::string> add(std::string_view term, const Shape& shape) {
    size_t letters = 0, ellipses = 0;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term[i] == ' ') continue;
      if (term.substr(i).starts_with("...")) {
        ++ellipses;
        i += 2;
      } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
        ++letters;
        ++count_[term[i]];
      } else {
        return broken("its equation has a character that is no letter");
      }
    }
    if (ellipses > 1 || letters > shape.rank() || (ellipses == 0 && letters != shape.rank()))
      return broken("its equation does not fit an operand of shape {}", to_string(shape));
    return assign(term, shape, shape.rank() - letters);
  }

  Shapes result(std::string_view term) const {
    Sizes sizes;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term[i] == ' ') continue;
      if (term.substr(i).starts_with("...")) {
        for (const int64_t size : rest_.dims()) sizes.push_back(size);
        i += 2;
        continue;
      }
      const auto size = sizes_.find(term[i]);
      if (size == sizes_.end()) return broken("its equation has a result axis that no operand has");
      sizes.push_back(size->second);
    }
    return one(sizes);
  }

  // Without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
  Shapes implied_result() const {
    Sizes sizes = sizes_of(rest_);
    for (const auto& [letter, times] : count_) {
      if (times == 1) sizes.push_back(sizes_.at(letter));
    }
    return one(sizes);
  }

 private:
  std::expected<void, std::string> assign(std::string_view term, const Shape& shape, size_t others) {
    size_t axis = 0;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term[i] == ' ') continue;
      if (term[i] == '.') {
        CARINA_TRY(rest_, broadcast_shapes(rest_, Shape(shape.dims().subspan(axis, others))));
        axis += others;
        i += 2;
        continue;
      }
      int64_t& size = sizes_.try_emplace(term[i], 1).first->second;
      if (size != 1 && shape[axis] != 1 && size != shape[axis])
        return broken("axis {} of its equation has the sizes {} and {}", term[i], size, shape[axis]);
      if (size == 1) size = shape[axis];
      ++axis;
    }
    return {};
  }

  std::map<char, int64_t> sizes_;
  std::map<char, int> count_;
  Shape rest_;
};

Shapes einsum(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, n.node.inputs.size()));
  const auto& text = n.node.attributes.get<std::string>("equation");
  const size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation equation;
  for (size_t i = 0; i < n.node.inputs.size(); ++i) {
    const size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == n.node.inputs.size()))
      return broken("its equation is not for {} operands", n.node.inputs.size());
    CARINA_CHECKED(equation.add(left.substr(0, comma), n.shape(i)));
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  if (n.node.inputs.empty()) return broken("it has no operand");
  return arrow == std::string::npos ? equation.implied_result()
                                    : equation.result(std::string_view(text).substr(arrow + 2));
}

constexpr std::array kProductRules = {
    Rule{AtenOp::mm_default, product<2>, same_type},
    Rule{AtenOp::mm_dtype, product<2>, unchecked_type},
    Rule{AtenOp::bmm_default, product<3>, same_type},
    Rule{AtenOp::bmm_dtype, product<3>, unchecked_type},
    Rule{AtenOp::addmm_default, sum_of_product<2>, same_type},
    Rule{AtenOp::addmm_dtype, sum_of_product<2>, unchecked_type},
    Rule{AtenOp::baddbmm_default, sum_of_product<3>, same_type},
    Rule{AtenOp::baddbmm_dtype, sum_of_product<3>, unchecked_type},
    Rule{AtenOp::addmv_default, sum_of_matrix_by_vector, same_type},
    Rule{AtenOp::matmul_default, matmul, same_type},
    Rule{AtenOp::mv_default, matrix_by_vector, same_type},
    Rule{AtenOp::dot_default, dot, same_type},
    Rule{AtenOp::einsum_default, einsum, same_type},
};

}  // namespace

std::span<const Rule> product_rules() {
  return kProductRules;
}

}  // namespace carina::aten
