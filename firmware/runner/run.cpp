#include "firmware/runner/run.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "firmware/board/console.h"
#include "firmware/runner/core_driver.h"
#include "firmware/runner/model.h"
#include "firmware/runner/options.h"
#include "firmware/runner/perf.h"
#include "firmware/runner/tensors.h"
#include "runtime/delegate_state.h"
#include "runtime/kernel.h"
#include "runtime/method.h"

namespace carina::firmware {

namespace {

using runtime::Error;

// The objects of one execution of the model.
struct Session {
  Model model;
  runtime::Program program;
  size_t method_index = 0;
  runtime::Arena method_arena;
  runtime::Arena temp_arena;
  runtime::Method method;
  runtime::DelegateState state;
  std::span<std::byte> delegate;  // the start of the temp pool, in which the state of the only delegate stays
  Perf perf;
  // The uses of the method pool, in bytes.
  size_t planned_bytes = 0;
  size_t loaded_bytes = 0;
  size_t input_bytes = 0;
};
Session session;
ethosu_driver npu;
CoreDriver core_driver;

}  // namespace

[[gnu::weak]] NpuPlace board_npu() {
  return {};
}
[[gnu::weak]] void board_connect_npu(void (* /*handler*/)()) {}

namespace {

int64_t signed_of(size_t bytes) {
  return static_cast<int64_t>(bytes);
}

bool out_of_memory(std::string_view pool, const runtime::Arena& arena, std::string_view doing) {
  error()
      .text(doing)
      .text(": out of memory: the ")
      .text(pool)
      .text(" pool of ")
      .number(signed_of(arena.total_bytes()))
      .text(" bytes lacks at least ")
      .number(signed_of(arena.missing_bytes()))
      .text(" bytes");
  return false;
}

bool failed(std::string_view doing, Error reason) {
  const runtime::Problem& problem = session.method.problem();
  Line line = error();
  line.text(doing).text(": ").text(name_of(reason));
  if (problem.name[0] != '\0') line.text(" (").text(problem.name).text(")");
  if (problem.instruction >= 0) line.text(" at instruction ").number(problem.instruction);
  return false;
}

bool load_program() {
  const std::span<const std::byte> file = session.model.program;
  {
    Line line = info();
    line.text("PTE @ ").hex(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(file.data())));
    if (file.size() > 8) line.text(" [----").text({reinterpret_cast<const char*>(file.data()) + 4, 4}).text("]");
  }
  if (const Error reason = session.program.load(file); reason != Error::kOk)
    return failed("cannot load the program", reason);
  if (session.program.methods() == 0) return failed("the program has no method", Error::kInvalidProgram);
  info().text("PTE Model data loaded. Size: ").number(signed_of(file.size())).text(" bytes.");
  info().text("Model buffer loaded, has ").number(signed_of(session.program.methods())).text(" methods");
  for (size_t m = 0; m < session.program.methods(); ++m) {
    if (session.program.method_name(m) == "forward") session.method_index = m;
  }
  info().text("Running method ").text(session.program.method_name(session.method_index));
  return true;
}

// Allocates the planned buffers at the start of the method pool. Their total size is known, so the error message
// contains all missing bytes.
bool plan_memory(std::span<std::span<std::byte>> planned) {
  runtime::Arena& arena = session.method_arena;
  info().text("Setup Method allocator pool. Size: ").number(signed_of(arena.total_bytes())).text(" bytes.");
  for (size_t i = 0; i < planned.size(); ++i) {
    const size_t bytes = session.state.planned_bytes(i);
    info().text("Setting up planned buffer ").number(signed_of(i)).text(", size ").number(signed_of(bytes)).text(".");
    auto* memory = static_cast<std::byte*>(arena.allocate(bytes));
    if (memory == nullptr) return out_of_memory("method", arena, "cannot set up a planned buffer");
    planned[i] = {memory, bytes};
    std::ranges::fill(planned[i], std::byte{0});  // mutable state starts at zero
  }
  session.planned_bytes = arena.used_bytes();
  return true;
}

// Divides the temp pool: what the delegate keeps from run to run, and what is free after each call.
bool plan_temp_pool(std::span<runtime::Backend* const> backends) {
  session.state = runtime::DelegateState(session.program, session.method_index, backends);
  const size_t bytes = session.state.scratch_bytes();
  runtime::Arena& arena = session.temp_arena;
  if (bytes == 0) return true;
  auto* memory = static_cast<std::byte*>(arena.allocate(bytes));
  if (memory == nullptr) return out_of_memory("temp", arena, "cannot set up the delegate's memory");
  session.delegate = {memory, bytes};
  std::ranges::fill(session.delegate, std::byte{0});
  arena = runtime::Arena(
      session.model.temp_pool.subspan(static_cast<size_t>(memory - session.model.temp_pool.data()) + bytes));
  info()
      .text("State of ")
      .number(signed_of(session.state.state_bytes()))
      .text(" bytes stays in the delegate's memory.");
  return true;
}

bool load_method() {
  static runtime::EthosUBackend backend(core_driver, session.model.fast_pool);
  const std::array<runtime::Backend*, 1> backends{&backend};
  if (!plan_temp_pool(backends)) return false;
  runtime::Arena& arena = session.method_arena;
  const size_t buffers = session.program.planned_buffers(session.method_index);
  auto* table = arena.make_array<std::span<std::byte>>(buffers);
  if (table == nullptr) return out_of_memory("method", arena, "cannot load the method");
  const std::span planned(table, buffers);
  if (!plan_memory(planned)) return false;
  info().text("Loading method.");
  const Error reason = session.method.load(
      session.program, session.method_index,
      {.method = &arena, .scratch = &session.temp_arena, .planned = planned, .delegate = session.delegate},
      {.kernels = runtime::portable_kernels(), .backends = backends});
  if (reason == Error::kOutOfMemory) return out_of_memory("method", arena, "cannot load the method");
  if (reason != Error::kOk) return failed("cannot load the method", reason);
  session.loaded_bytes = arena.used_bytes() - session.planned_bytes;
  info().text("Method '").text(session.program.method_name(session.method_index)).text("' loaded.");
  return true;
}

bool needs_npu() {
  for (size_t i = 0; i < session.method.instructions(); ++i) {
    if (session.method.calls_delegate(i)) return true;
  }
  return false;
}

bool start_npu() {
  if (!needs_npu()) return true;
  const NpuPlace place = board_npu();
  const std::span<std::byte> fast = place.fast_memory.empty() ? session.model.fast_pool : place.fast_memory;
  if (ethosu_init(&npu, place.base_address, fast.data(), fast.size(), place.secure ? 1 : 0, place.privileged ? 1 : 0) !=
      0)
    return false;
  board_connect_npu([] { ethosu_irq_handler(&npu); });
  Perf::choose_events(npu);
  return true;
}

bool prepare(const Options& options) {
  info().text("Preparing inputs...");
  const size_t before = session.method_arena.used_bytes();
  if (!prepare_inputs(session.method, options, 0, session.method_arena)) return false;
  session.input_bytes = session.method_arena.used_bytes() - before;
  info().text("Input prepared.");
  if (!session.perf.prepare(session.method, session.method_arena))
    return out_of_memory("method", session.method_arena, "cannot prepare the profile");
  return read_state(session.method, options);
}

bool execute_once() {
  session.perf.start();
  const Error reason = session.method.execute();
  session.perf.stop();
  if (reason == Error::kOutOfMemory) return out_of_memory("temp", session.temp_arena, session.method.problem().name);
  return reason == Error::kOk || failed("the program failed", reason);
}

// Runs one sample, whose state is that of the sample before.
bool execute(const Options& options, uint32_t sample) {
  if (options.reset_every > 0 && sample > 0 && sample % options.reset_every == 0) {
    if (const Error reason = session.method.reset_state(); reason != Error::kOk)
      return failed("cannot reset the state", reason);
  }
  for (uint32_t i = 0; i < options.inferences; ++i) {
    // Later tensors of an inference may have had the inputs' memory.
    const bool prepared = sample == 0 && i == 0;
    if (!prepared && !prepare_inputs(session.method, options, sample, session.method_arena)) return false;
    if (!execute_once()) return false;
  }
  return write_outputs(session.method, options, sample);
}

uint32_t samples_of(const Options& options) {
  return std::max(options.samples, uint32_t{1});
}

uint32_t inferences_of(const Options& options) {
  return samples_of(options) * options.inferences;
}

bool execute(const Options& options) {
  info().text("Starting running ").number(inferences_of(options)).text(" inferences...");
  session.method.observe(&session.perf);
  for (uint32_t sample = 0; sample < samples_of(options); ++sample) {
    if (!execute(options, sample)) return false;
  }
  info().number(inferences_of(options)).text(" inferences finished");
  return true;
}

void report_bytes(std::string_view name, size_t bytes) {
  info().text(name).number(signed_of(bytes)).text(" bytes");
}

void report_pool(std::string_view name, size_t used, size_t total) {
  info()
      .text(name)
      .number(signed_of(used))
      .text(" / ")
      .number(signed_of(total))
      .text("  free: ")
      .number(signed_of(total - used))
      .text(" ( used: ")
      .number(total == 0 ? 0 : static_cast<int64_t>(uint64_t{used} * 100 / total))
      .text(" % )");
}

void report_memory() {
  const runtime::Arena& arena = session.method_arena;
  report_bytes("model_pte_program_size:     ", session.program.program_bytes());
  report_bytes("model_pte_loaded_size:      ", session.program.file_bytes());
  report_pool("method_allocator_used:      ", arena.used_bytes(), arena.total_bytes());
  report_bytes("method_allocator_planned:   ", session.planned_bytes);
  report_bytes("method_allocator_loaded:    ", session.loaded_bytes);
  report_bytes("method_allocator_input:     ", session.input_bytes);
  report_bytes("method_allocator_executor:  ",
               arena.used_bytes() - session.planned_bytes - session.loaded_bytes - session.input_bytes);
  report_pool("temp_allocator:             ", session.delegate.size() + session.temp_arena.peak_bytes(),
              session.delegate.size() + session.temp_arena.total_bytes());
  const StackUse stack = board_stack_use();
  report_pool("stack:                      ", stack.used_bytes, stack.total_bytes);
}

bool run_model(const Options& options) {
  if (!find_model(session.model) || !load_program()) return false;
  session.method_arena = runtime::Arena(session.model.method_pool);
  session.temp_arena = runtime::Arena(session.model.temp_pool);
  if (!load_method() || !start_npu() || !prepare(options) || !execute(options)) return false;
  session.perf.report(session.method, inferences_of(options));
  report_memory();
  show_outputs(session.method);
  if (!write_state(session.method, options)) return false;
  info().text("Model run: 1");  // as ExecuTorch's runner says if no outputs are compared
  return true;
}

}  // namespace

int run() {
  Options options;
  const bool done = read_options(board_arguments(), options) && run_model(options);
  Line("").text(done ? "Program complete, exiting." : "Program failed, exiting.");
  return done ? 0 : 1;
}

}  // namespace carina::firmware
