// Defines the report of a compilation: where each node runs, sizes in bytes, cycles per inference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carina/memory_map.h"
#include "carina/npu_report.h"
#include "carina/result.h"

namespace carina::results {

// The device on which a node of the user's model runs.
enum class RunsOn : uint8_t {
  kNpu,
  kCpu,
  kBoth,       // it becomes several operations, some on the NPU and some on the CPU
  kFolded,     // no operation remains: no effect, a constant, or fused into a neighbor
  kNowhere,    // no kernel or lowering exists, so the model cannot be compiled
  kUndecided,  // it could run, but other nodes prevent the compilation
};

// The disposition of one node of the user's model.
struct NodeReport {
  std::string name;
  std::string op;      // "aten.conv2d.default"
  std::string source;  // "model.py:41", may be empty
  RunsOn runs_on = RunsOn::kFolded;
  std::string reason;  // reason for the device: for a node on the CPU the violated rule and the value
  std::string hint;    // what would make it run on the NPU; may be empty
  int64_t cycles = 0;  // NPU cycles of the operations made from it; 0 when it was fused into another or runs on the CPU
  int64_t cpu_cycles = 0;  // of what runs on the CPU: cycles of a Cortex-M55, an estimate (facts/cpu_costs.h)
  std::string rule = {};   // for a node on the CPU: the rule that it violates, "window.stride"
};

// Estimated cost of one inference on the NPU.
struct NpuEstimate {
  int64_t operations = 0;
  int64_t macs = 0;
  int64_t cycles = 0;
  int64_t memory_cycles = 0;  // the part of `cycles` that waits for memories behind the second port
};

// One subgraph that the NPU runs as a whole.
struct DelegateReport {
  int64_t tosa_operators = 0;
  int64_t command_stream_bytes = 0;
  int64_t weight_bytes = 0;                  // encoded weights, scales, tables and constants: read-only
  int64_t scratch_bytes = 0;                 // the arena that the delegate needs while it runs
  std::optional<NpuEstimate> estimate = {};  // none: it could not be estimated
  std::optional<NpuReport> layers = {};      // the estimate operation by operation, where it was asked for
  int64_t fast_scratch_bytes = 0;            // fast memory beside an arena that lies in slow memory
  int64_t sram_bound_bytes = 0;              // lower bound of SRAM: the maximum of live bytes
  std::vector<std::pair<std::string, std::string>> shown = {};  // what it is, and its text
  std::vector<HeldBytes> memory_map = {};                       // where the layers were asked for
};

// The result of another choice of options: the model compiled again with it, and simulated.
struct Alternative {
  std::string what;          // "search for a faster schedule"
  std::string options;       // of the command line: "-O3"
  std::string failure = {};  // why there is no program with it; then the figures mean nothing
  int64_t cycles = 0;        // of the NPU, per inference
  int64_t cpu_cycles = 0;    // of what runs on the CPU
  int64_t clock_hz = 0;
  int64_t sram_bytes = 0;
  int64_t program_bytes = 0;
};

// A node that was rewritten so that the target takes it; no number changed.
struct LegalizedReport {
  std::string node;
  std::string source;  // "model.py:41", may be empty
  std::string rule;    // that kept it on the CPU, "window.stride"
  std::string reason;  // the same in words
  std::string change;  // what was done
};

// The result of `carina compile` and `carina explain`.
struct CompileReport {
  std::string model;
  std::string target;
  std::string accelerator = "NPU";  // what of the target runs delegates
  std::string system_config;
  std::string memory_mode;
  std::string optimize;           // the goal of the schedules: "speed", "search" or "size"
  bool dynamic_weights = false;   // products of activations as convolutions whose weights the NPU writes
  int64_t sram_budget_bytes = 0;  // what a delegate's arena may take; 0: no limit
  int64_t cache_bytes = 0;        // of fast memory that a delegate may take; 0: not limited
  std::string quantization;       // "int8 (calibrated on 40 samples)", "imported", "none"
  std::vector<NodeReport> nodes;
  std::vector<DelegateReport> delegates;
  std::string output;         // path of the .pte; empty for explain
  int64_t program_bytes = 0;  // size of the .pte: flash
  int64_t planned_bytes = 0;  // memory that the executor plans for the tensors between delegates and kernels
  int64_t scratch_bytes = 0;  // the largest scratch of a delegate
  int64_t fast_scratch_bytes = 0;
  std::string arena_memory = "SRAM";  // where scratch lies; fast scratch is SRAM
  std::string constants_memory = {};  // from which the NPU reads weights and other constants
  int64_t clock_hz = 0;               // 0: the target has no model of cost
  std::optional<int64_t> cycles = 0;  // of all delegates, per inference; the nodes' add up to it. None: not known
  int64_t memory_cycles = 0;          // the part of `cycles` that waits for memories behind the second port
  std::vector<LegalizedReport> legalized = {};  // where they were asked for
  std::vector<Alternative> alternatives = {};   // the most cycles saved first; where they were asked for
  Diagnostics errors = {};                      // why the model cannot be compiled; then the sizes above mean nothing
};

// Constants that the NPU reads at the speed of SRAM: they lie in SRAM, or in an on-chip flash as fast as it.
inline int64_t sram_constant_bytes_of(const CompileReport& report) {
  if (report.constants_memory != "SRAM") return 0;
  int64_t bytes = 0;
  for (const DelegateReport& delegate : report.delegates) bytes += delegate.weight_bytes;
  return bytes;
}

// SRAM that one inference needs: the arena and what the executor plans where they lie there, else the fast scratch; and
// the constants that lie there.
inline int64_t sram_bytes_of(const CompileReport& report) {
  return sram_constant_bytes_of(report) +
         (report.arena_memory == "SRAM" ? report.scratch_bytes + report.planned_bytes : report.fast_scratch_bytes);
}

}  // namespace carina::results
