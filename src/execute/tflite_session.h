// Runs LiteRT files: command streams on the simulated NPU, the other operators with LiteRT's bits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "datasets/samples.h"
#include "results/run_report.h"
#include "targets/target.h"

namespace carina::execute {

struct TfliteOptions {
  bool timed = false;
  targets::TargetNames memories;  // of timed runs; empty: the defaults of the NPU
  int threads = 1;
};

// A loaded file. Its memory keeps its content from run to run, as on a device.
class TfliteSession {
 public:
  // Errors: the readers'; a stream that names no known NPU; an operator on the CPU without exact kernels.
  static Result<TfliteSession> create(const Buffer& file, const std::string& where, const TfliteOptions& options,
                                      const Log& log);

  // What the file declares.
  [[nodiscard]] const std::vector<datasets::InputType>& inputs() const;
  // Runs all operators once. Errors: inputs of another type or shape; those of the simulator.
  Result<std::vector<datasets::NamedTensor>> run(const datasets::Sample& inputs);

  // The streams of the last run; with figures if it was timed.
  [[nodiscard]] results::NpuReport npu_report() const;
  [[nodiscard]] int64_t streams() const;
  // The operators on the CPU, in order.
  [[nodiscard]] std::vector<std::string> cpu_operators() const;
  [[nodiscard]] int64_t arena_bytes() const;

  TfliteSession(TfliteSession&&) noexcept;
  TfliteSession& operator=(TfliteSession&&) noexcept;
  ~TfliteSession();

 private:
  struct State;
  explicit TfliteSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace carina::execute
