// Declares the shapes of slices and diagonals, which the operators that read and those that write them share.
#pragma once

#include <expected>
#include <string>

#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

// Attributes dim, start, end, step.
std::expected<Shape, std::string> shape_of_slice(const NodeView& n);
// Attributes dim, index.
std::expected<Shape, std::string> shape_of_element(const NodeView& n);
// Attributes offset, dim1, dim2.
std::expected<Shape, std::string> shape_of_diagonal(const NodeView& n);
// Attributes size, stride, storage_offset, which stay within the first operand.
std::expected<Shape, std::string> shape_of_strided(const NodeView& n);

}  // namespace carina::aten
