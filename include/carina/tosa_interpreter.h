// Declares TosaInterpreter, which computes the outputs of a TOSA graph as the specification defines them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "carina/sample.h"

namespace carina {

struct TosaInterpreterOptions {
  int threads = 1;                               // 1 to 1024; results do not depend on it
  size_t memory_budget_bytes = size_t{4} << 30;  // of all tensors and packed weights; more is an error
  std::string level = "8K";                      // of the verifier, or "none"
  bool timed = false;                            // also measure operators: times()
};

// The time of one operator over all runs, with the operators that were fused into it.
struct TosaOperatorTime {
  std::string name;
  std::string op;  // "tosa.CONV2D"
  int64_t calls = 0;
  int64_t nanoseconds = 0;
};

// A TOSA 1.0 or 0.80 FlatBuffer, verified and planned, ready to run. Integers are exactly as the specification says.
// The thread rules are those of Session: calls on one object run one after another. No function throws; an object that
// was moved from gives errors of Fault::kUsage and empty values.
class TosaInterpreter {
 public:
  // Errors: the reader's; broken rules of the specification; more memory than the budget; wrong options (usage).
  static Result<TosaInterpreter> load(const Buffer& tosa, const TosaInterpreterOptions& options = {},
                                      const Log& log = {});
  TosaInterpreter(TosaInterpreter&&) noexcept;
  TosaInterpreter& operator=(TosaInterpreter&&) noexcept;
  ~TosaInterpreter();

  [[nodiscard]] std::span<const datasets::InputType> inputs() const noexcept;

  // Runs the main graph. Variables keep their values from run to run. Errors: inputs whose number, type, shape or size
  // in bytes differs; data that break a REQUIRE of the specification; `stop` was requested (usage).
  Result<std::vector<datasets::NamedTensor>> run(const datasets::Sample& inputs, std::stop_token stop = {});
  // Gives all variables their initial values.
  Result<void> reset();
  // In execution order; empty without TosaInterpreterOptions::timed.
  [[nodiscard]] Result<std::vector<TosaOperatorTime>> times() const;

 private:
  struct Content;
  explicit TosaInterpreter(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace carina
