#include "report/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/tables/json.h"

namespace carina::report {

std::string to_text(const results::VulkanReport& report) {
  std::string out = fmt::format("Vulkan loader: {}\n", report.loader.empty() ? "none" : report.loader);
  if (!report.failure.empty()) return out + report.failure + "\n";
  if (report.devices.empty()) out += "no devices\n";
  for (const results::VulkanDevice& device : report.devices)
    out += device.missing.empty() ? fmt::format("{}: runs VGF graphs\n", device.name)
                                  : fmt::format("{}: lacks {}\n", device.name, fmt::join(device.missing, ", "));
  return out;
}

std::string to_json(const results::VulkanReport& report) {
  Json devices = Json::array();
  for (const results::VulkanDevice& device : report.devices)
    devices.push_back({{"name", device.name}, {"runs_graphs", device.missing.empty()}, {"missing", device.missing}});
  return json_text(Json({{"loader", report.loader}, {"failure", report.failure}, {"devices", std::move(devices)}}));
}

}  // namespace carina::report
