#include "report/report_parts_internal.h"

#include <fmt/format.h>

#include "report/tables/text_table.h"

namespace carina::report {

std::string interval_text(const npu::CycleInterval& interval) {
  if (interval.basis.empty() || interval.highest == 0) return {};
  return fmt::format("hardware: {} to {} cycles expected ({})\n", grouped(interval.lowest), grouped(interval.highest),
                     interval.basis);
}

}  // namespace carina::report
