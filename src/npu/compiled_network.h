#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/memory/buffer.h"
#include "npu/value_counts.h"

namespace carina::npu {

// A network input or output as the NPU sees it: where it lies in which region, and its shape padded with ones in front.
struct IoTensor {
  std::array<int32_t, 6> shape{1, 1, 1, 1, 1, 1};
  int32_t element_bytes = 1;
  int32_t region = 1;
  int64_t offset = 0;  // bytes from the region's base
  bool operator==(const IoTensor&) const = default;
};

// Which part of the command stream one operation became, for listings, profiles and diagnostics.
struct LayerNote {
  std::string name = {};
  std::vector<std::string> tosa_ops = {};      // names of the TOSA nodes that it computes
  std::optional<size_t> node = {};             // the first of them: its index in the graph that was compiled
  std::vector<std::string> source_lines = {};  // of the user's model: "model.py:41"
  size_t first_word = 0;                       // words of the command stream: [first_word, end_word)
  size_t end_word = 0;
  bool operator==(const LayerNote&) const = default;
};

// What a stream of encoded weights holds.
struct StreamNote {
  int64_t offset = 0;  // bytes from the start of `weights`
  int64_t bytes = 0;
  ValueCounts values = {};
  bool operator==(const StreamNote&) const = default;
};

// A network compiled for one NPU configuration: what a program file carries and what a driver or the simulator runs.
struct CompiledNetwork {
  std::vector<std::byte> command_payload = {};  // driver payload, "COP1" first (npu/payload.h)
  std::vector<std::byte> weights = {};          // the content of region `weight_region`: weights, scales, tables
  int64_t scratch_bytes = 0;                    // the arena that the network needs in region `scratch_region`
  int64_t fast_scratch_bytes = 0;               // 0 where the memory mode has none
  int64_t working_bound_bytes = 0;  // of fast scratch, else of the arena: the most that live at one time, below
                                    // which no placement can be. Not part of any file format
  int32_t weight_region = 0;
  int32_t scratch_region = 1;
  int32_t fast_scratch_region = 2;
  std::vector<IoTensor> inputs = {};
  std::vector<IoTensor> outputs = {};
  std::vector<LayerNote> layers = {};    // not part of any file format; empty after reading one
  std::vector<StreamNote> streams = {};  // the same; a stream may be named more than once
};

// A network whose weights stay in the file that it was read from: `network` has none.
struct NetworkInFile {
  CompiledNetwork network = {};
  Buffer weights = {};
};

}  // namespace carina::npu
