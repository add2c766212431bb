// Renders the report of a run on a Vulkan device. to_text() is for a reader, to_json() for a program.
#pragma once

#include <string>
#include <vector>

#include "results/vulkan_report.h"

namespace carina::report {

std::string to_text(const results::VulkanReport& report);
std::string to_json(const results::VulkanReport& report);

}  // namespace carina::report
