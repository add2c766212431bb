// TABLE: i8 uses a table of 256 entries; i16 interpolates between 513 entries.

#include <algorithm>

#include "interpret/elementwise_internal.h"
#include "kernels/micro/microkernels.h"

namespace carina::interpret {

namespace {

using enum DType;

Kernel table_of_bytes(const NodePlan& plan) {
  return {.run = [count = plan.out[0].shape->elements()](const Call& call) -> Result<void> {
    split(call.runtime.workers, count, 8192, [&](int64_t begin, int64_t end) {
      kernels::look_up(call.input<int8_t>(1), call.input<int8_t>(0) + begin, call.output<int8_t>(0) + begin,
                       end - begin);
    });
    return {};
  }};
}

struct Table16 {
  static constexpr std::string_view kRequire = "neighboring table entries differ by more than i16 holds";
  const int16_t* table;
  int32_t apply(int32_t x, bool& bad) const {
    const int32_t index = (x + 32768) >> 7;
    const int32_t fraction = x & 0x7F;
    const int32_t base = table[index];
    const int32_t slope = table[index + 1] - base;
    bad |= slope < -32768 || slope > 32767;
    return base * 128 + slope * fraction;
  }
};

}  // namespace

Result<Kernel> prepare_TABLE(const NodePlan& plan) {
  CARINA_CHECKED(check_elementwise(plan, 1, 1));
  static constexpr TypeRow kRows[] = {
      {.types = {kInt8, kInt8, kInt8}, .make = &table_of_bytes},
      {.types = {kInt16, kInt16, kInt32},
       .make =
           [](const NodePlan& p) {
             return elementwise_with<I32, I16>(p, [](const Call& call) { return Table16{call.input<int16_t>(1)}; });
           }},
  };
  CARINA_CHECKED(Checks(plan).shape(plan.in[1], plan.in[0].dtype == kInt8 ? Shape{256} : Shape{513}).done());
  return choose(plan, kRows);
}

}  // namespace carina::interpret
