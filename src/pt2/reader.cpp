#include "pt2/reader.h"

#include "pt2/importer_internal.h"

namespace carina::pt2 {

namespace {

// The JSON documents of an archive, which the importer's views refer to.
struct Documents {
  Archive archive;
  nlohmann::json model;
  nlohmann::json weights;
  nlohmann::json constants;
};

Result<Documents> open(const Buffer& file, const std::string& where) {
  CARINA_TRY(Archive archive, Archive::open(file, where));
  Result<nlohmann::json> parsed;
  archive.check_ahead([&] { parsed = archive.read_model(); });
  CARINA_TRY(nlohmann::json model, std::move(parsed));
  CARINA_TRY(nlohmann::json weights, archive.read_config(Store::kWeights));
  CARINA_TRY(nlohmann::json constants, archive.read_config(Store::kConstants));
  return Documents{.archive = std::move(archive),
                   .model = std::move(model),
                   .weights = std::move(weights),
                   .constants = std::move(constants)};
}

}  // namespace

Reading read_model(const Buffer& file, const std::string& where, const Log& log, const ReadOptions& options) {
  auto documents = open(file, where);
  if (!documents) return {.nodes = {}, .graph = std::unexpected(std::move(documents).error())};
  JsonErrors errors{.where = documents->archive.model_where(), .context = {}, .first = {}};
  Importer importer(JsonView(&documents->model, &errors), JsonView(&documents->weights, &errors),
                    JsonView(&documents->constants, &errors), documents->archive, log, options);
  return importer.run();
}

Result<ir::Graph> read_pt2(const Buffer& file, const std::string& where, const Log& log) {
  return read_model(file, where, log).graph;
}

}  // namespace carina::pt2
