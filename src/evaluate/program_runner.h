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
#include "runtime/delegate_state.h"
#include "runtime/method.h"

namespace carina::evaluate {

// The CPU kernels to use: the runtime's own, or the host's faster ones where they exist.
struct RunnerKernels {
  enum class Kind : uint8_t { kPortable, kHost };
  Kind kind = Kind::kHost;
  int threads = 1;
};

// The sizes of the runtime's memory pools, as on a device; 0: as much as the program needs.
struct MemoryPools {
  size_t method_bytes = 0;  // planned buffers, followed by the method's tables (which are larger on 64 bits)
  size_t temp_bytes = 0;    // temporary memory of kernels and delegates
};

// Planned memory that the methods of one program share: all buffers but the first, which have the states that methods
// have in common. A method that is loaded with it takes what a method before it has left there.
struct SharedMemory {
  std::vector<MutableBuffer> buffers = {};  // by number; empty: no method has it yet
};

// Runs the embedded executor on the host. Its arenas are vectors. Without given pool sizes they grow until the program
// fits. It runs the method with the given name; if none is given, "forward", or else the first.
class ProgramRunner {
 public:
  // `backends` must outlive the runner. `data` has the .ptd files with the tensors stored outside of the program.
  // `method` is a method's name; empty: the default. Errors: a damaged program; an unknown method; the name of a
  // missing kernel, backend or tensor; more memory than a host run may use or than `pools` gives, with the pool and the
  // missing bytes.
  static Result<std::unique_ptr<ProgramRunner>> load(const Buffer& file, const std::string& where,
                                                     std::span<runtime::Backend* const> backends,
                                                     std::span<const Buffer> data = {}, RunnerKernels kernels = {},
                                                     const std::string& method = {}, MemoryPools pools = {},
                                                     std::shared_ptr<SharedMemory> shared = {});

  [[nodiscard]] std::vector<datasets::InputType> inputs() const;
  // The name, type and shape of each output tensor; of one whose sizes may vary, the largest until it runs.
  [[nodiscard]] std::vector<datasets::InputType> output_types() const;
  [[nodiscard]] size_t outputs() const { return method_.outputs(); }
  // Runs once. A number input of the program is passed as a tensor without axes. Errors: inputs whose count, type or
  // shape does not match; errors of kernels and delegates.
  Result<std::vector<datasets::NamedTensor>> run(const datasets::Sample& sample);
  // The same, and copies the elements of output tensor i, in the order of its shape, to outputs[i]. Errors: also
  // outputs of another number or size; then none is written.
  Result<void> run_into(const datasets::Sample& sample, std::span<const std::span<std::byte>> outputs);

  // The state that each run passes on to the next, in the order of the program. A state without a name in the program,
  // or with one that no file may have, is called state_<n>. state() copies it, and set_state() replaces it. Errors:
  // tensors of another number, type or shape.
  [[nodiscard]] std::vector<datasets::InputType> state_types() const;
  [[nodiscard]] std::vector<datasets::NamedTensor> state() const;
  // Where each state is: of methods loaded with one SharedMemory, equal places are one state.
  [[nodiscard]] std::vector<const void*> state_places() const;
  Result<void> set_state(std::span<const Tensor> tensors);
  // Gives the state its initial values: those that the program has, else zeros.
  void reset_state();

  // For runs on another device. raw_inputs() and raw_state() return the bytes of each tensor in the memory layout of
  // the program (none for a number). outputs_of() and state_of() convert such bytes to tensors. Errors: those of run()
  // about inputs and of set_state(); bytes whose count or size does not match.
  Result<std::vector<Buffer>> raw_inputs(const datasets::Sample& sample) const;
  Result<std::vector<datasets::NamedTensor>> outputs_of(std::span<const Buffer> raw) const;
  Result<std::vector<Buffer>> raw_state(std::span<const Tensor> tensors) const;
  Result<std::vector<datasets::NamedTensor>> state_of(std::span<const Buffer> raw) const;

  // The method that runs. observe() sets the observer of its instructions from the next run on; nullptr removes it.
  [[nodiscard]] const runtime::Method& method() const { return method_; }
  [[nodiscard]] std::string_view method_name() const { return program_.method_name(method_index_); }
  [[nodiscard]] std::vector<std::string> methods() const;  // names of the program's methods
  void observe(runtime::InstructionObserver* observer) { method_.observe(observer); }

  // Memory figures in bytes, under the names of ExecuTorch's executor runner. After a run they include the memory that
  // the run used. For a pool of given size, NAME_total is that size. For a program with several methods there are also
  // the planned bytes of all methods, with separate and with shared buffers.
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
  std::span<std::byte> shared_buffer(size_t index, size_t bytes);
  Result<void> load_method();
  [[nodiscard]] bool has_pools() const { return pools_.method_bytes != 0 || pools_.temp_bytes != 0; }
  runtime::Error load_into_arena();
  void set_scratch(size_t bytes);
  // Runs the program. An instruction that lacks scratch memory runs again in an arena of twice the size. If pool sizes
  // are given, the program runs with those.
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
  runtime::DelegateState state_;
  MutableBuffer delegate_memory_;         // in which the state of the only delegate stays; empty: all state is planned
  std::shared_ptr<SharedMemory> shared_;  // nullptr: the method's state is its own
  std::vector<MutableBuffer> planned_memory_;
  std::vector<std::span<std::byte>> planned_;
  std::vector<Buffer> aligned_inputs_;  // converted inputs, for tensors whose axes the program stores in another order
  int64_t input_bytes_ = 0;
};

}  // namespace carina::evaluate
