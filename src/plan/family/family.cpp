#include "plan/family/family.h"

#include <algorithm>

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

Space working_space(const Target& target, const Family& family) {
  const auto spaces = family.spaces(target);
  const bool fast = spaces && (*spaces)[static_cast<size_t>(Space::kFastScratch)].has_value();
  return fast ? Space::kFastScratch : Space::kArena;
}

int64_t working_limit_bytes(const Target& target, const Family& family, int64_t asked_bytes) {
  const auto spaces = family.spaces(target);
  CARINA_CHECK(spaces.has_value(), "the target was not checked");
  const int64_t there = (*spaces)[static_cast<size_t>(working_space(target, family))]->limit_bytes;
  return asked_bytes > 0 ? std::min(asked_bytes, there) : there;
}

}  // namespace carina::plan
