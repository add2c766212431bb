#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/arena.h"
#include "runtime/backend.h"
#include "runtime/error.h"
#include "runtime/evalue.h"
#include "runtime/kernel.h"
#include "runtime/named_data.h"
#include "runtime/program.h"
#include "runtime/rewrite.h"

namespace carina::runtime {

// The memory of a method. The caller owns all of it.
struct MemoryManager {
  Arena* method = nullptr;                        // for the tables of the method; used at load only
  Arena* scratch = nullptr;                       // for kernels and delegates; freed after each call
  std::span<const std::span<std::byte>> planned;  // one for each planned buffer, at least of its size, 16-byte aligned
  // The scratch memory of the delegate that the state stays in, of DelegateState::scratch_bytes(), 16-byte aligned, and
  // zeros like planned memory. Nothing else may use it. Planned buffers then have DelegateState::planned_bytes().
  // Empty: all state is in planned memory.
  std::span<std::byte> delegate = {};
};

struct Linkage {
  std::span<const KernelEntry> kernels;  // sorted by name
  std::span<Backend* const> backends;
  std::span<const NamedData> data = {};  // searched in order for external tensors
  Rewriter* rewriter = nullptr;          // changes the calls of a loaded method
};

// The kinds of memory in a MemoryManager.
enum class MemoryArena : uint8_t { kNone, kMethod, kScratch, kPlanned };
const char* name_of(MemoryArena arena);  // "method arena"

// Details of a failed load or execution: a name from the program (of a kernel, a backend or a tensor) or nothing; the
// instruction; for kOutOfMemory, the memory that is too small and the minimum of missing bytes.
struct Problem {
  char name[96] = {};
  int32_t instruction = -1;
  MemoryArena arena = MemoryArena::kNone;
  uint32_t planned_buffer = 0;  // if the memory is kPlanned
  size_t missing_bytes = 0;
};

// A tensor that keeps its content from run to run: a mutable buffer of the model.
struct StateTensor {
  std::string_view name;           // of the model's buffer, "blocks.0.k_cache"; empty if the program has no names
  const Tensor* tensor = nullptr;  // nullptr: there is no such state
};

// Is called for each instruction of a run, to measure and record. For an instruction that lacks scratch memory, after()
// is called only once Method::resume() has run it.
class InstructionObserver {
 public:
  virtual void before(size_t instruction) = 0;
  virtual void after(size_t instruction) = 0;

 protected:
  ~InstructionObserver() = default;
};

// A method of a program, ready to run. Loading allocates from the method arena. Running allocates from scratch only.
class Method {
 public:
  // Errors: kInvalidProgram; kOutOfMemory (problem() names the memory and the missing bytes); kOperatorMissing,
  // kBackendMissing and kDataMissing (problem() has the name); kInvalidArgument (no such method, an arena that is null,
  // external data of another type or shape than their tensor); errors of a backend's init().
  Error load(const Program& program, size_t method, const MemoryManager& memory, const Linkage& linkage);

  [[nodiscard]] size_t inputs() const { return inputs_.size(); }
  [[nodiscard]] size_t outputs() const { return outputs_.size(); }
  // The value of an input or an output. A method that is not loaded has neither; an index beyond the last gives a value
  // of kind kNone.
  [[nodiscard]] const EValue& input(size_t index) const { return value_at(inputs_, index); }
  [[nodiscard]] const EValue& output(size_t index) const { return value_at(outputs_, index); }
  // Copies a tensor's bytes into input `index`. If the program plans no memory for it, the caller's memory is used
  // until the next call of set_input().
  // Errors: kNotLoaded; kInvalidArgument if there is no such input or the size differs.
  Error set_input(size_t index, std::span<const std::byte> bytes);
  // Changes the sizes of input `index`, up to the planned ones, if the program declares it resizable. The next
  // set_input() must pass as many bytes. Errors: kNotLoaded; kInvalidArgument if there is no such input, it is not
  // resizable, or the sizes are too large.
  Error resize_input(size_t index, std::span<const int64_t> sizes);

