#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accelerate/host_kernels.h"
#include "carina/buffer.h"
#include "carina/result.h"
#include "datasets/outputs.h"
#include "datasets/samples.h"
#include "runtime/method.h"

namespace carina::evaluate {

// Whether the runtime's own kernels run, or the host's in their place where there are faster ones.
struct RunnerKernels {
  enum class Kind : uint8_t { kPortable, kHost };
  Kind kind = Kind::kHost;
  int threads = 1;
};

// How much memory the runtime is given, as a device's would be; 0: as much as it takes.
struct MemoryPools {
  size_t method_bytes = 0;  // planned buffers, and behind them the method's tables (which are larger on 64 bits)
  size_t temp_bytes = 0;    // of kernels and delegates while they run
};

// The embedded executor on the host: its arenas are vectors that grow until the program fits, where no pools are given.
// Runs the method of the given name, or "forward", else the first.
class ProgramRunner {
 public:
  // `backends` must outlive the runner; `data`: .ptd files with the tensors that stand outside of the program; `method`:
  // by its name, empty: the usual one. Errors: a damaged program, an unknown method, a kernel, backend or tensor that is
  // missing (by name), memory beyond what a host run is given or beyond `pools`: which, and how much it lacks.
  static Result<std::unique_ptr<ProgramRunner>> load(const Buffer& file, const std::string& where,
                                                     std::span<runtime::Backend* const> backends,
                                                     std::span<const Buffer> data = {}, RunnerKernels kernels = {},
                                                     const std::string& method = {}, MemoryPools pools = {});

  [[nodiscard]] std::vector<datasets::InputType> inputs() const;
  // The name, type and shape of each output tensor; of one whose sizes may vary, the largest until it runs.
  [[nodiscard]] std::vector<datasets::InputType> output_types() const;
  [[nodiscard]] size_t outputs() const { return method_.outputs(); }
  // Runs once. A number of the program is a tensor of no axes. Errors: inputs of other number, type or shape; what a
  // kernel or delegate says.
  Result<std::vector<datasets::NamedTensor>> run(const datasets::Sample& sample);
  // The same, and copies the elements of output tensor i, in the order of its shape, to outputs[i]. Errors: also
  // outputs of another number or size; then none is written.
  Result<void> run_into(const datasets::Sample& sample, std::span<const std::span<std::byte>> outputs);

  // The same for a run elsewhere: the bytes of each input as the program's memory holds them (of a number: none), and
  // what the bytes of the outputs mean. Errors: as run()'s of inputs; outputs of another number or size.
  Result<std::vector<Buffer>> raw_inputs(const datasets::Sample& sample) const;
  Result<std::vector<datasets::NamedTensor>> outputs_of(std::span<const Buffer> raw) const;

  // What runs, and who is told of its instructions: from the next run on, nullptr nobody.
  [[nodiscard]] const runtime::Method& method() const { return method_; }
  [[nodiscard]] std::string_view method_name() const { return program_.method_name(method_index_); }
  [[nodiscard]] std::vector<std::string> methods() const;  // of the program, by name
  void observe(runtime::InstructionObserver* observer) { method_.observe(observer); }

  // Memory figures under the names of ExecuTorch's executor runner, in bytes; after a run they include what the run
  // used. Of a pool that was given, NAME_total is its size. Of a program with several methods, also what all of them plan,
  // each apart and in the same buffers.
  [[nodiscard]] std::vector<std::pair<std::string, int64_t>> memory() const;
  // Names of the kernels that the method calls, in order, and the number of delegate calls.
  [[nodiscard]] std::vector<std::string> kernels() const;
  [[nodiscard]] int64_t delegate_calls() const;

 private:
  ProgramRunner() = default;
  Result<void> find_method(const std::string& name);
  Result<void> load_data(std::span<const Buffer> data);
  Result<void> plan_memory();
  Result<std::span<std::byte>> planned_buffer(size_t bytes);
  Result<void> load_method();
  runtime::Error load_into_arena();
  // Doubles the scratch arena until the program runs, or runs it in what was given.
  Result<runtime::Error> execute(const datasets::Sample& sample);
  Result<void> run_once(const datasets::Sample& sample);
  [[nodiscard]] std::vector<const runtime::Tensor*> output_tensors() const;
  [[nodiscard]] Result<void> check_outputs(std::span<const std::span<std::byte>> outputs) const;
  [[nodiscard]] Result<void> check_inputs(const datasets::Sample& sample) const;
  Result<void> set_inputs(const datasets::Sample& sample);
  Result<void> set_input(size_t index, const Tensor& tensor, const datasets::InputType& wanted);
  [[nodiscard]] std::unexpected<Diagnostics> error(runtime::Error error, const std::string& doing) const;
  [[nodiscard]] std::unexpected<Diagnostics> pool_lacks(std::string_view pool, const runtime::Arena& arena,
                                                        const std::string& doing) const;

  Buffer file_;
  std::string where_;
  std::vector<runtime::Backend*> backends_;
  std::vector<Buffer> data_files_;
  std::vector<runtime::NamedData> data_;
  runtime::Program program_;
  std::unique_ptr<accelerate::HostKernels> host_kernels_;  // nullptr: the runtime's own
  size_t method_index_ = 0;
  MemoryPools pools_;
  runtime::Method method_;
  MutableBuffer method_memory_;
  MutableBuffer scratch_memory_;
  runtime::Arena method_arena_;
  runtime::Arena scratch_arena_;
  std::vector<MutableBuffer> planned_memory_;
  std::vector<std::span<std::byte>> planned_;
  std::vector<Buffer> aligned_inputs_;  // of tensors that the program lays out in another order
  int64_t input_bytes_ = 0;
};

}  // namespace carina::evaluate
