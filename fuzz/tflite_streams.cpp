// Reads any bytes as a LiteRT file with command streams: operands, payloads and the plan of the arena.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "frontend/tflite/reader.h"
#include "litert/compiled_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carina;
  const Buffer file = Buffer::copy_of(std::as_bytes(std::span(data, size)));
  const auto model = tflite::read_model(file, "fuzz");
  if (!model) return 0;
  const auto compiled = litert::read_compiled(*model, "fuzz");
  if (!compiled) return 0;
  for (const litert::NpuOperator& stream : compiled->streams) {
    const npu::NetworkInFile network = litert::network_of(model->subgraphs.front(), *compiled, stream);
    for (const npu::IoTensor& input : network.network.inputs) {
      if (input.offset < 0 || input.offset > compiled->arena_bytes) std::abort();
    }
  }
  return 0;
}
