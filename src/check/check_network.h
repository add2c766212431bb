#pragma once

#include <vector>

#include "carina/compile_report.h"
#include "carina/log.h"
#include "carina/options.h"
#include "carina/result.h"
#include "check/front_end.h"
#include "check/state_tie.h"
#include "ir/graph.h"
#include "npu/compiled_network.h"

// Checks what a compilation made before it is written: the program on the simulator beside the model on the TOSA
// interpreter (docs/adr/0092). The planner's mistakes are found whatever transformation makes them.
namespace carina::check {

struct NetworkCheck {
  const ir::Graph& tosa;  // the graph from which the network was compiled
  const npu::CompiledNetwork& network;
  options::Check extent = options::Check::kFull;  // not kOff
  FrontEnd front_end = {};
  int threads = 1;  // results do not depend on it
  std::vector<StateTie> ties = {};
};

// Runs a network on the simulator and its graph on the interpreter, on samples that are drawn from a fixed seed.
// Memory, tables and registers hold garbage at the start. A network with state takes kSteps steps from the initial
// one: each sample has the state that the sample before it has left. The report says what was compared; the check of a
// graph that the interpreter cannot run, or that has no result for any drawn inputs, compares nothing. Errors
// (internal): a byte of a result differs; a register is used that the stream has not set; the simulator rejects the
// stream; with Check::kFull also, an operation reads bytes that nothing wrote or does not wait for another one. The
// message names the first operator at fault (Diagnostic::node).
Result<results::CheckReport> check_network(const NetworkCheck& what, const Log& log);

}  // namespace carina::check
