#include "plan/family/rules/rules.h"

#include "carina/check.h"
#include "plan/family/rules/rules_internal.h"

namespace carina::plan {

std::span<const Rule> rules_of(npu::Product product) {
  switch (product) {
    case npu::Product::kU55:
    case npu::Product::kU65:
      return shram_rules();
    case npu::Product::kU85:
      return u85_rules();
  }
  CARINA_UNREACHABLE("product", product);
}

std::optional<std::string_view> why_not(TosaOp op, npu::Product product) {
  for (const Rule& rule : rules_of(product)) {
    if (rule.op == op) return rule.select == nullptr ? std::optional(rule.reason) : std::nullopt;
  }
  return "not supported";
}

}  // namespace carina::plan
