#pragma once

#include "carina/compile_report.h"
#include "carina/log.h"
#include "carina/options.h"
#include "carina/result.h"
#include "check/front_end.h"
#include "ir/graph.h"

namespace carina::check {

struct GraphCheck {
  const ir::Graph& tosa;                          // the graph that was to be written
  const ir::Graph& written;                       // as it is read from the file
  options::Check extent = options::Check::kFull;  // not kOff
  FrontEnd front_end = {};
  int threads = 1;  // results do not depend on it
};

// Checks a file with a TOSA graph: with the interpreter's fused kernels, its graph gives what the graph that was to be
// written gives with a kernel for each node, for inputs that are drawn from a fixed seed. Errors (internal): a byte of
// a result differs, and it does also with plain loops. If only the kernels differ, the file is right, and a warning
// says so. The check of a graph that has no result for any drawn inputs compares nothing.
Result<results::CheckReport> check_graph(const GraphCheck& what, const Log& log);

}  // namespace carina::check
