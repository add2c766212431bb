#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "facts/npu_enums.h"

namespace carina::npu {

// Events of the performance monitors (npu_pmu.def). The value is the event's number in PMEVTYPER.
enum class PmuEvent : uint16_t {
#define CARINA_NPU_PMU_EVENT(name, number, products) name = number,
#include "facts/npu_pmu.def"
#undef CARINA_NPU_PMU_EVENT
};

struct PmuEventRow {
  PmuEvent event;
  std::string_view name;
  Products products;
};
inline constexpr auto kPmuEvents = std::to_array<PmuEventRow>({
#define CARINA_NPU_PMU_EVENT(name, number, products) {PmuEvent::name, #name, Products::products},
#include "facts/npu_pmu.def"
#undef CARINA_NPU_PMU_EVENT
});

// The number of counters in addition to the 48-bit cycle counter.
constexpr int pmu_counters(Product product) {
  return is_u85(product) ? 8 : 4;
}

constexpr std::string_view name_of(PmuEvent event, Product product) {
  for (const PmuEventRow& row : kPmuEvents) {
    if (row.event == event && contains(row.products, product)) return row.name;
  }
  return "?";
}

}  // namespace carina::npu
