// Writes LiteRT files with command streams.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "frontend/tflite/model.h"
#include "frontend/tflite/parts.h"
#include "npu/compiled_network.h"

namespace carina::litert {

// A part of the main graph, and for one on the NPU its command stream, whose inputs and outputs are in the part's
// order.
struct CompiledPart {
  tflite::Part part;
  npu::NetworkInFile network = {};
};

struct Written {
  std::vector<std::byte> file;
  int64_t arena_bytes = 0;  // of the main graph: streams, and the tensors of operators on the CPU
};

// Writes a file again, with a custom operator "ethos-u" in the place of each part on the NPU, in the form that TFLM's
// kernel for Ethos-U and its drivers take. `model` is what read_model() gives of `file`. The other operators, names,
// signatures, metadata and the quantization of inputs and outputs stay as they are. The metadata
// OfflineMemoryAllocation has the address of every tensor in the arena. `where` is the file's name in messages. Errors:
// sparse tensors and options of operators that cannot be copied; a result of more than 2 GB.
// Source of the form: TFLM, micro/kernels/ethos_u/ethosu.cc and micro_allocation_info.cc; files of ethos-u-vela 5.2.
Result<Written> write_compiled(const Buffer& file, const tflite::Model& model, const std::vector<CompiledPart>& parts,
                               const std::string& where);

}  // namespace carina::litert
