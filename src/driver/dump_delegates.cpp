#include <fmt/format.h>

#include <span>
#include <utility>
#include <vector>

#include "driver/dump_delegates_internal.h"
#include "driver/operator_origins_internal.h"
#include "frontend/tosa/flatbuffer.h"

namespace carina::driver {

namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Adds the files of delegate `index`, whose names begin with `prefix`.
Result<void> dump(DumpFolder& folder, const Compilation& compilation, size_t index, const std::string& prefix,
                  const backends::Backend& backend, const CompileRequest& request) {
  const Delegated& delegated = *compilation.delegated;
  ir::Graph graph = delegated.split.tosa[index];
  const std::string origins = operators_json(compilation.model, graph);
  CARINA_CHECKED(folder.add(prefix + "_operators.json", bytes_of(origins)));
  for (ir::Node& node : graph.nodes) {
    const auto location = request.locations.find(user_node_of(compilation.model, node));
    if (location != request.locations.end()) node.source = location->second;
  }
  graph.name = "main";  // the name under which the TOSA reference model looks it up
  CARINA_TRY(auto tosa, tosa::write_tosa({.graphs = {std::move(graph)}}));
  CARINA_CHECKED(folder.add(fmt::format("{}_{}.tosa", prefix, backend.tosa_spec), std::move(tosa)));
  for (const backends::Artifact& artifact : delegated.delegates[index].artifacts)
    CARINA_CHECKED(folder.add(fmt::format("{}_{}", prefix, artifact.suffix), artifact.bytes));
  return {};
}

}  // namespace

Result<void> dump_delegates(DumpFolder& folder, const Compilation& compilation, const backends::Backend& backend,
                            const CompileRequest& request, const MethodDelegates& of) {
  for (size_t i = 0; i < compilation.delegated->delegates.size(); ++i) {
    const std::string method = of.method.empty() ? std::string() : "_" + of.method;
    CARINA_CHECKED(dump(folder, compilation, i, fmt::format("output_tag{}{}", of.first + i, method), backend, request));
  }
  return {};
}

}  // namespace carina::driver
