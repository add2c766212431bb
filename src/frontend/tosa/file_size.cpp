#include "frontend/tosa/file_size_internal.h"

#include <string>
#include <variant>
#include <vector>

namespace carina::tosa {

namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 31;

size_t estimated_bytes(const ir::Module& module) {
  size_t bytes = 4096;
  for (const ir::Graph& graph : module.graphs) {
    for (const ir::Value& value : graph.values) {
      // TOSA 0.80 stores bf16 constants as fp32.
      const size_t wide = value.dtype == DType::kBf16 ? 2 : 1;
      bytes += 160 + value.name.size() + (value.constant ? wide * value.constant->data.size() : 0);
    }
    for (const ir::Node& node : graph.nodes) {
      bytes += 256 + node.source.size() + 4 * node.inputs.size();
      for (const auto& [name, attribute] : node.attributes.list()) {
        if (const auto* text = std::get_if<std::string>(&attribute)) bytes += text->size();
        if (const auto* raw = std::get_if<ir::Bytes>(&attribute)) bytes += raw->bytes.size();
        if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute)) bytes += 8 * list->size();
      }
    }
  }
  return bytes;
}

}  // namespace

Result<size_t> estimated_file_bytes(const ir::Module& module, size_t more_bytes) {
  const size_t bytes = estimated_bytes(module);
  if (bytes < kMaxFileBytes - more_bytes) return bytes;  // FlatBufferBuilder would abort above this size
  return fail({.where = "TOSA file", .what = "the graph is too large for a TOSA file", .expected = "less than 2 GB"});
}

}  // namespace carina::tosa
