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

// The inputs or outputs that a blob describes: rows of int32.
struct NpuTensorTable {
  std::span<const std::byte> rows;
  size_t axes = 6;  // 4 before ExecuTorch 0.4, filled up with zeros behind

  [[nodiscard]] size_t row_bytes() const { return (axes + 3) * sizeof(int32_t); }  // and element size, offset, region
  [[nodiscard]] size_t count() const { return rows.size() / row_bytes(); }
};

// A delegate's blob (vela_bin_stream), taken apart. All spans point into the blob.
struct NpuStream {
  std::span<const std::byte> commands;
  std::span<const std::byte> weights;
  NpuTensorTable inputs;
  NpuTensorTable outputs;
  size_t scratch_bytes = 0;

  [[nodiscard]] size_t input_count() const { return inputs.count(); }
  [[nodiscard]] size_t output_count() const { return outputs.count(); }
  [[nodiscard]] NpuTensor input(size_t index) const;
  [[nodiscard]] NpuTensor output(size_t index) const;
};

// Takes a blob apart and checks all of it: the blob's alignment to 16 bytes, first and last block, every block's size,
// the magic of the commands, every tensor inside the scratch memory. Errors: kInvalidProgram; kNotSupported for blocks
// outside the blob and for tensors in another region than scratch. Blobs of ExecuTorch before 0.4 are read too: a block
// scratch_data of the scratch's size, shapes of four axes. Source: ExecuTorch's VelaBinStream.
Error read_npu_stream(std::span<const std::byte> blob, NpuStream& stream);

// The delegate "EthosUBackend" ("ArmBackend" in old files): copies inputs into scratch memory, runs the command stream,
// copies outputs back.
class EthosUBackend final : public Backend {
 public:
  // `fast_scratch`: memory of region 2, for streams compiled with a dedicated SRAM.
  explicit EthosUBackend(NpuDriver& driver, std::span<std::byte> fast_scratch = {})
      : driver_(driver), fast_scratch_(fast_scratch) {}

  [[nodiscard]] std::string_view id() const override;
  [[nodiscard]] bool serves(std::string_view delegate_id) const override;
  Error init(std::span<const std::byte> blob, std::span<const CompileSpec> specs, Arena& arena, void** handle) override;
  // Needs the stream's scratch size from `scratch`. Errors: kInvalidArgument (count, type or size of an argument),
  // kOutOfMemory, the driver's.
  Error execute(void* handle, Arguments arguments, Arena& scratch) override;

 private:
  NpuDriver& driver_;
  std::span<std::byte> fast_scratch_;
};

}  // namespace carina::runtime
