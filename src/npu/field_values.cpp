#include "npu/field_values.h"

#include <fmt/format.h>

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
  for (auto run = values.begin(); run != values.end();) {
    auto last = run;
    while (std::next(last) != values.end() && *std::next(last) == *last + 1) ++last;
    text += text.empty() ? "" : ", ";
    text += *last == *run ? fmt::format("{}", *run) : fmt::format("{}..{}", *run, *last);
    run = std::next(last);
  }
  return text;
}

}  // namespace carina::npu
