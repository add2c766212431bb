#include "plan/family/rules/rules.h"

#include <array>

#include "carina/check.h"
#include "plan/select/rules.h"

// The rules of each product, from the table src/plan/select/rules.def.
namespace carina::plan {
namespace {

constexpr std::string_view kNoBitwise = "the NPU has no bitwise operations";
constexpr std::string_view kNoIndexing = "the NPU cannot address by index";
constexpr std::string_view kNoFloat = "the NPU computes integers only: quantize the model";
constexpr std::string_view kNoControl = "the NPU has no control flow";
constexpr std::string_view kNoState = "the NPU keeps no state between runs";
constexpr std::string_view kStateInstead = "make the state an input and an output of the network";
constexpr std::string_view kTableInstead =
    "with a constant, a TABLE of int8 says the same; of truth values, LOGICAL_* do";
constexpr std::string_view kSlicesInstead = "with constant indices, SLICE and CONCAT say the same";

#define CARINA_NO_NPU_RULE(op, reason, alternative) Rule{TosaOp::op, nullptr, reason, alternative},

constexpr auto kRulesWithShram = std::to_array<Rule>({
#define CARINA_NPU_RULE(op, with_shram, without_shram) Rule{TosaOp::op, with_shram, {}},
#define CARINA_NPU_RULE_WITHOUT_SHRAM(op, without_shram, reason, alternative) \
  Rule{TosaOp::op, nullptr, reason, alternative},
#include "plan/select/rules.def"
#undef CARINA_NPU_RULE
#undef CARINA_NPU_RULE_WITHOUT_SHRAM
});

constexpr auto kRulesWithoutShram = std::to_array<Rule>({
#define CARINA_NPU_RULE(op, with_shram, without_shram) Rule{TosaOp::op, without_shram, {}},
#define CARINA_NPU_RULE_WITHOUT_SHRAM(op, without_shram, reason, alternative) Rule{TosaOp::op, without_shram, {}},
#include "plan/select/rules.def"
#undef CARINA_NPU_RULE
#undef CARINA_NPU_RULE_WITHOUT_SHRAM
});

#undef CARINA_NO_NPU_RULE

}  // namespace

std::span<const Rule> rules_of(npu::Product product) {
  switch (product) {
    case npu::Product::kU55:
    case npu::Product::kU65:
      return kRulesWithShram;
    case npu::Product::kU85:
      return kRulesWithoutShram;
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
