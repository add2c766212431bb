#include "pt2/reader.h"

#include "pt2/importer_internal.h"

namespace carina::pt2 {

Result<ir::Graph> read_pt2(const Buffer& file, const std::string& where, const Log& log) {
  CARINA_TRY(Archive archive, Archive::open(file, where));
  CARINA_TRY(const nlohmann::json model, archive.read_model());
  CARINA_TRY(const nlohmann::json weights, archive.read_config(Store::kWeights));
  CARINA_TRY(const nlohmann::json constants, archive.read_config(Store::kConstants));
  JsonErrors errors{.where = archive.model_where(), .context = {}, .first = {}};
  Importer importer(JsonView(&model, &errors), JsonView(&weights, &errors), JsonView(&constants, &errors), archive,
                    log);
  CARINA_TRY(ir::Graph graph, importer.run());
  graph.name = "main";
  return graph;
}

}  // namespace carina::pt2
