#include <fmt/format.h>

#include "interpret/kernel_internal.h"

namespace carina::interpret {

Diagnostic NodePlan::diagnostic(std::string what, std::string expected, std::string got) const {
  return {.where = where, .what = std::move(what), .expected = std::move(expected), .got = std::move(got)};
}

std::unexpected<Diagnostics> fail_at(const Call& call, const Shape& shape, int64_t element, std::string what) {
  Shape index = shape;
  for (size_t axis = shape.rank(); axis-- > 0;) {
    index[axis] = shape[axis] == 0 ? 0 : element % shape[axis];
    element = shape[axis] == 0 ? 0 : element / shape[axis];
  }
  return fail({.where = std::string(call.where),
               .what = fmt::format("REQUIRE broken at element {}: {}", to_string(index), what)});
}

}  // namespace carina::interpret
