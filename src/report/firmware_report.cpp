#include "report/render.h"

#include <fmt/format.h>

#include "report/report_parts_internal.h"
#include "report/tables/json.h"

namespace carina::report {

std::string to_text(const results::FirmwareReport& report) {
  const std::string kernels = report.kernels > 0 ? fmt::format(" with {} kernels", report.kernels) : "";
  return fmt::format("{} ({} bytes) put into {}{}\nwrote {}\n", report.program, report.program_bytes, report.image,
                     kernels, report.output);
}

std::string to_json(const results::FirmwareReport& report) {
  return json_text({{"program", report.program},
                    {"image", report.image},
                    {"output", report.output},
                    {"program_bytes", report.program_bytes},
                    {"image_bytes", report.image_bytes},
                    {"kernels", report.kernels}});
}

std::string to_text(const results::QemuReport& report) {
  std::string text = report.tests ? to_text(*report.tests) : std::string();
  for (const results::TensorReport& tensor : report.outputs) {
    if (!tensor.file.empty()) text += fmt::format("{}: {} -> {}\n", tensor.name, tensor.type, tensor.file);
  }
  return text;
}

std::string to_json(const results::QemuReport& report) {
  Json outputs = Json::array();
  for (const results::TensorReport& tensor : report.outputs)
    outputs.push_back(
        {{"name", tensor.name}, {"type", tensor.type}, {"file", tensor.file}, {"preview", tensor.preview}});
  Json json = {{"image", report.image}, {"console", report.console}, {"outputs", outputs}, {"samples", report.samples}};
  if (report.tests) json["tests"] = tests_json(*report.tests);
  return json_text(json);
}

}  // namespace carina::report
