// Reads what a LiteRT file says about its command streams: those of Carina and those of Vela.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "frontend/tflite/model.h"
#include "npu/compiled_network.h"

namespace carina::litert {

// A custom operator "ethos-u".
struct NpuOperator {
  size_t index = 0;  // among the graph's operators
  Buffer payload = {};
  Buffer constants = {};     // may be empty
  int32_t scratch = 0;       // tensors of the graph
  int32_t fast_scratch = 0;  // the same as `scratch` if it has no memory of its own
  std::vector<int32_t> inputs = {};
  std::vector<int32_t> outputs = {};
};

// The main graph of a compiled file. All streams share one arena, through which they also pass values that are operands
// of none.
struct CompiledGraph {
  std::vector<NpuOperator> streams;
  std::vector<int64_t> addresses;  // of each tensor in the arena; -1: it has none
  int64_t arena_bytes = 0;
  int64_t fast_bytes = 0;  // of the largest fast scratch with memory of its own
};

// Checks the custom operators and the addresses of a file. Errors: operands that are missing or of the wrong kind; a
// plan of another number of tensors, or with addresses that are not possible; inputs and outputs of a stream that have
// no address, or do not lie in its scratch; addresses past the end of the arena; more than 4 GiB of memory; streams
// that are not driver payloads.
Result<CompiledGraph> read_compiled(const tflite::Model& model, const std::string& where);

// One stream as a network of its own: its inputs and outputs lie in the arena.
npu::NetworkInFile network_of(const tflite::Subgraph& graph, const CompiledGraph& compiled, const NpuOperator& stream);

}  // namespace carina::litert
