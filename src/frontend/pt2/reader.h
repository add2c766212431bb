#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"
#include "ir/user_module.h"

namespace carina::pt2 {

// A node of an exported program, whether Carina knows its operator or not. Nodes that only compute or check sizes, and
// nodes that only wrap others, are not included.
struct ModelNode {
  std::string name;
  std::string op;                            // "aten.conv2d.default"
  std::string source;                        // "model.py:41", may be empty
  std::vector<ir::UserModule> modules = {};  // from the outermost module to the innermost
};

// The result of reading an exported program, with partial results if it failed.
struct Reading {
  std::vector<ModelNode> nodes;  // in the program's order; empty if the file itself cannot be read
  // Node::origin is the index in `nodes`. For an error about a node, Diagnostic::node is also that index.
  Result<ir::Graph> graph;
  // If `graph` is an error: the nodes that could be read. The results of the others are graph inputs.
  ir::Graph readable = {};
  // With ReadOptions::keep_unknown: the errors of the nodes that are kept in the graph as calls of unknown delegates.
  Diagnostics unknown = {};
};

struct ReadOptions {
  // The number of iterations of each while_loop that the graph contains. Later iterations are not run, and a note
  // reports that. 0: loops are errors.
  int64_t loop_rounds = 0;
  // If set, a node that cannot be read becomes an executorch_call_delegate with the attribute "delegate" = -1, which no
  // target supports. It is for callers that need only the other nodes. Otherwise such a node is an error.
  bool keep_unknown = false;
  // Buffers that other methods of the program change, by name. They are state, also if this model only reads or only
  // overwrites them.
  std::set<std::string> shared_states = {};
};

// Reads the archive that torch.export.save() of torch 2.9 to 2.15 wrote (TRAINING, ATEN and EDGE dialects) as an ATen
// graph.
// - Inputs and outputs are the user's, in order. Parameters, buffers and lifted tensors are constants whose bytes are
//   views of `archive`; weights that are strided in their storage are copied.
// - The inputs of a node are its tensor operands in schema order; lists are flattened, None is an invalid id. Its
//   attributes are all other arguments by name, with defaults filled in. A Python number in a tensor's place is a
//   constant of shape [].
// - In-place operators have their functional form. Symbolic sizes have the values of the example input; a note says so.
// - Both branches of `cond` are in the graph, followed by a selection. So are the iterations of while_loop (adr/0058).
// - Node::source is the last line of the user's own code in the stack trace, "model.py:41".
// `where` is the file's name in messages. Errors: not such an archive; a damaged file or one of another version;
// pickled or missing weights; unsupported operators (all of them at once); state that the model keeps between runs.
// Source: docs/facts/formats.md 1.
Result<ir::Graph> read_pt2(const Buffer& archive, const std::string& where, const Log& log);

// Like read_pt2(), with partial results for a program that cannot be read as a whole.
Reading read_model(const Buffer& archive, const std::string& where, const Log& log, const ReadOptions& options = {});

}  // namespace carina::pt2
