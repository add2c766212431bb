#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/show.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "ir/graph.h"
#include "lower/target.h"
#include "npu/encoded_weights_cache.h"
#include "plan/family/options.h"
#include "pte/program.h"
#include "results/compile_report.h"
#include "targets/target.h"

namespace carina::backends {

// What shows how a delegate was made: nothing; the rows of its layers and what memory holds when; files too.
enum class Artifacts { kDrop, kLayers, kKeep };
using plan::Optimize;

struct DelegateOptions {
  int threads = 1;                       // results do not depend on it
  int64_t arena_limit_bytes = 0;         // what the delegate's arena may take; 0: no limit
  Optimize optimize = Optimize::kSpeed;  // what its schedule is made for
  bool dynamic_weights = false;          // plan::Options::dynamic_weights
  Artifacts artifacts = Artifacts::kDrop;
  std::vector<Show> shown = {};                 // what the report shows of how it was compiled
  npu::EncodedWeightsCache* streams = nullptr;  // plan::Options::streams
};

// A file that shows what a backend made of a delegate, for --dump.
struct Artifact {
  std::string suffix;  // "vela.npz"
  std::vector<std::byte> bytes;
};

// One TOSA graph compiled for an accelerator.
struct Delegate {
  pte::Delegate packaged;  // id, blob and compile specs as the runtime on the device expects them
  results::DelegateReport report;
  // Estimated cycles by the index of the TOSA node; the last is what belongs to none. Empty: could not be estimated.
  std::vector<int64_t> cycles_of_node;
  std::vector<Artifact> artifacts;
};

// Where delegates run: all that the pipeline knows of an accelerator.
struct Backend {
  std::string target;               // as messages and reports call it, with its number of MAC units
  std::string accelerator = "NPU";  // what of it runs delegates
  std::string system_config;
  std::string memory_mode;
  int64_t clock_hz = 0;      // 0: what delegates cost is not known
  int64_t cache_bytes = 0;   // of fast memory that a network may take; 0: not limited
  std::string arena_memory;  // where its arena lies: "SRAM"
  std::string tosa_spec;     // the TOSA subset that its delegates keep to, as the Arm backend names it
  lower::Target lowering;    // what its delegates may hold, and how they are lowered
  // Compiles a TOSA graph for the whole of it to run there. Errors: what the accelerator cannot do, all of it at once.
  std::function<Result<Delegate>(const ir::Graph& tosa, const DelegateOptions& options, const Log& log)> compile;
};

// The value of a compile spec that is text.
std::vector<uint8_t> spec_bytes(std::string_view text);

// The names of all targets that can be compiled for.
std::vector<std::string_view> targets();

// The backend that a target belongs to, set up for it. Errors (usage): a target of no backend, with the list of targets;
// as find_target()'s.
Result<Backend> find_backend(const targets::TargetNames& names, const Log& log = {});
Result<Backend> find_backend(const targets::TargetRequest& request, const Log& log = {});

}  // namespace carina::backends
