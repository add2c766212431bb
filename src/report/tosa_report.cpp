#include "report/tosa_report.h"

#include <fmt/format.h>

#include "report/json_internal.h"
#include "report/table.h"

namespace carina::report {

std::string to_text(const TosaReport& report) {
  const std::string format = report.version == "vgf" ? "VGF" : "TOSA " + report.version;
  return fmt::format("wrote {} ({}, {} B)\n", report.output, format, grouped(report.bytes));
}

std::string to_json(const TosaReport& report) {
  return json_text(
      {{"model", report.model}, {"tosa_version", report.version}, {"output", report.output}, {"bytes", report.bytes}});
}

}  // namespace carina::report
