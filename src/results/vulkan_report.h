#pragma once

#include <string>
#include <vector>

namespace carina::results {
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

}  // namespace carina::results
