#include "files/tosa_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "files/file_kind.h"
#include "files/sound_module_internal.h"
#include "frontend/tflite/tflite.h"
#include "frontend/tosa/flatbuffer.h"
#include "frontend/tosa/verify/verify.h"
#include "frontend/vgf/vgf.h"

namespace carina::files {

namespace {

constexpr size_t kMaxViolations = 1000;  // of one file; more violations give no further information

constexpr std::array kLevels{kTosaLevel8K, kTosaLevelNone};

struct NamedFeatures {
  std::string_view name;
  TosaFeatures features;
};
// The profiles of TOSA 0.80 in terms of 1.0: base inference has integers only, main inference has everything.
constexpr std::array kOldProfiles{
    NamedFeatures{"BI", TosaFeature::kProInt | TosaFeature::kExtInt16 | TosaFeature::kExtInt4 |
                            TosaFeature::kExtControlFlow | TosaFeature::kExtDoubleRound},
    NamedFeatures{"MI", tosa::kAllTosaFeatures},
};

constexpr TosaFeatures kAllProfiles = TosaFeature::kProInt | TosaFeature::kProFp;

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c == '_' ? '-' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return out;
}

// Returns the short name: "INT" for "tosa-pro-int", "PRO-INT" and "INT".
std::string bare_name(std::string_view text) {
  std::string name = upper(text);
  for (const std::string_view prefix : {"TOSA-", "PRO-", "EXT-"}) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  }
  return name;
}

std::unexpected<Diagnostics> unknown(std::string_view what, const std::string& got, std::string expected) {
  return fail({.where = std::string(what),
               .what = "unknown profile, extension or level",
               .expected = std::move(expected),
               .got = got,
               .fault = Fault::kUsage});
}

std::string names_of(TosaFeatures features) {
  std::string out;
  for (const TosaFeatureName& row : kTosaFeatureNames) {
    if (features.has(row.feature)) out += (out.empty() ? "" : ", ") + std::string(row.name);
  }
  return out;
}

Result<TosaFeatures> feature_of(const std::string& text, TosaFeatures among, std::string_view option) {
  const std::string name = bare_name(text);
  for (const TosaFeatureName& row : kTosaFeatureNames) {
    if (among.has(row.feature) && bare_name(row.name) == name) return only(row.feature);
  }
  for (const NamedFeatures& row : kOldProfiles) {
    if (among == kAllProfiles && row.name == name) return row.features;
  }
  return unknown(option, text, names_of(among) + (among == kAllProfiles ? ", BI, MI" : ", none"));
}

Result<TosaFeatures> features_of(const TosaLimits& limits) {
  constexpr TosaFeatures kExtensions{.bits = tosa::kAllTosaFeatures.bits & ~kAllProfiles.bits};
  TosaFeatures out;
  bool all_extensions = limits.extensions.empty();
  if (limits.profiles.empty()) out = kAllProfiles;
  for (const std::string& name : limits.profiles) {
    CARINA_TRY(const TosaFeatures features, feature_of(name, kAllProfiles, "--profile"));
    out.bits |= features.bits;
    if ((features.bits & kExtensions.bits) != 0) all_extensions = false;  // BI and MI determine the extensions
  }
  if (all_extensions) out.bits |= kExtensions.bits;
  const bool none = limits.extensions.size() == 1 && bare_name(limits.extensions.front()) == "NONE";
  for (const std::string& name : none ? std::vector<std::string>() : limits.extensions) {
    CARINA_TRY(const TosaFeatures features, feature_of(name, kExtensions, "--extension"));
    out.bits |= features.bits;
  }
  return out;
}

Result<TosaLevel> level_of(const std::string& name) {
  for (const TosaLevel& level : kLevels) {
    if (upper(level.name) == upper(name)) return level;
  }
  return unknown("--level", name, "8K, none");
}

Result<tosa::VerifyOptions> options_of(const TosaLimits& limits, const std::string& where) {
  tosa::VerifyOptions options{.where = where};
  CARINA_TRY(options.features, features_of(limits));
  CARINA_TRY(options.level, level_of(limits.level));
  return options;
}

Result<tosa::FileVersion> file_version_of(const std::string& text) {
  if (text == "1.0") return tosa::FileVersion::k1_0;
  if (text == "0.80") return tosa::FileVersion::k0_80;
  return unknown("--tosa-version", text, "1.0, 0.80");
}

