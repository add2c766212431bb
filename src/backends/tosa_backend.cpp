#include "backends/tosa_backend_internal.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "facts/executorch.h"
#include "facts/lowering_targets.h"
#include "files/tosa_file.h"

namespace carina::backends {

namespace {

constexpr std::string_view kPrefix = "TOSA-";
constexpr std::array<std::string_view, 2> kVersions{"1.0", "1.1"};
constexpr std::array<std::string_view, 2> kProfiles{"INT", "FP"};

// Extensions with other names in the Arm backend than in the specification. Empty: an extension of TOSA 1.1; Carina
// writes files of 1.0, which does not have it.
constexpr auto kOtherNames = std::to_array<std::pair<std::string_view, std::string_view>>({{"var", "VARIABLE"},
                                                                                           {"cf", "CONTROLFLOW"},
                                                                                           {"shape", ""},
                                                                                           {"int64", ""},
                                                                                           {"random", ""},
                                                                                           {"mxfp", ""},
                                                                                           {"blockscale_ue5m3", ""}});

std::string extension_of(std::string part) {
  const auto* other = std::ranges::find(kOtherNames, part, [](const auto& row) { return row.first; });
  return other == kOtherNames.end() ? part : std::string(other->second);
}

std::vector<std::string> spec_parts(std::string_view spec) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= spec.size();) {
    const size_t end = std::min(spec.find('+', start), spec.size());
    parts.emplace_back(spec.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

struct Spec {
  std::string text;
  files::TosaLimits limits;
  LoweringTarget lowering = kPlainTosa;

  [[nodiscard]] bool has(std::string_view profile) const {
    return std::ranges::find(limits.profiles, profile) != limits.profiles.end();
  }
};

Result<Spec> read_spec(std::string_view text) {
  std::vector<std::string> parts = spec_parts(text.substr(kPrefix.size()));
  Spec spec{.text = std::string(text), .limits = {}};
  const bool known = std::ranges::any_of(kVersions, [&](auto version) { return parts.front().starts_with(version); });
  for (size_t w = 1; w < parts.size(); ++w) {
    if (parts[w] == kTosaSubsetOfSmallNpus)
      spec.lowering = kDefaultLowering;
    else if (std::ranges::find(kProfiles, parts[w]) != kProfiles.end())
      spec.limits.profiles.push_back(std::move(parts[w]));
    else if (parts[w] != "8k")
      spec.limits.extensions.push_back(extension_of(std::move(parts[w])));
  }
  std::erase(spec.limits.extensions, std::string());
  if (spec.limits.extensions.empty()) spec.limits.extensions.emplace_back("none");
  if (known && !spec.limits.profiles.empty()) return spec;
  return fail({.where = "target",
               .what = "not a TOSA specification",
               .expected = "TOSA-1.0+INT or TOSA-1.0+FP, optionally followed by extensions",
               .got = std::string(text),
               .fault = Fault::kUsage});
}

Result<Delegate> write(const Spec& spec, const ir::Graph& tosa) {
  ir::Graph graph = tosa;
  graph.name = "main";  // the name under which the TOSA reference model looks it up
  auto file = files::write_sound_tosa({.graphs = {std::move(graph)}}, "1.0", spec.limits, "delegate");
  if (!file) {
    for (Diagnostic& error : file.error()) error.hint = "use a target with that profile or extension";
    return std::unexpected(std::move(file).error());
  }
  return Delegate{
      .packaged = {.backend = std::string(kTosaBackendId),
                   .blob = Buffer::copy_of(*file),
                   .compile_specs = {{"tosa_spec", spec_bytes(spec.text)}, {"output_format", spec_bytes("tosa")}}},
      .report = {.tosa_operators = static_cast<int64_t>(tosa.nodes.size())},
      .cycles_of_node = {},
      .artifacts = {}};
}

}  // namespace

bool is_tosa_spec(std::string_view target) {
  return target.starts_with(kPrefix);
}

Result<Backend> tosa_backend(std::string_view text) {
  CARINA_TRY(const Spec spec, read_spec(text));
  return Backend{
      .target = spec.text,
      .accelerator = "TOSA",
      .system_config = {},
      .memory_mode = {},
      .arena_memory = {},
      .tosa_spec = spec.text,
      .lowering = {.name = "TOSA",
                   .limits = spec.lowering.limits,
                   .idioms = spec.lowering.idioms,
                   .takes_floats = spec.has("FP")},
      .compile = [spec](const ir::Graph& tosa, const DelegateOptions&, const Log&) { return write(spec, tosa); }};
}

}  // namespace carina::backends
