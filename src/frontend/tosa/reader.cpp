#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "facts/tosa_rows.h"
#include "frontend/tosa/block_reader_internal.h"
#include "frontend/tosa/reader_internal.h"

namespace carina::tosa {

namespace {

namespace format = carina::tosa::fb;

// The first block of a region has the region's name; further blocks have their own names.
struct NamedBlock {
  std::string name;
  const format::TosaBasicBlock* block;
};

Result<std::vector<NamedBlock>> blocks_of(const format::TosaGraph& file, const std::string& where, FileForm form) {
  std::vector<NamedBlock> out;
  std::unordered_set<std::string> names;
  for (uint32_t r = 0; r < count_of(file.regions()); ++r) {
    const format::TosaRegion& region = *file.regions()->Get(r);
    for (uint32_t b = 0; b < count_of(region.blocks()); ++b) {
      const format::TosaBasicBlock& block = *region.blocks()->Get(b);
      std::string name = text_of(block.name());
      // In 0.80 all blocks are in one region, and control flow refers to blocks.
      if (b == 0 && (form == FileForm::k1_x || name.empty())) name = text_of(region.name());
      if (!names.insert(name).second) return fail({.where = where, .what = "two regions or blocks are called " + name});
      out.push_back({.name = name, .block = &block});
    }
  }
  if (out.empty()) return fail({.where = where, .what = "the file has no region with a block"});
  return out;
}

// Control flow refers to regions by name. Some files use the name of a region's block instead. Error: no graph has the
// name.
Result<void> resolve_graph_names(ir::Module& module, const std::unordered_map<std::string, std::string>& graph_of_block,
                                 const std::string& where) {
  for (ir::Graph& graph : module.graphs) {
    for (ir::Node& node : graph.nodes) {
      for (const TosaAttribute& attribute : row_of(node.op.tosa()).attributes) {
        if (attribute.kind != TosaAttributeKind::kGraph) continue;
        const std::string name = node.attributes.get<std::string>(attribute.name);
        if (module.find(name) != nullptr) continue;
        const auto found = graph_of_block.find(name);
        if (found == graph_of_block.end()) {
          return fail({.where = fmt::format("{}: {}", where, node.name),
                       .what = fmt::format("{}: no region is called {}", attribute.name, name)});
        }
        node.attributes.set(attribute.name, found->second);
      }
    }
  }
  return {};
}

Result<void> check_compatibility(const format::TosaGraph& file, const std::string& where) {
  if (file.compatibility() == nullptr || file.compatibility()->features() == 0) return {};
  return fail({.where = where,
               .what = "the file needs features of TOSA 1.1 that Carina does not have",
               .got = fmt::format("feature bits {:#x}", file.compatibility()->features())});
}

}  // namespace

Result<ir::Module> read_regions(const Buffer& file, const std::string& where, FileForm form) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  const size_t size = std::min<size_t>(file.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  if (!is_sound({bytes, size}, form)) return fail({.where = where, .what = "the TOSA file is damaged"});
  const format::TosaGraph& graph = *format::GetTosaGraph(bytes);
  if (form == FileForm::k1_x) CARINA_CHECKED(check_compatibility(graph, where));
  CARINA_TRY(const std::vector<NamedBlock> blocks, blocks_of(graph, where, form));
  ir::Module module;
  std::unordered_map<std::string, std::string> graph_of_block;
  for (const NamedBlock& named : blocks) {
    CARINA_TRY(ir::Graph read,
               read_block(file, fmt::format("{}: {}", where, named.name), *named.block, form, named.name));
    module.graphs.push_back(std::move(read));
    graph_of_block.emplace(text_of(named.block->name()), named.name);
  }
  CARINA_CHECKED(resolve_graph_names(module, graph_of_block, where));
  return module;
}

}  // namespace carina::tosa
