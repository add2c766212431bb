#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carina/npu_report.h"

namespace carina::results {
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
  [[nodiscard]] bool passed() const {
    return std::ranges::all_of(outputs, [](const OutputCheck& check) { return check.wrong == 0; });
  }
};

// The test cases of a bundled program: |got - expected| <= absolute + relative * |expected|.
struct TestsReport {
  double relative_tolerance = 0;
  double absolute_tolerance = 0;
  std::vector<TestCaseReport> cases;

  [[nodiscard]] bool passed() const { return std::ranges::all_of(cases, &TestCaseReport::passed); }
};

// What `carina run` says.
struct RunReport {
  std::string program;
  std::vector<TensorReport> outputs;
  // The allocator figures under the names that ExecuTorch's executor runner prints, in bytes; NAME_total: the size of
  // the pool, where it was given one.
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

}  // namespace carina::results
