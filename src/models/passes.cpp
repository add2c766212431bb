#include "models/passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include "lower/lower.h"
#include "normalize/normalize.h"

namespace carina::models {

namespace {

bool has(std::span<const ir::Pass> pipeline, std::string_view name) {
  return std::ranges::find(pipeline, name, &ir::Pass::name) != pipeline.end();
}

}  // namespace

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const auto pipeline : {normalize::pipeline(), lower::clean_up_pipeline()}) {
    for (const ir::Pass& pass : pipeline) names.emplace_back(pass.name);
  }
  return names;
}

Result<void> check_pass_names(const ir::PassOptions& options) {
  std::vector<std::string> asked = options.disabled;
  if (!options.stop_after.empty()) asked.push_back(options.stop_after);
  const std::vector<std::string> known = pass_names();
  for (const std::string& name : asked) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return fail({.where = "passes",
                 .what = "unknown pass",
                 .expected = fmt::format("one of {}", fmt::join(known, ", ")),
                 .got = name,
                 .fault = Fault::kUsage});
  }
  return {};
}

ir::PassOptions options_for(const ir::PassOptions& options, std::span<const ir::Pass> pipeline) {
  ir::PassOptions own = options;
  std::erase_if(own.disabled, [&](const std::string& name) { return !has(pipeline, name); });
  if (!has(pipeline, own.stop_after)) own.stop_after.clear();
  return own;
}

}  // namespace carina::models
