#pragma once

#include <memory>

#include "accelerate/step_internal.h"
#include "accelerate/vector_internal.h"

// Elementwise steps with a repeated operand.
namespace carina::accelerate {

struct Operands {
  const EValue* a;
  const EValue* b;
  EValue* out;
};

// out = a op b, where one operand is repeated along some axes of the other. For `-` and `/` it must be the second.
// Returns nullptr for other sizes, types or layouts, and for rows that are too short to be faster.
std::unique_ptr<Step> make_broadcast(Arithmetic op, Operands operands);

}  // namespace carina::accelerate
