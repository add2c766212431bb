#include "plan/family/family.h"

#include "plan/compile.h"
#include "plan/family/shram_internal.h"
#include "plan/family/u85_internal.h"

namespace carina::plan {
namespace {

const Family& family_of(npu::Product product) {
  switch (product) {
    case npu::Product::kU55:
      return kU55;
    case npu::Product::kU65:
      return kU65;
    case npu::Product::kU85:
      return kU85;
  }
  CARINA_UNREACHABLE("product", product);
}

}  // namespace

Result<const Family*> find_family(const Target& target) {
  const Family& family = family_of(target.accelerator.product);
  CARINA_CHECKED(family.spaces(target));
  return &family;
}

bool compiles_for(npu::Product /*product*/) {
  return true;
}

std::optional<std::string_view> why_not(TosaOp op, npu::Product product) {
  for (const Rule& rule : family_of(product).rules()) {
    if (rule.op == op) return rule.select == nullptr ? std::optional(rule.reason) : std::nullopt;
  }
  return "not supported";
}

}  // namespace carina::plan
