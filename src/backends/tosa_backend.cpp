#include "backends/tosa_backend_internal.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "backends/checked_file_internal.h"
#include "facts/executorch.h"
#include "facts/lowering_targets.h"
#include "files/tosa_file.h"

namespace carina::backends {

namespace {

constexpr std::string_view kPrefix = "TOSA-";
constexpr std::array<std::string_view, 2> kVersions{"1.0", "1.1"};
constexpr std::array<std::string_view, 2> kProfiles{"INT", "FP"};

// Extensions with other names in the Arm backend than in the specification. Empty: an extension of TOSA 1.1 that Carina
// does not use.
constexpr auto kOtherNames = std::to_array<std::pair<std::string_view, std::string_view>>({{"var", "VARIABLE"},
                                                                                           {"cf", "CONTROLFLOW"},
                                                                                           {"shape", ""},
                                                                                           {"int64", ""},
                                                                                           {"random", ""},
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
  bool for_small_npus = false;
  bool takes_block_scaled = false;

  [[nodiscard]] bool has(std::string_view profile) const {
    return std::ranges::find(limits.profiles, profile) != limits.profiles.end();
  }
};

Result<Spec> read_spec(std::string_view text) {
  std::vector<std::string> parts = spec_parts(text.substr(kPrefix.size()));
  Spec spec{.text = std::string(text), .limits = {}};
  const bool known = std::ranges::any_of(kVersions, [&](auto version) { return parts.front().starts_with(version); });
  for (size_t w = 1; w < parts.size(); ++w) {
    if (parts[w] == kTosaSubsetOfSmallNpus) {
      spec.lowering = kDefaultLowering;
      spec.for_small_npus = true;
    } else if (std::ranges::find(kProfiles, parts[w]) != kProfiles.end())
      spec.limits.profiles.push_back(std::move(parts[w]));
    else if (parts[w] != "8k")
      spec.limits.extensions.push_back(extension_of(std::move(parts[w])));
  }
  std::erase(spec.limits.extensions, std::string());
  spec.takes_block_scaled =
      parts.front() == "1.1" && std::ranges::find(spec.limits.extensions, "mxfp") != spec.limits.extensions.end();
  if (spec.limits.extensions.empty()) spec.limits.extensions.emplace_back("none");
  if (known && !spec.limits.profiles.empty()) return spec;
  return fail({.where = "target",
               .what = "not a TOSA specification",
               .expected = "TOSA-1.0+INT or TOSA-1.0+FP, optionally followed by extensions",
               .got = std::string(text),
               .fault = Fault::kUsage});
}

bool is_convolution(const ir::Node& node) {
  constexpr std::array kConvolutions{TosaOp::CONV2D, TosaOp::CONV3D, TosaOp::DEPTHWISE_CONV2D,
                                     TosaOp::TRANSPOSE_CONV2D};
  return std::ranges::any_of(kConvolutions, [&](TosaOp op) { return node.op == op; });
}

// Int8 constants whose values are those of TOSA's int4: -7 to 7.
bool fits_int4(const ir::Value& value) {
  return value.constant && value.dtype == DType::kInt8 &&
         std::ranges::all_of(value.constant->values<int8_t>(), [](int8_t v) { return v >= -7 && v <= 7; });
}

ir::ValueId add_int4(ir::Graph& graph, ir::ValueId from) {
  ir::Value value = graph[from];
  value.name += "_int4";
  for (int n = 2; graph.find_value(value.name); ++n) value.name = graph[from].name + "_int4_" + std::to_string(n);
  value.dtype = DType::kInt4;
  value.constant->dtype = DType::kInt4;  // in memory both have a byte per element
  return graph.add_value(std::move(value));
}

// Weights of convolutions become int4 constants where their values allow it: half of the bytes.
void narrow_weights(ir::Graph& graph) {
  constexpr size_t kWeights = 1, kZeroPoint = 4;
  for (ir::Node& node : graph.nodes) {
    if (!is_convolution(node) || graph[node.inputs[0]].dtype != DType::kInt8) continue;
    if (!fits_int4(graph[node.inputs[kWeights]]) || !fits_int4(graph[node.inputs[kZeroPoint]])) continue;
    node.inputs[kWeights] = add_int4(graph, node.inputs[kWeights]);
    node.inputs[kZeroPoint] = add_int4(graph, node.inputs[kZeroPoint]);
  }
  ir::remove_dead(graph);
}

Result<Delegate> write(const Spec& spec, const ir::Graph& tosa, const DelegateOptions& options, const Log& log) {
  ir::Graph graph = tosa;
  graph.name = "main";  // the name by which the reference model's program looks for it
  if (std::ranges::find(spec.limits.extensions, "int4") != spec.limits.extensions.end()) narrow_weights(graph);
  auto file = files::write_sound_tosa({.graphs = {std::move(graph)}}, "1.0", spec.limits, "delegate");
  if (!file) {
    for (Diagnostic& error : file.error()) error.hint = "use a target with that profile or extension";
    return std::unexpected(std::move(file).error());
  }
  Delegate delegate{
      .packaged = {.backend = std::string(kTosaBackendId),
                   .blob = Buffer::copy_of(*file),
                   .compile_specs = {{"tosa_spec", spec_bytes(spec.text)}, {"output_format", spec_bytes("tosa")}}},
      .report = {.tosa_operators = static_cast<int64_t>(tosa.nodes.size())},
      .cycles_of_node = {},
      .artifacts = {}};
  CARINA_TRY(delegate.report.check, checked_file(tosa, delegate.packaged.blob, options, log));
  return delegate;
}

}  // namespace

bool is_tosa_spec(std::string_view target) {
  return target.starts_with(kPrefix);
}

Result<Backend> tosa_backend(std::string_view text) {
  CARINA_TRY(const Spec spec, read_spec(text));
  return Backend{.target = spec.text,
                 .accelerator = "TOSA",
                 .system_config = {},
                 .memory_mode = {},
                 .arena_memory = {},
                 .tosa_spec = spec.text,
                 .lowering = {.name = "TOSA",
                              .limits = spec.lowering.limits,
                              .idioms = spec.lowering.idioms,
                              .takes_floats = spec.has("FP"),
                              .takes_block_scaled = spec.takes_block_scaled,
                              .fewest_transposes = !spec.for_small_npus},
                 .compile = [spec](const ir::Graph& tosa, const DelegateOptions& options, const Log& log) {
                   return write(spec, tosa, options, log);
                 }};
}

}  // namespace carina::backends
