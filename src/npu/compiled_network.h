#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "npu/weights/value_counts.h"

// The result of a compilation: a command stream, its constants, and the tables that describe them.
namespace carina::npu {

// A network input or output as the NPU sees it: its region, its offset, and its shape with leading ones.
struct IoTensor {
  std::array<int32_t, 6> shape{1, 1, 1, 1, 1, 1};
  int32_t element_bytes = 1;
  int32_t region = 1;
  int64_t offset = 0;  // bytes from the region's base
  bool operator==(const IoTensor&) const = default;
};

// The part of the command stream that belongs to one operation, for listings, profiles and diagnostics.
struct LayerNote {
  std::string name = {};
  std::vector<std::string> tosa_ops = {};      // names of the TOSA nodes that it computes
  std::optional<size_t> node = {};             // index of the first of them in the compiled graph
  std::vector<std::string> source_lines = {};  // of the user's model: "model.py:41"
  size_t first_word = 0;                       // words of the command stream: [first_word, end_word)
  size_t end_word = 0;
  bool operator==(const LayerNote&) const = default;
};

// The contents of one stream of encoded weights.
struct StreamNote {
  int64_t offset = 0;  // bytes from the start of `weights`
  int64_t bytes = 0;
  ValueCounts values = {};
  bool operator==(const StreamNote&) const = default;
};

// Where the elements of a value of the compiled graph are, as TOSA defines them. They are there from the end of a layer
// until the last layer that reads them.
struct ValueNote {
  struct Axis {
    int64_t size = 1;
    int64_t stride = 0;  // in elements of the tensor
  };
  size_t value = 0;  // its index in the compiled graph
  size_t layer = 0;  // index in CompiledNetwork::layers
  int32_t region = 1;
  int64_t address = 0;  // of the tensor that contains the elements: bytes from the region's base
  int64_t element_bytes = 1;
  int64_t offset = 0;  // of the first element, in elements of the tensor
  std::vector<Axis> axes = {};
  // The tensor's layout: rows of NHCWB16 of this size, or row-major elements if `brick_depth` is 0.
  int64_t brick_width = 0;
  int64_t brick_depth = 0;
};

// A network compiled for one NPU configuration. A program file contains it; a driver or the simulator runs it.
struct CompiledNetwork {
  std::vector<std::byte> command_payload = {};  // driver payload, starts with "COP1" (npu/payload.h)
  std::vector<std::byte> weights = {};          // the bytes of region `weight_region`: weights, scales, tables
  int64_t scratch_bytes = 0;                    // bytes of the arena in region `scratch_region`
  int64_t fast_scratch_bytes = 0;               // 0 if the memory mode has none
  int64_t working_bound_bytes = 0;  // of fast scratch, otherwise of the arena: the most bytes that live at one time. No
                                    // allocation takes less. Not part of any file format
  int32_t weight_region = 0;
  int32_t scratch_region = 1;
  int32_t fast_scratch_region = 2;
  std::vector<IoTensor> inputs = {};
  std::vector<IoTensor> outputs = {};
  std::vector<LayerNote> layers = {};    // not part of any file format; empty after reading one
  std::vector<StreamNote> streams = {};  // likewise; a stream may occur more than once
  std::vector<ValueNote> values = {};    // likewise; values without an address of their own are absent
};

// A network whose weights stay in the file that it was read from. `network.weights` is empty.
struct NetworkInFile {
  CompiledNetwork network = {};
  Buffer weights = {};
};

}  // namespace carina::npu
