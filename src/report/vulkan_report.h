#pragma once

#include <string>
#include <vector>

#include "results/vulkan_report.h"

namespace carina::report {

std::string to_text(const results::VulkanReport& report);
std::string to_json(const results::VulkanReport& report);

}  // namespace carina::report
