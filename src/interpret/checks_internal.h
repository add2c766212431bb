#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string>

#include "interpret/kernel_internal.h"

// Checks of a node's operands and attributes, and the choice of its kernel by type.
namespace carina::interpret {

// Checks of a node that come before its kernel is made. The first failure is kept, and later checks are skipped.
class Checks {
 public:
  explicit Checks(const NodePlan& plan) : plan_(plan) {}

  Checks& operands(size_t inputs, size_t outputs);
  Checks& at_least(size_t inputs, size_t outputs);
  Checks& rank(const Operand& operand, size_t low, size_t high);
  Checks& shape(const Operand& operand, const Shape& expected);
  Checks& type(const Operand& operand, std::initializer_list<DType> allowed);
  Checks& same_type(const Operand& operand, DType expected);
  // Requires any condition; `what` says what must hold.
  Checks& require(bool holds, std::string_view what, std::string_view got = {});
  // Requires a list attribute of this length with values in [low, high].
  Checks& list(std::string_view attribute, size_t length, int64_t low, int64_t high);
  Checks& axis(const Operand& operand);  // attribute "axis" in [0, rank)
  // Requires one element of an integer type, such as a zero point or a shift.
  Checks& scalar(const Operand& operand);

  [[nodiscard]] bool good() const { return !failed_; }
  // Success, or the reason why the node cannot run.
  [[nodiscard]] Result<void> done() const;

 private:
  Checks& reject(std::string what, std::string expected, std::string got);
  const NodePlan& plan_;
  bool failed_ = false;
  Diagnostic problem_;
};

// The constant integers of a shape operand. Errors: not a constant; not `length` long.
Result<std::vector<int64_t>> shape_constant(const NodePlan& plan, const Operand& operand, size_t length);

// A type combination of an operator, and its kernel. `types` are those of the first inputs and then of the output; the
// remaining entries are kUnknown.
struct TypeRow {
  std::array<DType, 5> types;
  Kernel (*make)(const NodePlan&);

  [[nodiscard]] constexpr size_t size() const {
    size_t n = 0;
    while (n < types.size() && types[n] != DType::kUnknown) ++n;
    return n;
  }
};
// The kernel of the row that matches the types of the first inputs (one less than the row has) and of output 0. Errors:
// no row matches.
Result<Kernel> choose(const NodePlan& plan, std::span<const TypeRow> rows);

// The single element at `data` of an integer operand (i4 and bool are stored as i8).
int64_t scalar_at(const std::byte* data, DType dtype);

}  // namespace carina::interpret
