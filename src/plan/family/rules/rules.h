#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "facts/npu_targets.h"
#include "plan/select/rule.h"

// The operator rules of each family.
namespace carina::plan {

// The rules of a product family: one per TOSA operator.
std::span<const Rule> rules_of(npu::Product product);

// Why a TOSA operator does not run on a product family, whatever its types. Empty if it may run.
std::optional<std::string_view> why_not(TosaOp op, npu::Product product);

}  // namespace carina::plan
