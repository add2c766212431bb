#pragma once

#include <string>
#include <vector>

namespace carina::report {

// A physical device, and what it lacks to run VGF graphs; nothing: it runs them.
struct VulkanDevice {
  std::string name;
  std::vector<std::string> missing;
};

// What `carina targets --vulkan` says.
struct VulkanReport {
  std::string loader;   // the library; empty: there is none
  std::string failure;  // why devices could not be asked for; empty: they were
  std::vector<VulkanDevice> devices;
};

std::string to_text(const VulkanReport& report);
std::string to_json(const VulkanReport& report);

}  // namespace carina::report
