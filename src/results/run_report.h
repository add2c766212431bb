#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carina/npu_report.h"

// What `carina run` and its Python form return: outputs, checks of test cases, memory, cycles, findings.
namespace carina::results {
struct TensorReport {
  std::string name;
  std::string type;     // "fp32 [1,10]"
  std::string file;     // the file it was written to; may be empty
  std::string preview;  // the first elements
};

// An output of a test case compared with the expected one. Integers must be equal; floats may differ by the tolerance
// of TestsReport.
struct OutputCheck {
  std::string type;  // "fp32 [1,10]"
  int64_t elements = 0;
  int64_t wrong = 0;  // elements outside of the tolerance
  double largest_difference = 0;
  std::string first_wrong = {};  // "[0,3]: expected 0.5, got 0.75", or the reason why the tensors cannot be compared;
                                 // empty if all are right
};

struct TestCaseReport {
  std::string method;
  int64_t index = 0;  // in the method's suite
  std::vector<OutputCheck> outputs;

  // Returns whether there are expected outputs. A case without them is run, not checked.
  [[nodiscard]] bool checked() const { return !outputs.empty(); }
  [[nodiscard]] bool passed() const {
    return std::ranges::all_of(outputs, [](const OutputCheck& check) { return check.wrong == 0; });
  }
};

// The results of a bundled program's test cases. The check is |got - expected| <= absolute + relative * |expected|.
struct TestsReport {
  double relative_tolerance = 0;
  double absolute_tolerance = 0;
  std::vector<TestCaseReport> cases;

  [[nodiscard]] bool passed() const { return std::ranges::all_of(cases, &TestCaseReport::passed); }
};

// The result of `carina run`.
struct RunReport {
  std::string program;
  std::vector<TensorReport> outputs;
  // Allocator figures in bytes, under the names that ExecuTorch's executor runner prints. NAME_total is the size of the
  // pool, if a size was given.
  std::vector<std::pair<std::string, int64_t>> memory;
  std::vector<std::string> cpu_kernels;  // kernel calls of the program, in order
  int64_t delegate_calls = 0;
  bool timed = false;
  NpuReport npu;
  std::string vgf_device = "in the interpreter";  // where VGF delegates ran
  std::vector<int64_t> vgf_times = {};            // nanoseconds of each call of a VGF delegate
  std::vector<int64_t> tosa_times = {};           // nanoseconds of each call of a TOSA delegate, in the interpreter
  // Findings of the command stream checks; no value if they were not requested.
  std::optional<std::vector<std::string>> findings = {};
  int64_t samples = 1;  // inferences; figures are those of the first
  std::optional<TestsReport> tests = {};
  std::string method = {};                // the method that ran
  std::vector<std::string> methods = {};  // the program's methods
};

// The time of one operator in the interpreter.
struct OperatorTime {
  std::string name;               // the node's name; nodes of inner graphs have the graph's name as prefix
  std::string op;                 // "tosa.CONV2D"
  std::vector<std::string> with;  // operators computed in the same step: "tosa.RESCALE"
  int64_t nanoseconds = 0;
  bool nested = false;  // also counted in a control-flow node
};

// The result of `carina interpret`.
struct InterpretReport {
  std::string model;
  std::vector<TensorReport> outputs;
  int64_t planned_bytes = 0;          // arena, scratch and packed weights of the interpreter
  std::vector<OperatorTime> profile;  // empty if not requested
};

}  // namespace carina::results
