// Declares Session, a program that is loaded once and runs many times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/npu_report.h"
#include "carina/result.h"
#include "carina/sample.h"
#include "carina/target.h"

namespace carina {

using datasets::InputType;
using datasets::NamedTensor;
using datasets::Sample;

struct SessionOptions {
  std::string method = {};        // a method's name; empty: "forward", else the first
  std::vector<Buffer> data = {};  // .ptd files with the tensors stored outside of the program
  bool timed = false;             // also estimate cycles: SessionReport::npu
  // Memories of timed runs; empty: those for which the program was compiled. A program compiled for sections of a
  // vela.ini of one's own needs that file here: without it timed runs are an error.
  targets::TargetNames memories = {};
  int threads = 1;  // of one run, 1 to 1024; results do not depend on it
};

// Measurements of the last run.
struct SessionReport {
  // The allocator figures under the names that ExecuTorch's executor runner prints, in bytes.
  std::vector<std::pair<std::string, int64_t>> memory;
  std::vector<std::string> cpu_kernels;  // kernel calls of the method, in order
  int64_t delegate_calls = 0;
  results::NpuReport npu;  // of Ethos-U delegates; cycles only of timed runs
};

// An ExecuTorch program (.pte) in memory, ready to run. CPU kernels run in Carina's runtime; Ethos-U delegates run on
// the simulator with the bits of the NPU. State that the program keeps is passed from each run to the next.
//
// Threads: a call locks its session, so calls from several threads are safe and run one after another. For runs at the
// same time, give each thread a session of its own: clone() shares the bytes of the program. Different sessions share
// no state. `log` of load() must accept calls from each thread that runs.
//
// No function throws. A Session that was moved from gives an error of Fault::kUsage from each call that returns a
// Result, and empty values from the others.
class Session {
 public:
  // Loads a method of the program; `pte` is kept alive, not copied, if it is aligned to 16 bytes. Errors: a damaged
  // program; an unknown method, backend or kernel; missing external tensors; wrong options (usage).
  static Result<Session> load(const Buffer& pte, const SessionOptions& options = {}, const Log& log = {});
  // The same for a file, which is mapped: it must not change while the session or a clone exists. Errors: also those of
  // the file.
  static Result<Session> load_file(const std::string& path, const SessionOptions& options = {}, const Log& log = {});
  // The same for bytes of the caller, which must outlive the session and its clones; they are copied if they are not
  // aligned to 16 bytes.
  static Result<Session> load_in_place(std::span<const std::byte> pte, const SessionOptions& options = {},
                                       const Log& log = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Another session of the same program and options in its first state. The program's bytes are shared; tables, planned
  // memory and the NPU are new.
  [[nodiscard]] Result<Session> clone() const;
  // Returns to the state after load().
  Result<void> reset();

  [[nodiscard]] const std::string& method() const noexcept;
  [[nodiscard]] std::span<const std::string> methods() const noexcept;  // of the program
  // Names, types and shapes. An output whose sizes may vary has its largest shape.
  [[nodiscard]] std::span<const InputType> inputs() const noexcept;
  [[nodiscard]] std::span<const InputType> outputs() const noexcept;

  // Runs once. `inputs` has one tensor per input, in order. Errors: inputs whose number, type, shape or size in bytes
  // differs; faults that the simulator detects; `stop` was requested (usage), which is looked at between operations of
  // the NPU. After an error the state that the program keeps is not defined until reset().
  Result<std::vector<NamedTensor>> run(const Sample& inputs, std::stop_token stop = {});
  // The same on memory of the caller: inputs[i] holds the elements of input i in row-major order, and outputs[i] takes
  // those of output i. No tensor is allocated; each input and each output is copied once, from and to the memory that
  // the program plans. Errors: also another number or size of outputs.
  Result<void> run_into(std::span<const std::span<const std::byte>> inputs,
                        std::span<const std::span<std::byte>> outputs, std::stop_token stop = {});

  // Measurements of the last run; before the first one, counts of zero.
  [[nodiscard]] Result<SessionReport> report() const;

 private:
  struct Content;
  explicit Session(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace carina
