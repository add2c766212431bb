#include "frontend/pt2/reader.h"

#include "frontend/pt2/importer_internal.h"

namespace carina::pt2 {

namespace {

// The JSON documents of an archive. The importer has views of them.
struct Documents {
  nlohmann::json model;
  nlohmann::json weights;
  nlohmann::json constants;
};

Result<Documents> documents_of(const Archive& archive) {
  CARINA_TRY(nlohmann::json model, archive.read_model());
  CARINA_TRY(nlohmann::json weights, archive.read_config(Store::kWeights));
  CARINA_TRY(nlohmann::json constants, archive.read_config(Store::kConstants));
  return Documents{.model = std::move(model), .weights = std::move(weights), .constants = std::move(constants)};
}

Reading read(Archive& archive, const Log& log, const ReadOptions& options) {
  const auto documents = documents_of(archive);
  if (!documents) return {.nodes = {}, .graph = std::unexpected(documents.error())};
  JsonErrors errors{.where = archive.model_where(), .context = {}, .first = {}};
  Importer importer(JsonView(&documents->model, &errors), JsonView(&documents->weights, &errors),
                    JsonView(&documents->constants, &errors), archive, log, options);
  return importer.run();
}

}  // namespace

// Reads the model while other threads check the checksums of its weights. If a checksum is wrong, the model is read
// again sequentially, so that the error is reported.
Reading read_model(const Buffer& file, const std::string& where, const Log& log, const ReadOptions& options) {
  auto archive = Archive::open(file, where);
  if (!archive) return {.nodes = {}, .graph = std::unexpected(std::move(archive).error())};
  Reading reading;
  Diagnostics notes;
  Log later = log;
  later.note = [&](const Diagnostic& note) { notes.push_back(note); };
  if (!archive->check_ahead([&](Archive& unchecked) { reading = read(unchecked, later, options); }))
    return read(*archive, log, options);
  for (const Diagnostic& note : notes) log.note(note);
  return reading;
}

Result<ir::Graph> read_pt2(const Buffer& file, const std::string& where, const Log& log) {
  return read_model(file, where, log).graph;
}

}  // namespace carina::pt2
