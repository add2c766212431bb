#pragma once

#include <string>
#include <vector>

namespace carina::results {
// A physical device, and the features it lacks to run VGF graphs. If the list is empty, it can run them.
struct VulkanDevice {
  std::string name;
  std::vector<std::string> missing;
};

// The result of `carina targets --vulkan`.
struct VulkanReport {
  std::string loader;   // the loader library; empty if there is none
  std::string failure;  // why devices could not be queried; empty if they were
  std::vector<VulkanDevice> devices;
};

}  // namespace carina::results
