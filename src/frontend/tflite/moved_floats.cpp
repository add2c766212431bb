#include "frontend/tflite/moved_floats.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace carina::tflite {

namespace {

constexpr std::string_view kMovers[] = {"BATCH_TO_SPACE_ND",
                                        "BROADCAST_TO",
                                        "CONCATENATION",
                                        "DEPTH_TO_SPACE",
                                        "EXPAND_DIMS",
                                        "GATHER",
                                        "MIRROR_PAD",
                                        "PAD",
                                        "PADV2",
                                        "REVERSE_V2",
                                        "SELECT",
                                        "SELECT_V2",
                                        "SLICE",
                                        "SPACE_TO_BATCH_ND",
                                        "SPACE_TO_DEPTH",
                                        "SPLIT_V",
                                        "SQUEEZE",
                                        "TILE",
                                        "TRANSPOSE"};

}  // namespace

bool moves_floats(const Subgraph& graph, const Operator& op) {
  return !op.outputs.empty() && graph.tensors[static_cast<size_t>(op.outputs.front())].dtype == DType::kFp32 &&
         std::ranges::find(kMovers, op.name) != std::end(kMovers);
}

void take_floats_as_integers(Model& model) {
  for (Tensor& tensor : model.subgraphs.front().tensors) {
    if (tensor.dtype != DType::kFp32) continue;
    tensor.dtype = DType::kInt32;
    tensor.quantization = {};
  }
}

}  // namespace carina::tflite
