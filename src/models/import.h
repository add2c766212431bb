// Declares an imported model and the functions that read and normalize a .pt2.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "frontend/pt2/reader.h"
#include "ir/graph.h"
#include "ir/pass.h"

namespace carina::models {

// An imported model, passed from stage to stage.
struct Model {
  std::string name;                   // as messages call it
  std::vector<pt2::ModelNode> nodes;  // of the user's model
  // Normalized (normalize::normalize); Node::origin is the index in `nodes`. Values have `quantization` once they are
  // quantized.
  ir::Graph graph;
  std::string quantization = "none";              // the origin of the quantization, for reports
  bool random_ranges = false;                     // quantized with ranges of random inputs
  size_t samples = 0;                             // of calibration
  std::vector<std::string> beyond_int32 = {};     // names of values of int64 that the samples have shown beyond int32
  std::map<size_t, std::string> left_float = {};  // by index in `nodes`: why the scheme leaves the node float
};

struct ImportOptions {
  ir::PassOptions passes = {};               // of preparing
  int64_t loop_rounds = 0;                   // pt2::ReadOptions::loop_rounds
  bool keep_unknown = false;                 // pt2::ReadOptions::keep_unknown
  std::set<std::string> shared_states = {};  // pt2::ReadOptions::shared_states
  std::vector<std::string> shapes = {};      // tflite::set_shapes(), of a LiteRT file
  std::string signature = {};                // tflite::choose_signature(), of a LiteRT file with several graphs
  bool for_cpu = false;                      // normalize::normalize_for_cpu(), if the model is not quantized
};

// The result of an import, with partial results if it failed.
struct Import {
  std::vector<pt2::ModelNode> nodes;  // empty when the file itself cannot be read
  // Errors about nodes say so in Diagnostic::node, the index in `nodes`.
  Result<ir::Graph> graph;
  ir::Graph readable = {};   // if `graph` is an error: the nodes that could be read, not normalized
  Diagnostics unknown = {};  // with ImportOptions::keep_unknown: the errors of nodes with an unknown operator
};

// Whether a file is a LiteRT model that computes with floats alone, which is imported and quantized like a .pt2.
bool is_float_tflite(const Buffer& file, const std::string& where);

// Reads and normalizes a .pt2, or a LiteRT file of floats. Weights are views of `file`; `where` names the model in
// messages. Errors: the reader's; all operators that cannot be normalized; unknown pass names (usage); a LiteRT file
// that is quantized already.
Import import_model(const Buffer& file, const std::string& where, const Log& log, const ImportOptions& options = {});

// Normalizes a graph that has been read. Errors: as import_model()'s; Diagnostic::node is the node's origin.
Result<void> normalize_graph(ir::Graph& graph, const ImportOptions& options, const Log& log);

// Like import_model(), without partial results.
Result<Model> import_pt2(const Buffer& file, const std::string& where, const Log& log,
                         const ImportOptions& options = {});

}  // namespace carina::models
