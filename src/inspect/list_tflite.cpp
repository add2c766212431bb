#include <fmt/format.h>

#include "frontend/tflite/reader.h"
#include "inspect/list_tflite_internal.h"
#include "litert/compiled_graph.h"
#include "npu/payload.h"

namespace carina::inspect {

namespace {

using results::Listing;

void add_tensor(Listing& listing, std::string kind, const tflite::Tensor& tensor, int64_t index) {
  Listing::Properties fields{{"index", index},
                             {"name", tensor.name},
                             {"type", fmt::format("{}{}", tensor.type_name, to_string(tensor.shape))}};
  const tflite::TensorQuantization& q = tensor.quantization;
  if (q.scales.size() == 1) {
    fields.emplace_back("scale", static_cast<double>(q.scales.front()));
    fields.emplace_back("zero_point", q.zero_points.front());
  } else if (!q.scales.empty()) {
    fields.emplace_back("scales", static_cast<int64_t>(q.scales.size()));
    fields.emplace_back("axis", static_cast<int64_t>(q.axis));
  }
  if (tensor.is_constant) fields.emplace_back("constant_bytes", static_cast<int64_t>(tensor.data.size()));
  listing.add(std::move(kind), std::move(fields));
}

void add_subgraph(Listing& listing, const tflite::Subgraph& graph) {
  const auto tensor = [&](int32_t index) -> const tflite::Tensor& { return graph.tensors[static_cast<size_t>(index)]; };
  for (const int32_t index : graph.inputs) add_tensor(listing, "input", tensor(index), index);
  for (const int32_t index : graph.outputs) add_tensor(listing, "output", tensor(index), index);
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const tflite::Operator& op = graph.operators[i];
    listing.add("operator", {{"index", static_cast<int64_t>(i)},
                             {"is", op.name},
                             {"version", int64_t{op.version}},
                             {"inputs", std::vector<int64_t>(op.inputs.begin(), op.inputs.end())},
                             {"outputs", std::vector<int64_t>(op.outputs.begin(), op.outputs.end())}});
  }
  for (size_t i = 0; i < graph.tensors.size(); ++i)
    add_tensor(listing, "tensor", graph.tensors[i], static_cast<int64_t>(i));
}

// The NPU's command streams in the main graph, and the arena that they share.
Result<void> add_streams(Listing& listing, const tflite::Model& model, const std::string& path) {
  CARINA_TRY(const litert::CompiledGraph compiled, litert::read_compiled(model, path));
  if (compiled.streams.empty()) return {};
  listing.add("arena", {{"bytes", compiled.arena_bytes}, {"fast_scratch_bytes", compiled.fast_bytes}});
  for (const litert::NpuOperator& stream : compiled.streams) {
    CARINA_TRY(const npu::Payload payload, npu::parse_payload(stream.payload.bytes(), path));
    listing.add("stream", {{"operator", static_cast<int64_t>(stream.index)},
                           {"target", std::string(payload.accelerator()->name)},
                           {"payload_bytes", static_cast<int64_t>(stream.payload.size())},
                           {"constant_bytes", static_cast<int64_t>(stream.constants.size())}});
  }
  return {};
}

}  // namespace

Result<Listing> list_tflite(const Buffer& file, const std::string& path) {
  CARINA_TRY(const tflite::Model model, tflite::read_model(file, path));
  Listing listing;
  listing.add("model", {{"bytes", static_cast<int64_t>(file.size())},
                        {"description", model.description},
                        {"subgraphs", static_cast<int64_t>(model.subgraphs.size())}});
  CARINA_CHECKED(add_streams(listing, model, path));
  for (const tflite::Subgraph& graph : model.subgraphs) add_subgraph(listing, graph);
  return listing;
}

}  // namespace carina::inspect
