#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"
#include "execute/run_program.h"
#include "facts/executorch.h"
#include "pte/bundled.h"
#include "results/run_report.h"

// Programs with test cases (.bpte).
namespace carina::execute {

// |got - expected| <= absolute + relative * |expected|, for floats; integers must be equal. As ExecuTorch compares.
struct Tolerance {
  double relative = kBundledRelativeTolerance;
  double absolute = kBundledAbsoluteTolerance;
};

struct BundleOutcome {
  results::TestsReport tests;
  std::vector<std::vector<datasets::NamedTensor>> outputs;  // of each test case, in the order of `tests`
  RunOutcome run;                                           // the first case's figures, the records of all
};

// The test cases of a file; none of one that is no bundled program. Errors: a file that cannot be read, or is damaged.
Result<std::vector<pte::TestSuite>> test_suites_of(const std::string& path);

// Runs the test cases of a bundled program, each on the program loaded anew, and compares what comes out. With
// options.method, those of this method. Errors: as run_program()'s, inputs that are not the program's, no test case.
Result<BundleOutcome> run_bundle(const pte::BundledProgram& bundle, const std::string& where, Tolerance tolerance,
                                 const RunOptions& options, const Log& log);

// The inputs of a test case, and its outputs beside what they should be; the report's method and index are the caller's.
datasets::Sample sample_of(const pte::TestCase& test);
results::TestCaseReport check_case(const pte::TestCase& test, std::span<const datasets::NamedTensor> outputs,
                                   Tolerance tolerance);

// One output of a program beside what it should be.
results::OutputCheck check_output(const Tensor& got, const Tensor& expected, Tolerance tolerance);

// The bytes of a .bpte: `program` with a test case for each sample, whose outputs should be `expected`. `method`: by its
// name. Errors: too large for one file, types that the format does not have.
Result<std::vector<std::byte>> write_bundle(const Buffer& program, const std::string& method,
                                            std::span<const datasets::Sample> samples,
                                            std::span<const std::vector<datasets::NamedTensor>> expected,
                                            std::span<const datasets::InputType> inputs);

}  // namespace carina::execute
