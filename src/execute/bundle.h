// Runs, checks and writes bundled programs: a program with test cases (.bpte).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "execute/run_program.h"
#include "facts/executorch.h"
#include "pte/bundled.h"
#include "results/run_report.h"

// Programs with test cases (.bpte).
namespace carina::execute {

// Output tolerance: |got - expected| <= absolute + relative * |expected| for floats; integers must be equal. ExecuTorch
// compares in the same way.
struct Tolerance {
  double relative = kBundledRelativeTolerance;
  double absolute = kBundledAbsoluteTolerance;
};

struct BundleOutcome {
  results::TestsReport tests;
  std::vector<std::vector<datasets::NamedTensor>> outputs;  // of each test case, in the order of `tests`
  RunOutcome run;                                           // memory and cycles of the first case; records of all cases
};

// Reads the test cases of a file. A file that is not a bundled program has none. Errors: a file that cannot be read or
// is damaged.
Result<std::vector<pte::TestSuite>> test_suites_of(const std::string& path);

// Runs the test cases of a bundled program and compares the outputs with the expected ones. The program is loaded again
// for each case. If options.method is set, only cases of that method run. Errors: those of run_program(); inputs that
// do not match the program's; no test case.
Result<BundleOutcome> run_bundle(const pte::BundledProgram& bundle, const std::string& where, Tolerance tolerance,
                                 const RunOptions& options, const Log& log);

// Returns the inputs of a test case.
datasets::Sample sample_of(const pte::TestCase& test);
results::TestCaseReport check_case(const pte::TestCase& test, std::span<const datasets::NamedTensor> outputs,
                                   Tolerance tolerance);

// Compares one output of a program with the expected tensor.
results::OutputCheck check_output(const Tensor& got, const Tensor& expected, Tolerance tolerance);

// Returns the bytes of a .bpte: `program` with one test case per sample and the `expected` outputs. `method` is a name.
// Errors: a result too large for one file, types that the format does not have.
Result<std::vector<std::byte>> write_bundle(const Buffer& program, const std::string& method,
                                            std::span<const datasets::Sample> samples,
                                            std::span<const std::vector<datasets::NamedTensor>> expected,
                                            std::span<const datasets::InputType> inputs);

}  // namespace carina::execute
