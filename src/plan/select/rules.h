#pragma once

#include "carina/result.h"
#include "plan/select/selection.h"

// One function per operator or family of operators: it makes the steps of the current node. Each file says how it
// works.
namespace carina::plan {

// Some functions have several rows: a function may be declared again.
#define CARINA_NPU_RULE(op, with_shram, without_shram) \
  Result<void> with_shram(Selection& s);               \
  Result<void> without_shram(Selection& s);
#define CARINA_NPU_RULE_WITHOUT_SHRAM(op, without_shram, reason, alternative) Result<void> without_shram(Selection& s);
#define CARINA_NO_NPU_RULE(op, reason, alternative)
#include "plan/select/rules.def"
#undef CARINA_NPU_RULE
#undef CARINA_NPU_RULE_WITHOUT_SHRAM
#undef CARINA_NO_NPU_RULE

// CAST to bool, where the NPU has no operation for it. select_cast() calls it.
Result<void> select_truth(Selection& s);

}  // namespace carina::plan
