#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"
#include "ir/user_module.h"

namespace carina::pt2 {

// A node of an exported program, whether Carina knows its operator or not. Nodes that only compute sizes or check them,
// and those that only wrap others, do not count.
struct ModelNode {
  std::string name;
  std::string op;                            // "aten.conv2d.default"
  std::string source;                        // "model.py:41", may be empty
  std::vector<ir::UserModule> modules = {};  // from the outermost to the one that calls it
};

// What could be read of an exported program.
struct Reading {
  std::vector<ModelNode> nodes;  // in the program's order; empty when the file itself cannot be read
  // Node::origin is the index in `nodes`. An error that is about a node says so in Diagnostic::node, likewise.
  Result<ir::Graph> graph;
  // Where `graph` is an error: the nodes that could be read, with the results of the others as graph inputs.
  ir::Graph readable = {};
  // With ReadOptions::keep_unknown: what is wrong with the nodes that stand in the graph as calls of unknown delegates.
  Diagnostics unknown = {};
};

struct ReadOptions {
  // The number of rounds of each while_loop in the graph. Later rounds are not run, and a note says so. 0: loops are
  // errors.
  int64_t loop_rounds = 0;
  // A node that cannot be read becomes an executorch_call_delegate with the attribute "delegate" -1, which no target takes:
  // for those who only ask about the other nodes. Else it is an error.
  bool keep_unknown = false;
};

// Reads what torch.export.save() of torch 2.9 to 2.13 wrote (TRAINING, ATEN and EDGE dialects) as an ATen graph.
// - inputs and outputs are the user's, in order; parameters, buffers and lifted tensors are constants whose bytes are
// views
//   of `archive` (weights that are strided in their storage are copied);
// - a node's inputs are its tensor operands in schema order (lists spread, None an invalid id), its attributes all
// other
//   arguments by name with defaults filled in; a Python number in a tensor's place is a constant of shape [];
// - in-place ops are their functional forms; symbolic sizes stand at the example's (a note says so);
// - Node::source is the last line of the user's own code in the stack trace, "model.py:41".
// `where` is what messages call the file. Errors: not such an archive, damaged, of another version, pickled or missing
// weights, unsupported ops (all of them at once), state that the model keeps between runs. Source:
// docs/facts/formats.md 1.
// - both branches of `cond` run, and a choice follows; so do the rounds of while_loop (adr/0031, adr/0058).
Result<ir::Graph> read_pt2(const Buffer& archive, const std::string& where, const Log& log);

// The same, and what there is to say of a program that cannot be read as a whole.
Reading read_model(const Buffer& archive, const std::string& where, const Log& log, const ReadOptions& options = {});

}  // namespace carina::pt2
