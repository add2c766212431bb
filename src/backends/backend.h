// Declares the interface between the compile pipeline and an accelerator, and the lookup of a backend by target name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/show.h"
#include "carina/compile_report.h"
#include "carina/log.h"
#include "carina/result.h"
#include "check/front_end.h"
#include "check/state_tie.h"
#include "ir/graph.h"
#include "lower/target.h"
#include "npu/weights/encoded_weights_cache.h"
#include "plan/family/options.h"
#include "pte/program.h"
#include "targets/target.h"

namespace carina::backends {

// The records of a delegate's compilation that are kept.
enum class Artifacts {
  kDrop,    // none
  kLayers,  // the rows of its layers and its memory map
  kKeep,    // those, and files
};
using plan::Optimize;

struct DelegateOptions : options::ScheduleOptions {
  int threads = 1;  // results are the same for every number
  Artifacts artifacts = Artifacts::kDrop;
  std::vector<Show> shown = {};                 // sections to show in the report
  npu::EncodedWeightsCache* streams = nullptr;  // plan::Options::streams
  std::vector<check::StateTie> ties = {};       // the state that the network passes on, for the check
  check::FrontEnd front_end = {};               // what a quick check counts as the compilation's work
};

// A file that shows how a delegate was compiled, for --dump.
struct Artifact {
  std::string suffix;  // "vela.npz"
  std::vector<std::byte> bytes;
};

// One TOSA graph compiled for an accelerator.
struct Delegate {
  pte::Delegate packaged;  // id, blob and compile specs as the runtime on the device expects them
  results::DelegateReport report;
  // Estimated cycles by the index of the TOSA node. The last element counts cycles of no node. Empty: no estimate.
  std::vector<int64_t> cycles_of_node;
  std::vector<Artifact> artifacts;
};

// An accelerator that runs delegates: its name, its limits and its compiler. The pipeline knows nothing else about it.
// A struct and not a class with virtual functions, because only `compile` differs in behavior. Details of a kind of
// target (an NPU with its memories, a Vulkan device) are in the closure of `compile`, so that a new kind changes no
// stage.
struct Backend {
  std::string target;               // name in messages and reports, with the number of MAC units
  std::string accelerator = "NPU";  // the unit that runs delegates
  std::string system_config;
  std::string memory_mode;
  int64_t clock_hz = 0;               // 0: the cost of delegates is unknown
  int64_t cache_bytes = 0;            // fast memory that a network may use; 0: no limit
  std::string arena_memory;           // the memory that holds the arena: "SRAM"
  std::string constants_memory = {};  // the memory from which the NPU reads weights and other constants
  std::string tosa_spec;              // the TOSA subset of its delegates, as the Arm backend names it
  lower::Target lowering;             // what its delegates may contain, and how they are lowered
  // Compiles a TOSA graph so that all of it runs on the accelerator. Errors, all at once: what the accelerator cannot
  // do.
  std::function<Result<Delegate>(const ir::Graph& tosa, const DelegateOptions& options, const Log& log)> compile;
};

// Encodes the text value of a compile spec.
std::vector<uint8_t> spec_bytes(std::string_view text);

// The names of all supported targets.
std::vector<std::string_view> targets();

// Returns the backend of a target, configured for it. Errors (usage): no backend has the target, with the list of
// targets; the errors of find_target().
Result<Backend> find_backend(const targets::TargetNames& names, const Log& log = {});
Result<Backend> find_backend(const targets::TargetRequest& request, const Log& log = {});

}  // namespace carina::backends