  // The state, in the order of the program's values: planned tensors that have a name or an initial value in the
  // program, or that the first instruction with them reads. state(i) walks the values.
  [[nodiscard]] size_t states() const;
  [[nodiscard]] StateTensor state(size_t index) const;
  // Gives the state its initial values: those of the program, else zeros. Errors: kNotLoaded.
  Error reset_state();
  // Copies the state to or from `bytes`: all its tensors in order, without padding. Errors: kNotLoaded;
  // kInvalidArgument if the size is not state_bytes().
  [[nodiscard]] size_t state_bytes() const;
  Error save_state(std::span<std::byte> bytes) const;
  Error restore_state(std::span<const std::byte> bytes);

  // Sets the observer from the next run on; nullptr: none. Loading resets it.
  void observe(InstructionObserver* observer) { observer_ = observer; }
  [[nodiscard]] bool is_loaded() const { return loaded_; }
  // Runs the method once. Errors: kNotLoaded; those of a kernel or a delegate, which problem() names; kInvalidProgram
  // for a loop with too many backward jumps.
  Error execute();
  // Continues a run that ended with kOutOfMemory, from the instruction that lacked scratch memory. The caller has given
  // the scratch arena more. Each instruction thus runs once, also one that changes the program's state.
  // Errors: those of execute(); kInvalidArgument if the last run did not lack scratch memory.
  Error resume();
  // The maximum of backward jumps in a run, so that a damaged program ends. Loading sets it to kMaxJumpsBack.
  static constexpr uint32_t kMaxJumpsBack = 1'000'000;
  void limit_jumps_back(uint32_t max) { max_jumps_back_ = max; }

  [[nodiscard]] const Problem& problem() const { return problem_; }
  // The name of the kernel or delegate that instruction `index` calls ("aten::add.out", "EthosUBackend"). Empty for
  // other instructions and for an index beyond the last.
  [[nodiscard]] size_t instructions() const { return instructions_.size(); }
  [[nodiscard]] std::string_view instruction_name(size_t index) const;
  [[nodiscard]] bool calls_delegate(size_t index) const;
  // The arguments of an instruction. The last argument of a kernel is its result. The inputs of a delegate precede its
  // outputs.
  [[nodiscard]] Arguments instruction_arguments(size_t index) const;

 private:
  friend class MethodCalls;
  friend class MethodSizer;
  struct Instruction;
  struct Delegate;
  struct RuntimeNumber;
  struct InitialValue;
  class Loader;

  static constexpr EValue kNoValue{};
  [[nodiscard]] const EValue& value_at(std::span<const int32_t> slots, size_t index) const {
    return index < slots.size() ? values_[static_cast<size_t>(slots[index])] : kNoValue;
  }
  // Writes computed numbers to the lists that contain them.
  void refresh_lists();
  // Runs the instructions from `at` on. kAgain: the observer knows of the first one already.
  enum class Start : uint8_t { kNew, kAgain };
  Error run_from(size_t at, Start start);
  // Runs one instruction. A jump changes `next`.
  Error run(const Instruction& instruction, size_t& next);

  std::span<EValue> values_;
  std::span<const int32_t> inputs_;
  std::span<const int32_t> outputs_;
  std::span<Instruction> instructions_;
  std::span<Delegate> delegates_;
  std::span<RuntimeNumber> numbers_;
  std::span<InitialValue> initial_values_;
  std::span<std::byte> delegate_memory_;              // empty: delegates allocate from scratch
  const pte::schema::ExecutionPlan* plan_ = nullptr;  // for the names of the state
  Arena* scratch_ = nullptr;
  bool loaded_ = false;
  InstructionObserver* observer_ = nullptr;
  uint32_t max_jumps_back_ = kMaxJumpsBack;
  Problem problem_;
};

}  // namespace carina::runtime
