#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/memory/zeroed_pages.h"
#include "carina/result.h"
#include "carina/tensor.h"
#include "npu/compiled_network.h"
#include "simulate/simulator.h"

namespace carina::check {

// The bytes of a network input or output in the memory of a run. Throws InternalError if they are outside of a region.
std::span<std::byte> bytes_of(const npu::IoTensor& io, const simulate::Memory& memory, size_t bytes);

// The elements of a value in the memory of a run, row-major. Throws InternalError if they are outside of a region.
std::vector<std::byte> elements_of(const npu::ValueNote& note, const simulate::Memory& memory);

// A network on the simulator, with garbage where nothing has been written.
class NetworkRun {
 public:
  NetworkRun(const npu::CompiledNetwork& network, simulate::Options options);

  // Runs the network. Errors: the simulator's.
  Result<simulate::Report> run(std::span<const Tensor> inputs);
  [[nodiscard]] const simulate::Memory& memory() const { return memory_; }

 private:
  const npu::CompiledNetwork& network_;
  ZeroedPages scratch_;
  ZeroedPages fast_;
  simulate::Memory memory_;
  simulate::Simulator simulator_;
};

}  // namespace carina::check
