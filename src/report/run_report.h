#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace carina::report {

// One operation of the NPU in one inference.
struct LayerReport {
  std::string name;       // of the user's node that it came from, or of the command when unknown
  std::string operation;  // "conv", "depthwise", "pool", "elementwise", "dma"
  int64_t macs = 0;
  int64_t cycles = 0;
  // What the time was spent on, in cycles of each unit; units overlap, so these do not add up to `cycles`.
  std::vector<std::pair<std::string, int64_t>> breakdown;
  // The same told apart: what each cause adds to the time, so that these add up to `cycles`.
  std::vector<std::pair<std::string, int64_t>> causes = {};
  std::string bottleneck;               // the unit that set the time
  double utilization = 0;               // MACs done / MACs possible in `cycles`, 0 to 1
  std::vector<std::string> nodes = {};  // names of the TOSA nodes that it computes, where they are known
  std::string tosa_op = {};             // the operator that it came from, "tosa.CONV2D"; empty when unknown
  std::string source = {};              // the line of the user's model; may be empty
  int64_t start_cycle = 0;              // on the estimated time line
  int64_t npu_cycles = 0;  // MAC and output units over all blocks, before memories and transfers are waited for
  std::vector<std::pair<std::string, int64_t>> access_cycles = {};  // "Sram" -> cycles of its port
  std::vector<std::pair<std::string, int64_t>> traffic_bytes = {};  // "Sram read" ...
  // SRAM that holds something still to be read while it runs, constants not counted. None: not asked for.
  std::optional<int64_t> held_sram_bytes = {};
};

// What an inference does with one of the memories behind the NPU's ports.
struct MemoryUse {
  std::string memory;  // "Sram", "OffChipFlash" ...
  double bytes_per_second = 0;
  int64_t held_bytes = 0;  // of what lies there: constants, arena, fast scratch
  int64_t feature_map_read_bytes = 0;
  int64_t feature_map_write_bytes = 0;
  int64_t weight_read_bytes = 0;  // also scales and tables, and by transfers
  int64_t weight_write_bytes = 0;
};

// The NPU's part of a run, per inference.
struct NpuReport {
  std::string target;
  std::string system_config;
  std::string memory_mode;
  int64_t clock_hz = 0;
  int64_t cycles = 0;
  int64_t macs = 0;
  double utilization = 0;
  std::vector<LayerReport> layers;
  std::vector<std::pair<std::string, int64_t>> traffic_bytes;  // "sram read" ...
  std::vector<std::pair<std::string, int64_t>> pmu;            // event name -> count
  int64_t macs_per_cycle = 0;
  std::vector<std::pair<std::string, double>> bytes_per_cycle = {};  // that each memory's port moves at most
  std::vector<MemoryUse> memories = {};
  std::string constants_memory = {};  // one of them
  std::string arena_memory = {};
};

struct TensorReport {
  std::string name;
  std::string type;     // "fp32 [1,10]"
  std::string file;     // where it was written, may be empty
  std::string preview;  // the first elements
};

// An output of a test case beside what it should be. Integers should be equal; floats near, as TestsReport says.
struct OutputCheck {
  std::string type;  // "fp32 [1,10]"
  int64_t elements = 0;
  int64_t wrong = 0;  // elements that are not as they should be
  double largest_difference = 0;
  std::string first_wrong = {};  // "[0,3]: expected 0.5, got 0.75", or why nothing could be compared; empty: all right
};

struct TestCaseReport {
  std::string method;
  int64_t index = 0;  // in the method's suite
  std::vector<OutputCheck> outputs;

  // A case without expected outputs is run, not checked.
  [[nodiscard]] bool checked() const { return !outputs.empty(); }
  [[nodiscard]] bool passed() const;
};

// The test cases of a bundled program: |got - expected| <= absolute + relative * |expected|.
struct TestsReport {
  double relative_tolerance = 0;
  double absolute_tolerance = 0;
  std::vector<TestCaseReport> cases;

  [[nodiscard]] bool passed() const;
};

std::string to_text(const TestsReport& tests);

// What `carina run` says.
struct RunReport {
  std::string program;
  std::vector<TensorReport> outputs;
  // The allocator figures under the names that ExecuTorch's executor runner prints, in bytes; NAME_total: the size of the
  // pool, where it was given one.
  std::vector<std::pair<std::string, int64_t>> memory;
  std::vector<std::string> cpu_kernels;  // kernel calls of the program, in order
  int64_t delegate_calls = 0;
  bool timed = false;
  NpuReport npu;
  std::string vgf_device = "in the interpreter";  // where VGF delegates ran
  std::vector<int64_t> vgf_times = {};            // of each of their calls, in nanoseconds
  std::vector<int64_t> tosa_times = {};           // of each call of a TOSA delegate, in the interpreter
  // What checking the command stream found; nothing when it was not asked for.
  std::optional<std::vector<std::string>> findings = {};
  int64_t samples = 1;  // inferences; figures are those of the first
  std::optional<TestsReport> tests = {};
  std::string method = {};                // that ran
  std::vector<std::string> methods = {};  // of the program
};

// One row for the operations of a layer together, or one for each.
enum class LayerRows { kFolded, kEach };
// The rows in order; of operations together (in the order in which the layers first run), sums, the MAC use of the
// whole, bound by what bounds most of the cycles, the most SRAM that any of them holds.
std::vector<LayerReport> rows_of(const NpuReport& npu, LayerRows rows);

std::string to_text(const RunReport& report, LayerRows rows = LayerRows::kFolded);
std::string to_json(const RunReport& report);  // each operation

// The time of one operator in the interpreter.
struct OperatorTime {
  std::string name;               // of the node; one of a graph inside the main one comes with its graph's name
  std::string op;                 // "tosa.CONV2D"
  std::vector<std::string> with;  // operators computed in the same step: "tosa.RESCALE"
  int64_t nanoseconds = 0;
  bool nested = false;  // counted in a node of control flow as well
};

// What `carina interpret` says.
struct InterpretReport {
  std::string model;
  std::vector<TensorReport> outputs;
  int64_t planned_bytes = 0;          // arena, scratch and packed weights of the interpreter
  std::vector<OperatorTime> profile;  // empty unless asked for
};

std::string to_text(const InterpretReport& report);
std::string to_json(const InterpretReport& report);

}  // namespace carina::report
