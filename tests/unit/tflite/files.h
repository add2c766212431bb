// Makes .tflite files of one operator in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "tflite_generated.h"

namespace carina::tflite {

struct FileTensor {
  std::string name;
  std::vector<int32_t> shape;
  int8_t type = 9;  // INT8
  std::vector<float> scale = {0.5F};
  std::vector<int64_t> zero_point = {0};
  std::vector<uint8_t> data = {};
  int32_t axis = 0;
  std::optional<uint32_t> buffer = {};  // instead of that of `data`
};

// Everything that a test may want to damage.
struct File {
  std::vector<FileTensor> tensors;
  std::vector<int32_t> inputs = {0};
  std::vector<int32_t> outputs = {1};
  int8_t old_code = 19;  // RELU
  int32_t code = 0;
  std::string custom;
  std::vector<int32_t> op_inputs = {0};
  std::vector<int32_t> op_outputs = {1};
  uint32_t op_code_index = 0;
  uint32_t version = 3;
  int subgraphs = 1;
};

// x: int8 [1,4] with scale 1/2 -> RELU -> y with the same quantization.
inline File relu_file() {
  return {.tensors = {{.name = "x", .shape = {1, 4}}, {.name = "y", .shape = {1, 4}}}, .custom = {}};
}

inline Buffer bytes_of(const File& file) {
  flatbuffers::FlatBufferBuilder b;
  b.ForceDefaults(false);
  std::vector<flatbuffers::Offset<fb::Buffer>> buffers{fb::CreateBuffer(b)};
  std::vector<flatbuffers::Offset<fb::Tensor>> tensors;
  for (const FileTensor& t : file.tensors) {
    uint32_t buffer = 0;
    if (!t.data.empty()) {
      buffer = static_cast<uint32_t>(buffers.size());
      buffers.push_back(fb::CreateBufferDirect(b, &t.data));
    }
    const auto q = fb::CreateQuantizationParametersDirect(b, nullptr, nullptr, &t.scale, &t.zero_point, 0, 0, t.axis);
    tensors.push_back(fb::CreateTensorDirect(b, &t.shape, t.type, t.buffer.value_or(buffer), t.name.c_str(), q));
  }
  const std::vector ops{fb::CreateOperatorDirect(b, file.op_code_index, &file.op_inputs, &file.op_outputs)};
  std::vector<flatbuffers::Offset<fb::SubGraph>> graphs;
  for (int i = 0; i < file.subgraphs; ++i)
    graphs.push_back(fb::CreateSubGraphDirect(b, &tensors, &file.inputs, &file.outputs, &ops, "main"));
  const char* custom = file.custom.empty() ? nullptr : file.custom.c_str();
  const std::vector codes{fb::CreateOperatorCodeDirect(b, file.old_code, custom, 1, file.code)};
  b.Finish(fb::CreateModelDirect(b, file.version, &codes, &graphs, "test", &buffers), "TFL3");
  return Buffer::copy_of(std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize())));
}

}  // namespace carina::tflite
