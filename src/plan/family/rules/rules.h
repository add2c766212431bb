#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "facts/npu_targets.h"
#include "plan/select/rule.h"

namespace carina::plan {

// What a line of NPUs does with each TOSA operator.
std::span<const Rule> rules_of(npu::Product product);

// Why a TOSA operator does not run on a product family whatever its types; nothing when it may.
std::optional<std::string_view> why_not(TosaOp op, npu::Product product);

}  // namespace carina::plan
