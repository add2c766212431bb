#include "driver/budgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// A budget of SRAM covers all that lies there. The planner of the NPU knows only its arena. So the model is compiled
// twice: the first program says what everything else takes, and the second one may use the rest for its arena.
//   Example: --sram-budget 262,144. The first program has an arena of 240,000 B, and plans 49,168 B for inputs and
//   outputs, with 1,200 B of tables. The second one is compiled with an arena of at most 262,144 - 50,368 = 211,776 B.
// The planner trades SRAM for cycles, so a budget that leaves more than the first arena may also give a faster program.
// Constants that the memory mode keeps in SRAM depend on the schedule: if a program exceeds the budget after all, its
// excess lowers the limit of the next one.
namespace carina::driver {

namespace {

constexpr int kTries = 4;

struct Sizes {
  int64_t sram_bytes = 0;
  int64_t working_bytes = 0;  // what a limit of the arena bounds: the arena, or the fast scratch in its place
};

Sizes sizes_of(const Compilation& compilation, const backends::Backend& backend) {
  const results::CompileReport report = compile_report(compilation, backend, {});
  return {.sram_bytes = sram_bytes_of(report),
          .working_bytes = report.arena_memory == "SRAM" ? report.scratch_bytes : report.fast_scratch_bytes};
}

// What an attempt made. A later attempt that fails is replaced by it.
struct Made {
  std::optional<Delegated> delegated;
  std::optional<Package> package;
};

Made taken(Compilation& compilation) {
  return {.delegated = std::exchange(compilation.delegated, std::nullopt),
          .package = std::exchange(compilation.package, std::nullopt)};
}

void put_back(Compilation& compilation, Made made) {
  compilation.delegated = std::move(made.delegated);
  compilation.package = std::move(made.package);
  compilation.errors.clear();
}

// "arena 262,144 + planned 245,760 + tables 596 B"
std::string parts_text(const results::CompileReport& report) {
  std::string text;
  const auto add = [&](std::string_view name, int64_t bytes) {
    if (bytes > 0) text += fmt::format("{}{} {}", text.empty() ? "" : " + ", name, bytes);
  };
  const bool arena = report.arena_memory == "SRAM";
  add(arena ? "arena" : "fast scratch", arena ? report.scratch_bytes : report.fast_scratch_bytes);
  if (arena) {
    add("inputs, outputs and other planned values", report.planned_bytes);
    add("tables of the runtime", report.tables_bytes);
  }
  add("constants", sram_constant_bytes_of(report));
  return text;
}

}  // namespace

void compile_within_budget(Compilation& compilation, const CompileOptions& options, const backends::Backend& backend,
                           const CompileDelegates& compile, const Log& log) {
  const int64_t budget = options.sram_budget_bytes.value_or(0);
  if (budget == 0 || backend.clock_hz == 0) return compile(compilation, options.delegate, log);
  backends::DelegateOptions choices = options.delegate;
  if (choices.optimize == backends::Optimize::kSearch) choices.optimize = backends::Optimize::kSpeed;
  compile(compilation, choices, {.progress = log.progress});
  if (!compilation.errors.empty()) return;
  choices.optimize = options.delegate.optimize;
  Sizes sizes = sizes_of(compilation, backend);
  int64_t limit = budget - (sizes.sram_bytes - sizes.working_bytes);
  for (int tries = 0; tries < kTries && limit > 0 && !compilation.delegated->delegates.empty(); ++tries) {
    const int64_t asked = options.delegate.arena_budget_bytes;
    choices.arena_budget_bytes = asked > 0 ? std::min(asked, limit) : limit;
    Made before = taken(compilation);
    compile(compilation, choices, log);
    if (!compilation.errors.empty()) {
      compilation.limit_errors = std::move(compilation.errors);
      return put_back(compilation, std::move(before));
    }
    sizes = sizes_of(compilation, backend);
    if (sizes.sram_bytes <= budget) return;
    limit -= sizes.sram_bytes - budget;
  }
}

Diagnostics exceeded_budgets(const results::CompileReport& report, const Diagnostics& limit_errors) {
  Diagnostics exceeded;
  const int64_t sram = sram_bytes_of(report);
  if (report.sram_budget_bytes > 0 && sram > report.sram_budget_bytes) {
    exceeded.push_back({.where = report.model,
                        .what = "the program does not fit into --sram-budget",
                        .expected = fmt::format("at most {} B of SRAM", report.sram_budget_bytes),
                        .got = fmt::format("{} B: {}", sram, parts_text(report))});
    for (const Diagnostic& error : limit_errors) exceeded.push_back(error);
  }
  if (report.flash_budget_bytes > 0 && report.program_bytes > report.flash_budget_bytes)
    exceeded.push_back({.where = report.model,
                        .what = "the program does not fit into --flash-budget",
                        .expected = fmt::format("at most {} B", report.flash_budget_bytes),
                        .got = fmt::format("{} B", report.program_bytes)});
  return exceeded;
}

}  // namespace carina::driver
