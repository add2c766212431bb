#pragma once

#include <memory>

#include "accelerate/step_internal.h"
#include "accelerate/vector_internal.h"

namespace carina::accelerate {

struct Operands {
  const EValue* a;
  const EValue* b;
  EValue* out;
};

// out = a op b where one of the two, of `-` and `/` the second, is repeated along some axes of the other; nullptr: of other
// sizes, types or layouts, or in rows too short to be faster.
std::unique_ptr<Step> make_broadcast(Arithmetic op, Operands operands);

}  // namespace carina::accelerate
