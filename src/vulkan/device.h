#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "frontend/vgf/container.h"

// VGF files on a Vulkan device that has the ML extensions (VK_ARM_tensors, VK_ARM_data_graph), or emulates them.
namespace carina::vulkan {

// What a physical device lacks to run graphs; nothing: it runs them.
struct Candidate {
  std::string name;
  std::vector<std::string> missing;  // "extension VK_ARM_tensors", "a queue for data graphs"
};

struct Survey {
  std::string loader;   // the library that was opened; empty: there is none
  std::string failure;  // why no devices could be asked for; empty: they were
  std::vector<Candidate> devices;
};

// What is there. Never fails: what is missing is the answer.
Survey survey();

class Device;
struct OpenDevice;  // device_internal.h

// A VGF file made ready on a device: its tensors, constants and pipelines.
class Graph {
 public:
  // One inference. `inputs` and `outputs` are the file's, in order, each of exactly its bytes. Errors: another number or
  // size; what Vulkan says.
  Result<void> run(std::span<const std::span<const std::byte>> inputs, std::span<const std::span<std::byte>> outputs);
  // What the device took for the last run, in nanoseconds, by its own clock; of one without, from submitting to the end.
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
  // The first physical device that runs graphs. Errors: no Vulkan loader, no such device, each with what it lacks.
  static Result<Device> open();

  [[nodiscard]] const std::string& name() const;

  // Compiles the graph segments of a file. Errors: compute segments, by their names; resources that are no tensors; what
  // Vulkan says. `where` is what messages call the file.
  Result<Graph> load(const vgf::Container& file, const std::string& where) const;

  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;
  ~Device();

 private:
  explicit Device(std::unique_ptr<OpenDevice> device);
  std::unique_ptr<OpenDevice> device_;
};

}  // namespace carina::vulkan
