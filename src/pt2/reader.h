#pragma once

#include <string>

#include "base/buffer.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "ir/graph.h"

namespace carina::pt2 {

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
Result<ir::Graph> read_pt2(const Buffer& archive, const std::string& where, const Log& log);

}  // namespace carina::pt2
