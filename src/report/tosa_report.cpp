#include "report/render.h"

#include <fmt/format.h>

#include "report/tables/json.h"
#include "report/tables/text_table.h"

namespace carina::report {

std::string to_text(const results::TosaReport& report) {
  const std::string format = report.version == "vgf" ? "VGF" : "TOSA " + report.version;
  return fmt::format("wrote {} ({}, {} B)\n", report.output, format, grouped(report.bytes));
}

std::string to_json(const results::TosaReport& report) {
  return json_text(
      {{"model", report.model}, {"tosa_version", report.version}, {"output", report.output}, {"bytes", report.bytes}});
}

}  // namespace carina::report
