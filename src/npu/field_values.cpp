#include "npu/field_values.h"

#include <fmt/format.h>

#include <iterator>
#include <set>

namespace carina::npu {

std::string legal_values(const FieldRow& field, Product product) {
  std::set<uint32_t> values;
  if (field.values != nullptr) {
    for (const EnumValueRow& row : field.values->values) {
      if (contains(row.products, product)) values.insert(row.value);
    }
  }
  std::string text;
  for (auto first = values.begin(); first != values.end();) {
    auto last = first;
    while (std::next(last) != values.end() && *std::next(last) == *last + 1) ++last;
    const bool is_run = *last > *first + 1;
    if (!is_run) last = first;  // two adjacent values are listed separately, not as a range
    text += text.empty() ? "" : ", ";
    text += is_run ? fmt::format("{}..{}", *first, *last) : fmt::format("{}", *first);
    first = std::next(last);
  }
  return text;
}

}  // namespace carina::npu
