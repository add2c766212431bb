#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/backend.h"

namespace carina::runtime {

// Runs command streams: the simulator on a host, the core driver (ethosu_invoke_v3) on a Cortex-M.
class NpuDriver {
 public:
  // `payload`: the driver payload ("COP1" ...), 16-byte aligned. `bases`: the memory of regions 0 constants (not to be
  // written to), 1 scratch with inputs and outputs, 2 fast scratch (may be empty). Returns when the NPU is done;
  // kDelegateFailed when it reports a fault.
  virtual Error invoke(std::span<const std::byte> payload, std::span<const std::span<std::byte>> bases) = 0;

 protected:
  ~NpuDriver() = default;
};

// One input or output of a delegate as the blob describes it.
struct NpuTensor {
  std::array<int32_t, 6> shape{};
  int32_t element_bytes = 0;
  int32_t offset = 0;
  int32_t region = 0;
  size_t bytes = 0;  // of the whole tensor
};

// A delegate's blob (vela_bin_stream), taken apart. All spans point into the blob.
struct NpuStream {
  std::span<const std::byte> commands;
  std::span<const std::byte> weights;
  std::span<const std::byte> inputs;  // entries of 9 int32
  std::span<const std::byte> outputs;
  size_t scratch_bytes = 0;

  [[nodiscard]] size_t input_count() const { return inputs.size() / 36; }
  [[nodiscard]] size_t output_count() const { return outputs.size() / 36; }
  [[nodiscard]] NpuTensor input(size_t index) const;
  [[nodiscard]] NpuTensor output(size_t index) const;
};

// Takes a blob apart and checks all of it: the blob's alignment to 16 bytes, first and last block, every block's size,
// the magic of the commands, every tensor inside the scratch memory. Errors: kInvalidProgram; kNotSupported for blocks
// outside the blob and for tensors in another region than scratch. Source: ExecuTorch's VelaBinStream.
Error read_npu_stream(std::span<const std::byte> blob, NpuStream& stream);

// The delegate "EthosUBackend": copies inputs into scratch memory, runs the command stream, copies outputs back.
class EthosUBackend final : public Backend {
 public:
  // `fast_scratch`: memory of region 2, for streams compiled with a dedicated SRAM.
  explicit EthosUBackend(NpuDriver& driver, std::span<std::byte> fast_scratch = {})
      : driver_(driver), fast_scratch_(fast_scratch) {}

  [[nodiscard]] std::string_view id() const override;
  Error init(std::span<const std::byte> blob, std::span<const CompileSpec> specs, Arena& arena, void** handle) override;
  // Needs the stream's scratch size from `scratch`. Errors: kInvalidArgument (count, type or size of an argument),
  // kOutOfMemory, the driver's.
  Error execute(void* handle, Arguments arguments, Arena& scratch) override;

 private:
  NpuDriver& driver_;
  std::span<std::byte> fast_scratch_;
};

}  // namespace carina::runtime
