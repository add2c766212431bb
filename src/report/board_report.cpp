#include "report/render.h"

#include <fmt/format.h>

#include <cmath>

#include "report/tables/json.h"
#include "report/tables/text_table.h"

namespace carina::report {
namespace {

std::string percent(double estimated, double measured) {
  return fmt::format("{:+.1f} %", 100 * (estimated / measured - 1));
}

std::string cycles(double count) {
  return grouped(std::llround(count));
}

}  // namespace

std::string to_text(const results::BoardCalibration& fitted) {
  using enum Align;
  Table table({{.title = "stream"},
               {.title = "measured cycles", .align = kRight},
               {.title = "before", .align = kRight},
               {.title = "fitted", .align = kRight}});
  for (const results::BoardMeasurement& row : fitted.measurements)
    table.add({row.stream, cycles(row.measured_cycles), percent(row.before_cycles, row.measured_cycles),
               percent(row.fitted_cycles, row.measured_cycles)});
  return table.text(0) +
         fmt::format("second memory: clock scale {:.6g}, read latency {} cycles; SRAM: latency {} cycles\n",
                     fitted.second_memory_clock_scale, fitted.second_memory_read_latency_cycles,
                     fitted.sram_latency_cycles) +
         fmt::format("wrote [System_Config.{}] to {}; the worst residual is {:.1f} %\n", fitted.name, fitted.output,
                     100 * fitted.worst_residual);
}

std::string to_json(const results::BoardCalibration& fitted) {
  Json rows = Json::array();
  for (const results::BoardMeasurement& row : fitted.measurements)
    rows.push_back({{"stream", row.stream},
                    {"measured_cycles", row.measured_cycles},
                    {"before_cycles", row.before_cycles},
                    {"fitted_cycles", row.fitted_cycles}});
  return json_text({{"name", fitted.name},
                    {"start", fitted.start},
                    {"output", fitted.output},
                    {"second_memory_clock_scale", fitted.second_memory_clock_scale},
                    {"second_memory_read_latency_cycles", fitted.second_memory_read_latency_cycles},
                    {"sram_latency_cycles", fitted.sram_latency_cycles},
                    {"worst_residual", fitted.worst_residual},
                    {"measurements", rows}});
}

}  // namespace carina::report
