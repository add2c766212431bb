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
  // Runs a command stream and returns when the NPU is done. `payload`: the driver payload ("COP1" ...), 16-byte
  // aligned. `bases`: the memory of region 0 (constants, read-only), region 1 (scratch with inputs and outputs) and
  // region 2 (fast scratch, may be empty). Error: kDelegateFailed if the NPU reports a fault.
  virtual Error invoke(std::span<const std::byte> payload, std::span<const std::span<std::byte>> bases) = 0;

 protected:
  ~NpuDriver() = default;
};

// One input or output of a delegate, as the blob describes it.
struct NpuTensor {
  std::array<int32_t, 6> shape{};
  int32_t element_bytes = 0;
  int32_t offset = 0;
  int32_t region = 0;
  size_t bytes = 0;  // of the whole tensor
};

// The table of inputs or outputs of a blob: rows of int32.
struct NpuTensorTable {
  std::span<const std::byte> rows;
  size_t axes = 6;  // 4 before ExecuTorch 0.4, padded with zeros at the end

  // the shape, and element size, offset, region
  [[nodiscard]] size_t row_bytes() const { return (axes + 3) * sizeof(int32_t); }
  [[nodiscard]] size_t count() const { return rows.size() / row_bytes(); }
};

// A parsed delegate blob (vela_bin_stream). All spans point into the blob.
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

// Parses a blob and checks all of it: the blob's alignment to 16 bytes, first and last block, every block's size, the
// magic of the commands, every tensor inside the scratch memory. Errors: kInvalidProgram; kNotSupported for blocks
// outside the blob and for tensors in another region than scratch. It also reads blobs of ExecuTorch before 0.4, with a
// block scratch_data of the scratch's size and shapes of four axes. Source: ExecuTorch's VelaBinStream.
Error read_npu_stream(std::span<const std::byte> blob, NpuStream& stream);

// Where a delegate's blob places an argument. Source: the blob's tables of inputs and outputs.
bool npu_argument_place(std::span<const std::byte> blob, size_t argument, ArgumentPlace& place);

// The backend "EthosUBackend" ("ArmBackend" in old files). It copies inputs to scratch memory, runs the command stream,
// and copies outputs back. A state that stays in the scratch memory (runtime/delegate_state.h) is not copied, or moved
// to its place after the run.
class EthosUBackend final : public Backend {
 public:
  // `fast_scratch` is the memory of region 2, for streams compiled with a dedicated SRAM.
  constexpr explicit EthosUBackend(NpuDriver& driver, std::span<std::byte> fast_scratch = {})
      : driver_(driver), fast_scratch_(fast_scratch) {}

  [[nodiscard]] std::string_view id() const override;
  [[nodiscard]] bool serves(std::string_view delegate_id) const override;
  [[nodiscard]] PlaceOf place_of() const override { return npu_argument_place; }
  Error init(std::span<const std::byte> blob, std::span<const CompileSpec> specs, Arena& arena, void** handle) override;
  // Allocates the stream's scratch memory from `scratch`. Errors: kInvalidArgument (number, type or size of arguments),
  // kOutOfMemory, and those of the driver.
  Error execute(void* handle, Arguments arguments, Arena& scratch) override;

 private:
  NpuDriver& driver_;
  std::span<std::byte> fast_scratch_;
};

}  // namespace carina::runtime
