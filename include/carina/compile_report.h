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
  int64_t cycles = 0;  // NPU cycles of the operations made from it; 0 if it was fused into another node or runs on the
                       // CPU
  int64_t cpu_cycles = 0;                // estimated Cortex-M55 cycles of its operations on the CPU (facts/cpu_costs.h)
  std::string rule = {};                 // for a node on the CPU: the rule that it violates, "window.stride"
  std::vector<std::string> inputs = {};  // the nodes whose results it reads; folded nodes between them are left out
};

// Estimated cost of one inference on the NPU.
struct NpuEstimate {
  int64_t operations = 0;
  int64_t macs = 0;
  int64_t cycles = 0;
  int64_t memory_cycles = 0;  // the part of `cycles` that waits for memories of the second port
};

// An input or an output of the program.
struct PortReport {
  std::string name;
  std::string dtype;  // "fp32", "i8"
  std::vector<int64_t> shape;
  std::optional<double> scale = {};  // of raw integers: real = (integer - zero_point) * scale; no value: not quantized
  int64_t zero_point = 0;
};

// What was compared before a delegate was written: its program on the simulator, and its graph on the interpreter.
struct CheckReport {
  int64_t operators = 0;       // the first TOSA operators, or all
  int64_t samples = 0;         // inputs that were drawn
  std::string unchecked = {};  // why not all operators were checked; empty: all were
  std::string left_out = {};   // the transformation that the planner left out because the program was wrong with it
};

// The encoded weights of one layer of a delegate.
struct LayerWeights {
  std::string layer;     // the node's name
  int64_t elements = 0;  // the number of weights; 0: not known
  int64_t encoded_bytes = 0;
  int64_t scale_bytes = 0;
  int64_t slices = 0;  // the parts that the NPU reads one after another
};

// One subgraph that the NPU runs as a whole.
struct DelegateReport {
  int64_t tosa_operators = 0;
  int64_t command_stream_bytes = 0;
  int64_t weight_bytes = 0;                  // encoded weights, scales, tables and constants: read-only
  int64_t scratch_bytes = 0;                 // the arena that the delegate needs while it runs
  std::optional<NpuEstimate> estimate = {};  // no value if it could not be estimated
  std::optional<NpuReport> layers = {};      // the estimate of each operation; no value if not requested
  std::optional<CheckReport> check = {};     // no value if it was not checked
  int64_t fast_scratch_bytes = 0;            // fast memory in addition to an arena in slow memory
  int64_t sram_bound_bytes = 0;              // lower bound of SRAM: the maximum of live bytes
  std::vector<std::pair<std::string, std::string>> shown = {};  // name and text of each requested section
  std::vector<HeldBytes> memory_map = {};                       // empty unless `layers` is requested
  std::vector<LayerWeights> weights = {};                       // likewise
};

// Encoded weights and scales of a layer in bytes, and its NPU cycles per inference.
struct LayerCost {
  int64_t bytes = 0;
  int64_t cycles = 0;
};

// What compressed weights bring, measured: the model is quantized and compiled with each option.
struct Compression {
  struct Layer {
    std::string name;
    LayerCost now = {};
    std::vector<LayerCost> compressed = {};  // with each of `options`
  };
  std::vector<std::string> options = {};  // "--prune-weights 2:4"
  std::vector<Layer> layers = {};         // those with weights
};

// The result of compiling and simulating the model with another choice of options.
struct Alternative {
  std::string what;          // "search for a faster schedule"
  std::string options;       // command-line options: "-O3"
  std::string failure = {};  // why the compilation failed; if set, the figures have no meaning
  int64_t cycles = 0;        // NPU cycles per inference
  int64_t cpu_cycles = 0;    // cycles of the operations on the CPU
  int64_t clock_hz = 0;
  int64_t sram_bytes = 0;
  int64_t program_bytes = 0;
};

// A quantization scheme that `--quantize auto` measured.
struct MeasuredScheme {
  std::string scheme;      // "int16x8", "7 of 12 parts in 16 bits"
  std::string wide;        // the runs of nodes with 16 bits, "conv2d to relu_3, linear to linear"; empty: by the scheme
  int64_t cycles = 0;      // per inference, of the NPU and the CPU
  int64_t cpu_cycles = 0;  // those of the CPU alone
  int64_t delegates = 0;
  double sqnr_db = 0;  // of the worst output
};

// A float input or output of a quantized program: its integers are smaller.
struct FloatEdge {
  std::string name;
  int64_t bytes = 0;
};

