#include "plan/remedies_internal.h"

#include <fmt/format.h>

#include "plan/compile.h"
#include "plan/memory/shortage.h"

namespace carina::plan {
namespace {

std::string text_of(int64_t bytes) {
  return fmt::format("{} bytes", bytes);
}

void add_smallest(std::string& hint, const ir::Graph& tosa, const Context& context) {
  Options smallest = context.options;
  smallest.optimize = Optimize::kSize;
  smallest.variation.staging = Variation::Staging::kNever;
  smallest.watch = {};
  const auto compiled = compile(tosa, context.target, smallest, {});
  if (compiled) {
    const bool fast = working_space(context.target, context.family) == Space::kFastScratch;
    const int64_t bytes = fast ? compiled->fast_scratch_bytes : compiled->scratch_bytes;
    hint += fmt::format("; -Os needs {}, which fits", text_of(bytes));
  } else if (const Diagnostic& why = compiled.error().front(); why.where == kShortage) {
    hint += fmt::format("; with -Os {}: it takes {}", why.what, why.got);
  }
}

// The first mode of the family in which the arena lies in slow memory: the limit is for fast scratch then.
void add_dedicated(std::string& hint, const ir::Graph& tosa, const Context& context) {
  if (working_space(context.target, context.family) == Space::kFastScratch) return;
  Options options = context.options;
  options.watch = {};
  for (const npu::MemoryMode& mode : npu::kMemoryModes) {
    Target target = context.target;
    target.memory = mode;
    if (!npu::has_fast_scratch(mode) || !context.family.spaces(target)) continue;
    if (const auto compiled = compile(tosa, target, options, {}))
      hint += fmt::format("; memory mode {} keeps {} in SRAM and {} in slow memory", mode.name,
                          text_of(compiled->fast_scratch_bytes), text_of(compiled->scratch_bytes));
    return;
  }
}

}  // namespace

Diagnostics with_remedies(Diagnostics shortage, const ir::Graph& tosa, const Context& context, int64_t whole_bytes) {
  std::string& hint = shortage.front().hint;
  hint += whole_bytes == 0 ? "; computing it in stripes of rows would not help"
                           : fmt::format("; without stripes of rows it would take {}", text_of(whole_bytes));
  if (context.options.optimize != Optimize::kSize) add_smallest(hint, tosa, context);
  add_dedicated(hint, tosa, context);
  return shortage;
}

}  // namespace carina::plan
