#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "interpret/checks_internal.h"

namespace carina::interpret {

Checks& Checks::reject(std::string what, std::string expected, std::string got) {
  failed_ = true;
  problem_ = plan_.diagnostic(std::move(what), std::move(expected), std::move(got));
  return *this;
}

Checks& Checks::operands(size_t inputs, size_t outputs) {
  if (failed_ || (plan_.in.size() == inputs && plan_.out.size() == outputs)) return *this;
  return reject("operands", fmt::format("{} inputs and {} outputs", inputs, outputs),
                fmt::format("{} and {}", plan_.in.size(), plan_.out.size()));
}

Checks& Checks::at_least(size_t inputs, size_t outputs) {
  if (failed_ || (plan_.in.size() >= inputs && plan_.out.size() >= outputs)) return *this;
  return reject("operands", fmt::format("at least {} inputs and {} outputs", inputs, outputs),
                fmt::format("{} and {}", plan_.in.size(), plan_.out.size()));
}

Checks& Checks::rank(const Operand& operand, size_t low, size_t high) {
  if (failed_ || (operand.rank() >= low && operand.rank() <= high)) return *this;
  return reject(fmt::format("rank of {}", operand.name),
                low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high),
                fmt::format("{}", operand.rank()));
}

Checks& Checks::shape(const Operand& operand, const Shape& expected) {
  if (failed_ || *operand.shape == expected) return *this;
  return reject(fmt::format("shape of {}", operand.name), to_string(expected), to_string(*operand.shape));
}

Checks& Checks::type(const Operand& operand, std::initializer_list<DType> allowed) {
  if (failed_ || std::ranges::find(allowed, operand.dtype) != allowed.end()) return *this;
  std::string names;
  for (const DType dtype : allowed) names += fmt::format("{}{}", names.empty() ? "" : " or ", name_of(dtype));
  return reject(fmt::format("type of {}", operand.name), names, std::string(name_of(operand.dtype)));
}

Checks& Checks::same_type(const Operand& operand, DType expected) {
  return type(operand, {expected});
}

Checks& Checks::require(bool holds, std::string_view what, std::string_view got) {
  if (failed_ || holds) return *this;
  return reject(std::string(what), {}, std::string(got));
}

Checks& Checks::list(std::string_view attribute, size_t length, int64_t low, int64_t high) {
  if (failed_) return *this;
  const std::vector<int64_t>& values = plan_.node.attributes.integers(attribute);
  const bool in_range = std::ranges::all_of(values, [&](int64_t v) { return v >= low && v <= high; });
  if (values.size() == length && in_range) return *this;
  return reject(std::string(attribute), fmt::format("{} values in [{}, {}]", length, low, high),
                fmt::format("[{}]", fmt::join(values, ",")));
}

Checks& Checks::axis(const Operand& operand) {
  if (failed_) return *this;
  const int64_t axis = plan_.node.attributes.integer("axis");
  if (axis >= 0 && axis < static_cast<int64_t>(operand.rank())) return *this;
  return reject("axis", fmt::format("in [0, {})", operand.rank()), fmt::format("{}", axis));
}

Checks& Checks::scalar(const Operand& operand) {
  if (failed_ || operand.shape->elements() == 1) return *this;
  return reject(fmt::format("shape of {}", operand.name), "one element", to_string(*operand.shape));
}

Result<void> Checks::done() const {
  if (failed_) return fail(problem_);
  return {};
}

Result<std::vector<int64_t>> shape_constant(const NodePlan& plan, const Operand& operand, size_t length) {
  if (operand.constant == nullptr) return fail(plan.diagnostic(fmt::format("{} is not a constant", operand.name)));
  if (operand.dtype != DType::kShape || operand.shape->elements() != static_cast<int64_t>(length)) {
    return fail(plan.diagnostic(fmt::format("shape operand {}", operand.name), fmt::format("{} values", length),
                                fmt::format("{} {}", name_of(operand.dtype), to_string(*operand.shape))));
  }
  const auto values = operand.constant->values<int64_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

namespace {

bool matches(const NodePlan& plan, const TypeRow& row) {
  if (row.size() > plan.in.size() + 1 || plan.out.empty()) return false;
  for (size_t i = 0; i + 1 < row.size(); ++i) {
    if (plan.in[i].dtype != row.types[i]) return false;
  }
  return plan.out[0].dtype == row.types[row.size() - 1];
}

std::string types_text(const TypeRow& row) {
  std::string text;
  for (size_t i = 0; i < row.size(); ++i) {
    text += i + 1 == row.size() ? " -> " : (i == 0 ? "" : ",");
    text += name_of(row.types[i]);
  }
  return text;
}

std::string types_found(const NodePlan& plan, size_t inputs) {
  std::string text;
  for (size_t i = 0; i < std::min(inputs, plan.in.size()); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ",", name_of(plan.in[i].dtype));
  return text + " -> " + std::string(plan.out.empty() ? "nothing" : name_of(plan.out[0].dtype));
}

}  // namespace

Result<Kernel> choose(const NodePlan& plan, std::span<const TypeRow> rows) {
  const auto row = std::ranges::find_if(rows, [&](const TypeRow& r) { return matches(plan, r); });
  if (row != rows.end()) return row->make(plan);
  std::string legal;
  for (const TypeRow& r : rows) legal += (legal.empty() ? "" : "; ") + types_text(r);
  return fail(plan.diagnostic(fmt::format("{} does not have these types", plan.node.op.name()), legal,
                              types_found(plan, rows.empty() ? 0 : rows.front().size() - 1)));
}

int64_t scalar_at(const std::byte* data, DType dtype) {
  const auto read = [&]<typename T>(T) {
    T value;
    std::memcpy(&value, data, sizeof(T));
    return static_cast<int64_t>(value);
  };
  switch (element_bytes(dtype)) {
    case 1:
      return dtype == DType::kUInt8 ? read(uint8_t{}) : read(int8_t{});
    case 2:
      return dtype == DType::kUInt16 ? read(uint16_t{}) : read(int16_t{});
    case 4:
      return read(int32_t{});
    default:
      return read(int64_t{});
  }
}

}  // namespace carina::interpret
