#include "backends/delegate_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/ethosu_specs.h"
#include "facts/ethosu_delegates.h"
#include "facts/executorch.h"
#include "npu/delegate_blob.h"
#include "npu/payload.h"

namespace carina::backends {

namespace {

// Returns the NPU for which a delegate's stream was compiled; "" if Carina does not know it.
Result<std::string> accelerator_of(const pte::Delegate& delegate, const std::string& where) {
  CARINA_TRY(const npu::NetworkInFile read, npu::read_delegate_blob_in_place(delegate.blob, where));
  CARINA_TRY(const npu::Payload payload, npu::parse_payload(read.network.command_payload, where));
  return payload.accelerator() == nullptr ? std::string() : std::string(payload.accelerator()->name);
}

const pte::Delegate* first_ethosu_delegate(const pte::Program& program) {
  for (const pte::Plan& plan : program.plans) {
    const auto found = std::ranges::find_if(plan.delegates, is_ethos_u, &pte::Delegate::backend);
    if (found != plan.delegates.end()) return &*found;
  }
  return nullptr;
}

// The delegates share one fast memory: the largest size that one of them was compiled for; 0: none has a size.
int64_t largest_cache_of(const pte::Program& program) {
  int64_t largest = 0;
  for (const pte::Plan& plan : program.plans) {
    for (const pte::Delegate& delegate : plan.delegates) {
      if (is_ethos_u(delegate.backend))
        largest = std::max(largest, read_specs(delegate.compile_specs).arena_cache_bytes);
    }
  }
  return largest;
}

std::unexpected<Diagnostics> memories_not_given(const targets::TargetNames& wanted, const std::string& where) {
  return fail(
      {.where = where,
       .what = "the program was compiled for memories of a vela.ini that was not given, so its cycles are not known",
       .expected = fmt::format("{}, {}", wanted.system_config, wanted.memory_mode),
       .hint = "give the file, or the names of other memories to estimate for",
       .fault = Fault::kUsage});
}

// Warns if a run has another memory mode than the program, whose stream keeps its places of data.
void warn_of_other_mode(const targets::TargetNames& asked, const EthosUSpecs& specs, const std::string& where,
                        const Log& log) {
  if (asked.memory_mode.empty() || specs.memory_mode.empty() || asked.memory_mode == specs.memory_mode) return;
  log.note({.where = where,
            .what = fmt::format("the program was compiled for the memory mode {} and runs with {}: its cycles are not "
                                "those of a program for {}, and it fails where it needs a memory that {} lacks",
                                specs.memory_mode, asked.memory_mode, asked.memory_mode, asked.memory_mode),
            .hint = fmt::format("compile it with --memory-mode {}", asked.memory_mode),
            .severity = Severity::kWarning});
}

}  // namespace

Result<std::optional<plan::Target>> target_of_delegate(const pte::Delegate& delegate, const targets::TargetNames& asked,
                                                       const std::string& where, const Log& log,
                                                       UnknownMemories unknown) {
  const EthosUSpecs specs = read_specs(delegate.compile_specs);
  targets::TargetNames names = asked;
  CARINA_TRY(names.accelerator, accelerator_of(delegate, where));
  if (names.accelerator.empty()) return std::nullopt;
  warn_of_other_mode(asked, specs, where, log);
  targets::TargetNames wanted = names;
  if (wanted.system_config.empty()) wanted.system_config = specs.system_config;
  if (wanted.memory_mode.empty()) wanted.memory_mode = specs.memory_mode;
  if (!wanted.arena_cache_bytes && specs.arena_cache_bytes > 0) wanted.arena_cache_bytes = specs.arena_cache_bytes;
  if (auto found = targets::find_target(wanted, log)) return *found;
  if (unknown == UnknownMemories::kError) return memories_not_given(wanted, where);
  CARINA_TRY(const plan::Target fallback, targets::find_target(names, log));
  log.note({.where = where,
            .what = fmt::format(
                "the program was compiled for {}, {} of a vela.ini that was not given; cycle estimates assume {}, {}",
                wanted.system_config, wanted.memory_mode, fallback.system.name, fallback.memory.name),
            .hint = "give the file: --config FILE",
            .severity = Severity::kWarning});
  return fallback;
}

Result<plan::Target> target_of_program(const pte::Program& program, const std::string& where,
                                       const targets::TargetNames& asked, const Log& log, UnknownMemories unknown) {
  targets::TargetNames names = asked;
  if (const pte::Delegate* delegate = first_ethosu_delegate(program)) {
    if (const int64_t cache = largest_cache_of(program); cache > 0 && !names.arena_cache_bytes)
      names.arena_cache_bytes = cache;
    CARINA_TRY(const std::optional<plan::Target> target, target_of_delegate(*delegate, names, where, log, unknown));
    if (target) return *target;
  }
  names = asked;
  names.accelerator = npu::kAcceleratorOfNoDelegate;
  return targets::find_target(names, log);
}

size_t fast_bytes_of(const plan::Target& target, size_t unsized_bytes) {
  if (!npu::has_fast_scratch(target.memory)) return 0;
  return target.memory.cache_bytes == 0 ? unsized_bytes : static_cast<size_t>(target.memory.cache_bytes);
}

ZeroedPages fast_memory_of(const plan::Target& target) {
  constexpr size_t kUnsizedBytes = size_t{64} << 20;
  return ZeroedPages(fast_bytes_of(target, kUnsizedBytes));
}

}  // namespace carina::backends
