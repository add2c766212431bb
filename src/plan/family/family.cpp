#include "plan/family/family.h"

#include <fmt/format.h>

#include "plan/compile.h"
#include "plan/family/shram_internal.h"

namespace carina::plan {
namespace {

const Family* family_of(npu::Product product) {
  switch (product) {
    case npu::Product::kU55:
      return &kU55;
    case npu::Product::kU65:
      return &kU65;
    case npu::Product::kU85:
      return nullptr;
  }
  CARINA_UNREACHABLE("product", product);
}

}  // namespace

Result<const Family*> find_family(const Target& target) {
  const Family* family = family_of(target.accelerator.product);
  if (family == nullptr) {
    return fail({.where = "target",
                 .what = fmt::format("compiling for {} is not supported", target.accelerator.name),
                 .expected = fmt::format("{} or {}", kU55.name, kU65.name),
                 .fault = Fault::kUsage});
  }
  CARINA_CHECKED(family->spaces(target));
  return family;
}

bool compiles_for(npu::Product product) {
  return family_of(product) != nullptr;
}

std::optional<std::string_view> why_not(TosaOp op, npu::Product product) {
  const Family* family = family_of(product);
  if (family == nullptr) return "not supported";
  for (const Rule& rule : family->rules()) {
    if (rule.op == op) return rule.select == nullptr ? std::optional(rule.reason) : std::nullopt;
  }
  return "not supported";
}

}  // namespace carina::plan
