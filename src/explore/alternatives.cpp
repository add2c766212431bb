#include "explore/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "backends/ethosu_backend.h"
#include "base/parallel/parallel.h"
#include "driver/prepared_model.h"
#include "explore/choice_internal.h"
#include "targets/target_list.h"

namespace carina::explore {

namespace {

using results::Alternative;

void add_levels(const driver::CompileRequest& request, std::vector<Choice>& choices) {
  const auto add = [&](backends::Optimize level, const char* what, const char* options) {
    if (request.optimize == level) return;
    choices.push_back({.what = what, .options = options, .request = request});
    choices.back().request.optimize = level;
  };
  add(backends::Optimize::kSpeed, "the schedule made for speed", "-O2");
  add(backends::Optimize::kSearch, "seconds of search for a faster schedule", "-O3");
  add(backends::Optimize::kSize, "the schedule made for the least SRAM", "-Os");
}

void add_switches(const driver::CompileRequest& request, std::vector<Choice>& choices) {
  if (!request.dynamic_weights) {
    choices.push_back({.what = "matrix products with weights that the NPU writes (not confirmed on silicon)",
                       .options = "--dynamic-weights",
                       .request = request});
    choices.back().request.dynamic_weights = true;
  }
  if (request.delegates == driver::DelegateMode::kNpu) {
    choices.push_back({.what = "all supported nodes on the NPU, including data movement",
                       .options = "--delegate-all",
                       .request = request});
    choices.back().request.delegates = driver::DelegateMode::kAll;
  }
}

// Adds the memory modes that the target's system supports.
Result<void> add_memory_modes(const driver::CompileRequest& request, const results::CompileReport& now,
                              std::vector<Choice>& choices) {
  CARINA_TRY(const results::TargetList list, targets::list_targets(request.target.config_files));
  for (const results::ModeRow& mode : list.modes) {
    if (mode.name == now.memory_mode) continue;
    Choice choice{.what = fmt::format("memory mode {}", mode.name),
                  .options = fmt::format("--memory-mode {}", mode.name),
                  .request = request};
    choice.request.target.memory_mode = mode.name;
    choice.request.target.arena_cache_bytes.reset();
    if (targets::find_target(choice.request.target)) choices.push_back(std::move(choice));
  }
  return {};
}

// Adds the next smaller and the next larger NPU of the same product line. Their names differ only after the last "-".
void add_sizes(const driver::CompileRequest& request, const results::CompileReport& now, std::vector<Choice>& choices) {
  const auto line_of = [](std::string_view name) { return name.substr(0, name.rfind('-')); };
  std::vector<std::string_view> line;
  for (const std::string_view target : backends::ethosu_targets()) {
    if (line_of(target) == line_of(now.target)) line.push_back(target);
  }
  const auto here = std::ranges::find(line, now.target) - line.begin();
  for (const auto other : {here - 1, here + 1}) {
    if (other < 0 || other >= static_cast<std::ptrdiff_t>(line.size())) continue;
    const std::string name(line[static_cast<size_t>(other)]);
    choices.push_back({.what = fmt::format("another NPU: {}", name),
                       .options = fmt::format("--target {}", name),
                       .request = request});
    choices.back().request.target.accelerator = name;
  }
}

// Adds other integer types, for a model that was calibrated here. Their results differ; `carina accuracy` measures how
// much.
void add_schemes(const driver::CompileRequest& request, const driver::PreparedModel& model,
                 std::vector<Choice>& choices) {
  if (!model.calibrated) return;
  const auto add = [&](const char* scheme, const char* what) {
    if (model.model.quantization.starts_with(fmt::format("{},", scheme))) return;
    choices.push_back({.what = fmt::format("{} (other results: see carina accuracy)", what),
                       .options = fmt::format("--quantize {}", scheme),
                       .request = request,
                       .quantizes_anew = true});
    options::QuantizeOptions& quantize = choices.back().request.quantize;
    quantize.scheme = scheme;
    quantize.max_cycles.clear();  // of --quantize auto
    quantize.min_sqnr.clear();
    quantize.auto_front.clear();
  };
  add("int8", "8-bit activations and weights");
  add("int8x4", "4-bit weights");
  if (model.model.quantization.starts_with("auto")) return;
  const auto add_detail = [&](std::string options::QuantizeOptions::* detail, const char* value, const char* what,
                              const char* option) {
    if (!(request.quantize.*detail).empty()) return;
    choices.push_back({.what = fmt::format("{} (other results: see carina accuracy)", what),
                       .options = fmt::format("{} {}", option, value),
                       .request = request,
                       .quantizes_anew = true});
    choices.back().request.quantize.*detail = value;
  };
  add_detail(&options::QuantizeOptions::prune, "2:4", "two of each four weights pruned", "--prune-weights");
  add_detail(&options::QuantizeOptions::clusters, "16", "16 different weights in a layer", "--cluster-weights");
}

Alternative measured(const Choice& choice, const driver::PreparedModel& model) {
  Alternative alternative{.what = choice.what, .options = choice.options};
  const auto made = compile_choice(choice, model);
  if (!made || !made->cycles) {
    alternative.failure = made ? "its cycles could not be estimated" : to_string(made.error().front());
    return alternative;
  }
  alternative.cycles = *made->cycles;
  alternative.cpu_cycles = results::cpu_cycles_of(*made);
  alternative.clock_hz = made->clock_hz;
  alternative.sram_bytes = results::sram_bytes_of(*made);
  alternative.program_bytes = made->program_bytes;
  return alternative;
}

bool changes_something(const Alternative& alternative, const results::CompileReport& now) {
  return !alternative.failure.empty() ||
         std::tuple(alternative.cycles, alternative.cpu_cycles, alternative.clock_hz, alternative.sram_bytes) !=
             std::tuple(now.cycles.value_or(0), results::cpu_cycles_of(now), now.clock_hz, results::sram_bytes_of(now));
}

double seconds_of(const Alternative& alternative) {
  return static_cast<double>(alternative.cycles) / static_cast<double>(std::max<int64_t>(alternative.clock_hz, 1));
}

std::vector<Alternative> measured(const std::vector<Choice>& choices, const driver::PreparedModel& model, int threads) {
  std::vector<Alternative> alternatives(choices.size());
  ThreadPool pool(threads);
  pool.parallel_for(choices.size(), [&](size_t i) { alternatives[i] = measured(choices[i], model); });
  return alternatives;
}

void sort_by_time(std::vector<Alternative>& alternatives) {
  std::ranges::stable_sort(alternatives, {}, [](const Alternative& alternative) {
    return std::pair(!alternative.failure.empty(), seconds_of(alternative));
  });
}

// Adds the choice of integers as inputs and outputs, alone and with a schedule for the least SRAM.
void add_integer_io(const driver::CompileRequest& request, const results::CompileReport& now,
                    std::vector<Choice>& choices) {
  if (now.integer_io.empty() || !request.quantize.io.empty()) return;
  for (const bool small : {false, true}) {
    if (small && request.optimize == backends::Optimize::kSize) return;
    choices.push_back({.what = "integers as inputs and outputs",
                       .options = fmt::format("--io {}{}", now.integer_io, small ? " -Os" : ""),
                       .request = request,
                       .quantizes_anew = true});
    choices.back().request.quantize.io = now.integer_io;
    if (small) choices.back().request.optimize = backends::Optimize::kSize;
  }
}

}  // namespace

Result<std::vector<Alternative>> find_alternatives(const driver::CompileRequest& given,
                                                   const driver::PreparedModel& model,
                                                   const results::CompileReport& now, const Log& log) {
  if (!now.cycles || now.clock_hz == 0) return std::vector<Alternative>();  // no estimate of the costs exists
  CARINA_TRY(const driver::CompileRequest request, plain_request(given));
  std::vector<Choice> choices;
  add_levels(request, choices);
  add_switches(request, choices);
  CARINA_CHECKED(add_memory_modes(request, now, choices));
  add_sizes(request, now, choices);
  add_schemes(request, model, choices);
  std::vector<Alternative> alternatives = measured(choices, model, given.threads);
  log.progress("alternatives", choices.size(), choices.size());
  std::erase_if(alternatives, [&](const Alternative& alternative) { return !changes_something(alternative, now); });
  sort_by_time(alternatives);
  return alternatives;
}

Result<std::vector<Alternative>> find_remedies(const driver::CompileRequest& given, const driver::PreparedModel& model,
                                               const results::CompileReport& now, const Log& log) {
  if (now.clock_hz == 0) return std::vector<Alternative>();
  CARINA_TRY(const driver::CompileRequest request, plain_request(given));
  std::vector<Choice> choices;
  add_integer_io(request, now, choices);
  add_levels(request, choices);
  std::erase_if(choices, [](const Choice& choice) { return choice.request.optimize == backends::Optimize::kSearch; });
  CARINA_CHECKED(add_memory_modes(request, now, choices));
  add_schemes(request, model, choices);
  std::vector<Alternative> remedies = measured(choices, model, given.threads);
  log.progress("alternatives", choices.size(), choices.size());
  std::erase_if(remedies, [](const Alternative& remedy) { return !remedy.failure.empty(); });
  sort_by_time(remedies);
  return remedies;
}

}  // namespace carina::explore
