#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "frontend/vgf/container.h"

// Runs VGF files on a Vulkan device that supports or emulates the ML extensions (VK_ARM_tensors, VK_ARM_data_graph).
namespace carina::vulkan {

// A physical device, and the features it lacks to run graphs. If the list is empty, it can run them.
struct Candidate {
  std::string name;
  std::vector<std::string> missing;  // "extension VK_ARM_tensors", "a queue for data graphs"
};

struct Survey {
  std::string loader;   // the loader library; empty if there is none
  std::string failure;  // why devices could not be queried; empty if they were
  std::vector<Candidate> devices;
};

// Lists the devices of this machine. Never fails: missing features are part of the result.
Survey survey();

class Device;
struct OpenDevice;  // device_internal.h

// A VGF file prepared for a device: its tensors, constants and pipelines.
class Graph {
 public:
  // Runs one inference. `inputs` and `outputs` are the file's, in order, each with exactly its number of bytes. Errors:
  // a wrong number or size; Vulkan's errors.
  Result<void> run(std::span<const std::span<const std::byte>> inputs, std::span<const std::span<std::byte>> outputs);
  // Returns the duration of the last run in nanoseconds, by the device's clock. For a device without one, it is the
  // time from submission to completion.
  [[nodiscard]] int64_t nanoseconds() const;

  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

 private:
  friend class Device;
  struct State;
  explicit Graph(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A device for data graphs; graphs of it must not outlive it.
class Device {
 public:
  // Opens the first physical device that can run graphs. Errors: no Vulkan loader; no such device, with the features
  // that each device lacks.
  static Result<Device> open();

  [[nodiscard]] const std::string& name() const;

  // Compiles the graph segments of a file. `where` is the file's name in messages. Errors: compute segments, by name;
  // resources that are not tensors; Vulkan's errors.
  Result<Graph> load(const vgf::Container& file, const std::string& where) const;

  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;
  ~Device();

 private:
  explicit Device(std::unique_ptr<OpenDevice> device);
  std::unique_ptr<OpenDevice> device_;
};

}  // namespace carina::vulkan
