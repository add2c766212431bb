#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"
#include "frontend/pt2/reader.h"
#include "ir/graph.h"
#include "ir/pass.h"

namespace carina::models {

// A model as the stages hand it on.
struct Model {
  std::string name;                   // as messages call it
  std::vector<pt2::ModelNode> nodes;  // of the user's model
  // Normalized (normalize::prepare); Node::origin is the index in `nodes`. Values have `quantization` once they are quantized.
  ir::Graph graph;
  std::string quantization = "none";  // where that came from, for reports
};

struct ImportOptions {
  ir::PassOptions passes = {};  // of preparing
  int64_t loop_rounds = 0;      // pt2::ReadOptions::loop_rounds
};

// What became of the bytes of a model.
struct Import {
  std::vector<pt2::ModelNode> nodes;  // empty when the file itself cannot be read
  // Errors about nodes say so in Diagnostic::node, the index in `nodes`.
  Result<ir::Graph> graph;
  ir::Graph readable = {};  // where `graph` is an error: what could be read, not normalized
};

// Reads and normalizes a .pt2. Weights are views of `file`; `where` names the model in messages. Errors: of the reader;
// all operators that cannot be normalized; names of passes that there are not (usage).
Import import_model(const Buffer& file, const std::string& where, const Log& log, const ImportOptions& options = {});

// The same for those who need no more than the model.
Result<Model> import_pt2(const Buffer& file, const std::string& where, const Log& log,
                         const ImportOptions& options = {});

}  // namespace carina::models
