#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "driver/run_program.h"
#include "facts/executorch.h"
#include "pte/bundled.h"
#include "report/run_report.h"

// Programs with test cases (.bpte).
namespace carina::driver {

// |got - expected| <= absolute + relative * |expected|, for floats; integers must be equal. As ExecuTorch compares.
struct Tolerance {
  double relative = kBundledRelativeTolerance;
  double absolute = kBundledAbsoluteTolerance;
};

struct BundleOutcome {
  report::TestsReport tests;
  std::vector<std::vector<NamedTensor>> outputs;  // of each test case, in the order of `tests`
  RunOutcome run;                                 // the first case's figures, the records of all
};

// Runs the test cases of a bundled program, each on the program loaded anew, and compares what comes out. With
// options.method, those of this method. Errors: as run_program()'s, inputs that are not the program's, no test case.
Result<BundleOutcome> run_bundle(const pte::BundledProgram& bundle, const std::string& where, Tolerance tolerance,
                                 const RunOptions& options, const Log& log);

// One output of a program beside what it should be.
report::OutputCheck check_output(const Tensor& got, const Tensor& expected, Tolerance tolerance);

// The bytes of a .bpte: `program` with a test case for each sample, whose outputs should be `expected`. `method`: by its
// name. Errors: too large for one file, types that the format does not have.
Result<std::vector<std::byte>> write_bundle(const Buffer& program, const std::string& method,
                                            std::span<const Sample> samples,
                                            std::span<const std::vector<NamedTensor>> expected,
                                            std::span<const InputType> inputs);

}  // namespace carina::driver