// A node that was rewritten to a form that the target supports. No result changed.
struct LegalizedReport {
  std::string node;
  std::string source;  // "model.py:41", may be empty
  std::string rule;    // the violated rule: "window.stride"
  std::string reason;  // the violation in words
  std::string change;  // the rewrite in words
};

// The result of `carina compile` and `carina explain`.
struct CompileReport {
  std::string model;
  std::string target;
  std::string accelerator = "NPU";  // the unit of the target that runs delegates
  std::string system_config;
  std::string memory_mode;
  std::string optimize;           // the goal of the schedules: "speed", "search" or "size"
  bool dynamic_weights = false;   // whether products of activations are convolutions whose weights the NPU writes
  int64_t sram_budget_bytes = 0;  // limits of sram_bytes_of(), of program_bytes and of a delegate's arena; 0: no limit
  int64_t flash_budget_bytes = 0;
  int64_t arena_budget_bytes = 0;
  int64_t cache_bytes = 0;     // limit of a delegate's fast memory; 0: no limit
  std::string quantization;    // "int8 (calibrated on 40 samples)", "imported", "none"
  bool random_ranges = false;  // calibrated on random inputs: cycles and memory have a meaning, outputs have none
  std::vector<NodeReport> nodes;
  std::vector<DelegateReport> delegates;
  std::vector<PortReport> inputs = {};  // of the program, in order; empty if there is none
  std::vector<PortReport> outputs = {};
  std::string output;         // path of the .pte; empty for explain
  int64_t program_bytes = 0;  // size of the .pte: flash
  int64_t planned_bytes = 0;  // memory that the executor plans for the tensors between delegates and kernels
  int64_t tables_bytes = 0;   // the runtime's tables of the program, on a Cortex-M
  int64_t scratch_bytes = 0;  // the largest scratch of all delegates
  int64_t fast_scratch_bytes = 0;
  std::string arena_memory = "SRAM";  // where scratch lies; fast scratch is SRAM
  std::string constants_memory = {};  // from which the NPU reads weights and other constants
  int64_t clock_hz = 0;               // 0: the target has no model of cost
  std::optional<int64_t> cycles = 0;  // of all delegates, per inference; the nodes' add up to it. None: not known
  int64_t conversion_cycles = 0;      // of the CPU: floats of inputs become integers, those of outputs floats
  int64_t memory_cycles = 0;          // the part of `cycles` that waits for memories behind the second port
  std::vector<MeasuredScheme> schemes = {};     // for --auto-front or --min-sqnr: those that no other beats in both
                                                // cycles and SQNR, from the fastest to the most exact
  std::vector<LegalizedReport> legalized = {};  // if requested
  std::vector<Alternative> alternatives = {};   // if requested; ordered by saved cycles, the largest number first
  std::optional<Compression> compression = {};  // if requested
  // The float inputs and outputs that take most of planned_bytes, if integers would take less (--io).
  std::vector<FloatEdge> float_edges = {};
  std::string integer_io = {};   // the type that would take less: "int8"
  Diagnostics over_budget = {};  // the budgets that the program exceeds
  Diagnostics errors = {};       // why the model cannot be compiled; then the sizes above mean nothing
  // Of a program of several methods: the name of this one, and the reports of the others. program_bytes is that of the
  // whole program.
  std::string method = {};
  std::vector<CompileReport> methods = {};
};

// Constants that the NPU reads at the speed of SRAM: they lie in SRAM, or in an on-chip flash as fast as it.
inline int64_t sram_constant_bytes_of(const CompileReport& report) {
  if (report.constants_memory != "SRAM") return 0;
  int64_t bytes = 0;
  for (const DelegateReport& delegate : report.delegates) bytes += delegate.weight_bytes;
  return bytes;
}

// SRAM that one inference needs: the arena, what the executor plans and the runtime's tables where they lie there, else
// the fast scratch; and the constants that lie there.
inline int64_t sram_bytes_of(const CompileReport& report) {
  return sram_constant_bytes_of(report) + (report.arena_memory == "SRAM"
                                               ? report.scratch_bytes + report.planned_bytes + report.tables_bytes
                                               : report.fast_scratch_bytes);
}

// Estimated cycles of all operations on the CPU, per inference, with the conversion of inputs and outputs.
inline int64_t cpu_cycles_of(const CompileReport& report) {
  int64_t cycles = report.conversion_cycles;
  for (const NodeReport& node : report.nodes) cycles += node.cpu_cycles;
  return cycles;
}

}  // namespace carina::results