results::RuleViolation row_of(const tosa::Violation& violation) {
  return {.rule = std::string(violation.rule),
          .section = std::string(violation.section),
          .must = std::string(violation.must),
          .found = violation.found,
          .graph = violation.graph,
          .op = violation.op,
          .node = violation.node,
          .source = violation.source};
}

}  // namespace

bool is_graph_file(const std::string& path) {
  return path.ends_with(".tosa") || path.ends_with(".vgf") || path.ends_with(".tflite");
}

Result<ir::Module> read_graph_file(const Buffer& file, const std::string& path) {
  if (path.ends_with(".tflite")) return tflite::read_tflite(file, path);
  return path.ends_with(".vgf") ? vgf::read_vgf(file, path) : tosa::read_tosa(file, path);
}

Result<ir::Module> sound_module(ir::Module module, const std::string& where, const std::string& level) {
  CARINA_TRY(const tosa::VerifyOptions options, options_of({.level = level, .profiles = {}, .extensions = {}}, where));
  CARINA_CHECKED(tosa::verify(module, options));
  return module;
}

Result<ir::Module> sound_tosa(const Buffer& file, const std::string& where, const std::string& level) {
  CARINA_TRY(ir::Module module, read_graph_file(file, where));
  return sound_module(std::move(module), where, level);
}

Result<ir::Module> sound_vgf(const vgf::Container& file, const std::string& where) {
  CARINA_TRY(ir::Module module, vgf::read_vgf(file, where));
  return sound_module(std::move(module), where, "8K");
}

Result<ir::Module> sound_graph(const Buffer& file, const std::string& where, const std::string& level) {
  const FileKind kind = kind_of(file);
  CARINA_TRY(ir::Module module, kind == FileKind::kTflite ? tflite::read_tflite(file, where)
                                : kind == FileKind::kVgf  ? vgf::read_vgf(file, where)
                                                          : tosa::read_tosa(file, where));
  return sound_module(std::move(module), where, level);
}

Result<ir::Module> read_sound_tosa(const std::string& path, const std::string& level) {
  CARINA_TRY(const Buffer file, open_file(path, {FileKind::kTosa, FileKind::kVgf, FileKind::kTflite}));
  return sound_tosa(file, path, level);
}

Result<results::VerifyReport> verify_tosa(const std::string& path, const TosaLimits& limits) {
  CARINA_TRY(tosa::VerifyOptions options, options_of(limits, path));
  options.max_messages = kMaxViolations;
  CARINA_TRY(const Buffer file, open_file(path, {FileKind::kTosa, FileKind::kVgf, FileKind::kTflite}));
  CARINA_TRY(const std::string version,
             path.ends_with(".tosa") ? tosa::version_of(file, path) : Result<std::string>("1.0.0"));
  CARINA_TRY(const ir::Module module, read_graph_file(file, path));
  results::VerifyReport report{.file = path,
                               .version = version,
                               .level = std::string(options.level.name),
                               .allowed = {},
                               .graphs = static_cast<int64_t>(module.graphs.size()),
                               .operators = 0,
                               .violations = {},
                               .messages = {}};
  for (const TosaFeatureName& row : kTosaFeatureNames) {
    if (options.features.has(row.feature)) report.allowed.emplace_back(row.name);
  }
  for (const ir::Graph& graph : module.graphs) report.operators += static_cast<int64_t>(graph.nodes.size());
  for (const tosa::Violation& violation : tosa::violations(module, options)) {
    report.violations.push_back(row_of(violation));
    report.messages.push_back(tosa::to_diagnostic(violation, path));
  }
  return report;
}

std::string written_version(const std::vector<std::byte>& file, const std::string& version) {
  if (version != "1.0") return version;
  const auto declared = tosa::version_of(Buffer::copy_of(file), "file");
  return declared && declared->starts_with("1.1") ? "1.1-draft" : version;
}

Result<std::vector<std::byte>> write_sound_tosa(const ir::Module& module, const std::string& version,
                                                const TosaLimits& limits, const std::string& where) {
  CARINA_TRY(const tosa::VerifyOptions options, options_of(limits, where));
  CARINA_CHECKED(tosa::verify(module, options));
  if (version == "vgf") return vgf::write_vgf(module, where);
  CARINA_TRY(const tosa::FileVersion file, file_version_of(version));
  auto bytes = tosa::write_tosa(module, {.version = file});
  if (bytes) return bytes;
  for (Diagnostic& error : bytes.error()) error.where = where + ": " + error.where;
  return bytes;
}

}  // namespace carina::files
