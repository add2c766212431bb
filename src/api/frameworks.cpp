#include "api/frameworks.h"

#include "api/stage_options_internal.h"
#include "backends/backend.h"
#include "base/guarded.h"
#include "frontend/pt2/reader.h"

namespace carina::api {

namespace {

// Reads a float model that another program will quantize. Nodes of unknown operators stay in the graph.
Result<ir::Graph> read_to_quantize(const Buffer& pt2, std::string_view name, const Log& log) {
  return pt2::read_model(pt2, std::string(name), log, {.keep_unknown = true}).graph;
}

}  // namespace

Result<quantize::Annotations> annotate(const Buffer& pt2, std::string_view name, const quantize::NodeSchemes& schemes,
                                       const Log& log) {
  return guarded([&]() -> Result<quantize::Annotations> {
    CARINA_TRY(const ir::Graph graph, read_to_quantize(pt2, name, log));
    return quantize::annotate(graph, schemes);
  });
}

Result<std::vector<quantize::Expansion>> expand(const Buffer& pt2, std::string_view name,
                                                const quantize::NodeSchemes& schemes, const Log& log) {
  return guarded([&]() -> Result<std::vector<quantize::Expansion>> {
    CARINA_TRY(const ir::Graph graph, read_to_quantize(pt2, name, log));
    return quantize::expansions(graph, schemes);
  });
}

Result<std::vector<driver::NodeAssignment>> map_delegates(const Buffer& pt2, std::string_view name,
                                                          const TargetNames& target, const CompileOptions& options,
                                                          const Log& log) {
  return guarded([&]() -> Result<std::vector<driver::NodeAssignment>> {
    CARINA_TRY(const backends::Backend backend, backends::find_backend(target, log));
    return driver::map_delegates(pt2, std::string(name), backend, split_options(options.partition),
                                 delegate_options(options.delegate), log);
  });
}

Result<TargetMemories> memories_of(const TargetNames& target, const Log& log) {
  return guarded([&]() -> Result<TargetMemories> {
    CARINA_TRY(backends::Backend backend, backends::find_backend(target, log));
    return TargetMemories{.system_config = std::move(backend.system_config),
                          .memory_mode = std::move(backend.memory_mode),
                          .clock_hz = backend.clock_hz,
                          .arena_memory = std::move(backend.arena_memory),
                          .constants_memory = std::move(backend.constants_memory)};
  });
}

}  // namespace carina::api
