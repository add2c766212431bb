#include "vela/vela_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

#include "base/text/nearest.h"
#include "base/text/number.h"
#include "npu/table_names.h"

namespace carina::vela {

namespace {

using Values = std::vector<std::string>;

enum class Argument : uint8_t { kNone, kValue };
enum class Effect : uint8_t {
  kSets,      // calls `set`
  kShows,     // requests sections of the report
  kNothing,   // has no effect here; `explanation` gives the reason
  kRejected,  // requests something unsupported; `explanation` gives an alternative
};

Result<void> set_accelerator(VelaFlags& flags, const std::string& value) {
  flags.target.accelerator = value;
  return {};
}
Result<void> set_system(VelaFlags& flags, const std::string& value) {
  if (value != "internal-default") flags.target.system_config = value;
  return {};
}
Result<void> set_memory(VelaFlags& flags, const std::string& value) {
  if (value != "internal-default") flags.target.memory_mode = value;
  return {};
}
Result<void> add_config(VelaFlags& flags, const std::string& value) {
  flags.target.config_files.push_back(value);
  return {};
}

std::unexpected<Diagnostics> wrong_value(std::string_view flag, std::string expected, const std::string& value) {
  return fail({.where = std::string(flag),
               .what = "invalid value",
               .expected = std::move(expected),
               .got = value,
               .fault = Fault::kUsage});
}

Result<void> set_optimize(VelaFlags& flags, const std::string& value) {
  const bool size = npu::same_name(value, "Size");
  if (!size && !npu::same_name(value, "Performance")) return wrong_value("--optimise", "Size or Performance", value);
  flags.optimize = size ? backends::Optimize::kSize : backends::Optimize::kSpeed;
  return {};
}
Result<void> set_arena_cache(VelaFlags& flags, const std::string& value) {
  const auto bytes = number_in<int64_t>(value);
  if (!bytes || *bytes <= 0) return wrong_value("--arena-cache-size", "a number of bytes", value);
  flags.target.arena_cache_bytes = *bytes;
  return {};
}
Result<void> check_format(VelaFlags&, const std::string& value) {
  if (value == "raw") return {};
  return fail({.where = "--output-format",
               .what = "Carina writes no .tflite",
               .expected = "raw",
               .got = value,
               .hint = "-o FILE.pte or -o FILE.npz (Vela's raw format)",
               .fault = Fault::kUsage});
}
Result<void> check_driver_format(VelaFlags&, const std::string& value) {
  if (value == "COP1") return {};
  return wrong_value("--cop-format", "COP1, which every driver takes", value);
}
Result<void> check_alignment(VelaFlags&, const std::string& value) {
  if (value == "16") return {};
  return fail({.where = "--cpu-tensor-alignment",
               .what = "inputs and outputs are aligned to 16 bytes",
               .expected = "16",
               .got = value,
               .hint = "runtimes copy them to and from the arena, so no larger alignment is needed",
               .fault = Fault::kUsage});
}

// One flag of Vela.
struct Row {
  std::string_view name;
  Argument argument;
  Effect effect;
  Result<void> (*set)(VelaFlags& flags, const std::string& value) = nullptr;
  std::vector<backends::Show> (*shows)() = nullptr;
  std::string_view explanation = {};
};

template <backends::Show... kWhat>
std::vector<backends::Show> sections() {
  return {kWhat...};
}

constexpr std::string_view kDeprecated = "Vela 5.2 ignores it too";
constexpr std::string_view kAsAWhole = "the scheduler has one objective: -O2, -O3 or -Os";

// Source: `vela --help` of ethos-u-vela 5.2.0, in its order.
constexpr auto kRows = std::to_array<Row>({
    {.name = "--version",
     .argument = Argument::kNone,
     .effect = Effect::kRejected,
     .explanation = "`carina --version`"},
    {.name = "--api-version",
     .argument = Argument::kNone,
     .effect = Effect::kRejected,
     .explanation = "`carina --version`"},
    {.name = "--supported-ops-report",
     .argument = Argument::kNone,
     .effect = Effect::kRejected,
     .explanation = "`carina ops`"},
    {.name = "--list-config-files",
     .argument = Argument::kNone,
     .effect = Effect::kRejected,
     .explanation = "`carina targets`"},
    {.name = "--list-configs",
     .argument = Argument::kValue,
     .effect = Effect::kRejected,
     .explanation = "`carina targets --config FILE`"},
    {.name = "--output-dir",
     .argument = Argument::kValue,
     .effect = Effect::kRejected,
     .explanation = "-o FILE, and --dump DIR"},
    {.name = "--output-format", .argument = Argument::kValue, .effect = Effect::kSets, .set = check_format},
    {.name = "--enable-debug-db",
     .argument = Argument::kNone,
     .effect = Effect::kNothing,
     .explanation = "programs always contain the names of their layers; --dump DIR writes more"},
    {.name = "--config", .argument = Argument::kValue, .effect = Effect::kSets, .set = add_config},
    {.name = "--verbose-all",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kConfig, backends::Show::kGraph, backends::Show::kSchedule,
                       backends::Show::kAllocation, backends::Show::kOperations, backends::Show::kCommands,
                       backends::Show::kWeights, backends::Show::kPerformance>},
    {.name = "--verbose-config",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kConfig>},
    {.name = "--verbose-graph",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kGraph>},
    {.name = "--verbose-quantization",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kGraph>},
    {.name = "--verbose-packing", .argument = Argument::kNone, .effect = Effect::kNothing, .explanation = kDeprecated},
    {.name = "--verbose-tensor-purpose",
     .argument = Argument::kNone,
     .effect = Effect::kNothing,
     .explanation = kDeprecated},
    {.name = "--verbose-tensor-format",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kSchedule>},
    {.name = "--verbose-schedule",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kSchedule>},
    {.name = "--verbose-allocation",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kAllocation>},
    {.name = "--verbose-high-level-command-stream",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kOperations>},
    {.name = "--verbose-register-command-stream",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kCommands>},
    {.name = "--verbose-operators",
     .argument = Argument::kNone,
     .effect = Effect::kNothing,
     .explanation = kDeprecated},
    {.name = "--verbose-weights",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kWeights>},
    {.name = "--verbose-cycle-estimate",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kPerformance>},
    {.name = "--verbose-performance",
     .argument = Argument::kNone,
     .effect = Effect::kShows,
     .shows = sections<backends::Show::kPerformance>},
    {.name = "--verbose-progress",
     .argument = Argument::kNone,
     .effect = Effect::kNothing,
     .explanation = "a terminal shows progress by itself"},
    {.name = "--show-cpu-operations",
     .argument = Argument::kNone,
     .effect = Effect::kNothing,
     .explanation = "the report always names the nodes on the CPU"},
    {.name = "--ignore-ops",
     .argument = Argument::kValue,
     .effect = Effect::kRejected,
     .explanation = "it names .tflite operators; --cpu-node NAME keeps a node on the CPU"},
    {.name = "--timing", .argument = Argument::kNone, .effect = Effect::kNothing, .explanation = kDeprecated},
    {.name = "--force-symmetric-int-weights",
     .argument = Argument::kNone,
     .effect = Effect::kNothing,
     .explanation = "Carina's quantizer makes symmetric weights; zero points of the model are kept, because its "
                    "results depend on them"},
    {.name = "--accelerator-config", .argument = Argument::kValue, .effect = Effect::kSets, .set = set_accelerator},
    {.name = "--system-config", .argument = Argument::kValue, .effect = Effect::kSets, .set = set_system},
    {.name = "--memory-mode", .argument = Argument::kValue, .effect = Effect::kSets, .set = set_memory},
    {.name = "--tensor-allocator",
     .argument = Argument::kValue,
     .effect = Effect::kNothing,
     .explanation = "the best placement that Carina finds is always taken"},
    {.name = "--show-subgraph-io-summary",
     .argument = Argument::kNone,
     .effect = Effect::kNothing,
     .explanation = kDeprecated},
    {.name = "--max-block-dependency",
     .argument = Argument::kValue,
     .effect = Effect::kNothing,
     .explanation = "block dependencies are computed for each pair of operations; Vela 5.2 ignores it too"},
    {.name = "--optimise", .argument = Argument::kValue, .effect = Effect::kSets, .set = set_optimize},
    {.name = "--arena-cache-size", .argument = Argument::kValue, .effect = Effect::kSets, .set = set_arena_cache},
    {.name = "--cpu-tensor-alignment", .argument = Argument::kValue, .effect = Effect::kSets, .set = check_alignment},
    {.name = "--recursion-limit",
     .argument = Argument::kValue,
     .effect = Effect::kNothing,
     .explanation = "Carina does not recurse over the network"},
    {.name = "--hillclimb-max-iterations",
     .argument = Argument::kValue,
     .effect = Effect::kNothing,
     .explanation = "Vela 5.2 ignores it too; -O3 searches longer"},
    {.name = "--cop-format", .argument = Argument::kValue, .effect = Effect::kSets, .set = check_driver_format},
    {.name = "--separate-io-regions",
     .argument = Argument::kNone,
     .effect = Effect::kRejected,
     .explanation = "inputs and outputs lie in the arena, where ExecuTorch's runtime copies them"},
    {.name = "--experimental-softmax-int16-neg-exp-range",
     .argument = Argument::kValue,
     .effect = Effect::kRejected,
     .explanation = "softmax comes as TOSA operators, with the tables that the model has"},
    {.name = "--debug-force-legacy-core",
     .argument = Argument::kNone,
     .effect = Effect::kRejected,
     .explanation = "it is about .tflite models"},
    {.name = "--debug-force-regor",
     .argument = Argument::kNone,
     .effect = Effect::kNothing,
     .explanation = kDeprecated},
    {.name = "--disable-chaining", .argument = Argument::kNone, .effect = Effect::kNothing, .explanation = kAsAWhole},
    {.name = "--disable-fwd", .argument = Argument::kNone, .effect = Effect::kNothing, .explanation = kAsAWhole},
    {.name = "--disable-cascading", .argument = Argument::kNone, .effect = Effect::kNothing, .explanation = kAsAWhole},
    {.name = "--disable-buffering", .argument = Argument::kNone, .effect = Effect::kNothing, .explanation = kAsAWhole},
    {.name = "--disable-ifm-reuse", .argument = Argument::kNone, .effect = Effect::kNothing, .explanation = kAsAWhole},
});

// Returns the flag of "--memory-mode=X" or "--memory_mode X", in Vela's spelling.
std::string name_of(std::string_view word) {
  std::string name(word.substr(0, word.find('=')));
  std::ranges::replace(name.begin() + 2, name.end(), '_', '-');
  return name;
}

Diagnostic unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  const std::string nearest = nearest_hint(name, names);
  return {.where = name,
          .what = "unknown flag of Vela",
          .hint = fmt::format("{}{}`vela --help` lists them", nearest, nearest.empty() ? "" : " "),
          .fault = Fault::kUsage};
}

std::vector<std::string> words_of(std::span<const std::string> flags) {
  std::vector<std::string> tokens;
  for (const std::string& text : flags) {
    std::istringstream stream(text);
    for (std::string word; stream >> word;) tokens.push_back(word);
  }
  return tokens;
}

class Reader {
 public:
  Reader(std::span<const std::string> flags, const Log& log) : words_(words_of(flags)), log_(log) {}

  Result<VelaFlags> read() && {
    while (at_ < words_.size()) take();
    if (!errors_.empty()) return fail(std::move(errors_));
    std::ranges::sort(flags_.shown);
    const auto repeated = std::ranges::unique(flags_.shown);
    flags_.shown.erase(repeated.begin(), repeated.end());
    return std::move(flags_);
  }

 private:
  void take() {
    const std::string word = words_[at_++];
    if (!word.starts_with("--")) {
      errors_.push_back({.where = word,
                         .what = "not a flag of Vela",
                         .expected = "--NAME, --NAME=VALUE or --NAME VALUE",
                         .fault = Fault::kUsage});
      return;
    }
    const std::string name = name_of(word);
    const auto* row = std::ranges::find(kRows, name, &Row::name);
    if (row == kRows.end()) {
      errors_.push_back(unknown(name));
      while (at_ < words_.size() && !words_[at_].starts_with("--")) ++at_;  // skips its possible value
      return;
    }
    const auto value = value_of(*row, word);
    if (value) apply(*row, *value);
  }

  // Returns the value of a flag; "" for flags without a value. No value if it is missing, or if there is one for a flag
  // that takes none.
  std::optional<std::string> value_of(const Row& row, const std::string& word) {
    const size_t equals = word.find('=');
    const bool attached = equals != std::string::npos;
    if (row.argument == Argument::kNone && !attached) return "";
    if (row.argument == Argument::kValue && attached) return word.substr(equals + 1);
    if (row.argument == Argument::kValue && at_ < words_.size() && !words_[at_].starts_with("--")) return words_[at_++];
    errors_.push_back({.where = std::string(row.name),
                       .what = row.argument == Argument::kValue ? "its value is missing" : "it takes no value",
                       .fault = Fault::kUsage});
    return std::nullopt;
  }

  void apply(const Row& row, const std::string& value) {
    switch (row.effect) {
      case Effect::kSets:
        if (const auto set = row.set(flags_, value); !set) std::ranges::copy(set.error(), std::back_inserter(errors_));
        return;
      case Effect::kShows:
        std::ranges::copy(row.shows(), std::back_inserter(flags_.shown));
        return;
      case Effect::kNothing:
        log_.note({.where = std::string(row.name),
                   .what = fmt::format("makes no difference: {}", row.explanation),
                   .severity = Severity::kNote});
        return;
      case Effect::kRejected:
        errors_.push_back({.where = std::string(row.name),
                           .what = "not supported by Carina",
                           .hint = std::string(row.explanation),
                           .fault = Fault::kUsage});
        return;
    }
  }

  std::vector<std::string> words_;
  const Log& log_;
  size_t at_ = 0;
  VelaFlags flags_;
  Diagnostics errors_;
};

std::unexpected<Diagnostics> contradiction(std::string_view what, const std::string& asked, const std::string& flag) {
  return fail({.where = "--extra-flag",
               .what = fmt::format("the {} contradicts the command's own option", what),
               .expected = asked,
               .got = flag,
               .fault = Fault::kUsage});
}

// Sets an option to the flag's value if the option is empty. Errors: both are set and differ.
Result<void> merge(std::string& option, const std::string& flag, std::string_view what) {
  if (flag.empty()) return {};
  if (!option.empty() && !npu::same_name(option, flag)) return contradiction(what, option, flag);
  option = flag;
  return {};
}

Result<void> merge(std::optional<int64_t>& option, const std::optional<int64_t>& flag, std::string_view what) {
  if (!flag) return {};
  if (option && *option != *flag) return contradiction(what, std::to_string(*option), std::to_string(*flag));
  option = flag;
  return {};
}

Result<void> merge(backends::Optimize& option, const std::optional<backends::Optimize>& flag) {
  if (!flag || *flag == option || (*flag == backends::Optimize::kSpeed && option == backends::Optimize::kSearch))
    return {};
  if (option != backends::Optimize::kSpeed)
    return contradiction("level of optimization", option == backends::Optimize::kSize ? "-Os" : "-O3",
                         *flag == backends::Optimize::kSize ? "--optimise Size" : "--optimise Performance");
  option = *flag;
  return {};
}

}  // namespace

Result<void> add_vela_flags(const VelaFlags& flags, targets::TargetRequest& target, backends::Optimize& optimize) {
  CARINA_CHECKED(merge(target.accelerator, flags.target.accelerator, "NPU"));
  CARINA_CHECKED(merge(target.system_config, flags.target.system_config, "system configuration"));
  CARINA_CHECKED(merge(target.memory_mode, flags.target.memory_mode, "memory mode"));
  CARINA_CHECKED(merge(target.arena_cache_bytes, flags.target.arena_cache_bytes, "size of the arena cache"));
  std::ranges::copy(flags.target.config_files, std::back_inserter(target.config_files));
  return merge(optimize, flags.optimize);
}

std::vector<VelaFlag> vela_flags() {
  std::vector<VelaFlag> out;
  for (const Row& row : kRows) {
    VelaFlag& flag = out.emplace_back(VelaFlag{
        .name = std::string(row.name), .takes_value = row.argument == Argument::kValue, .description = "As Vela's"});
    if (row.effect == Effect::kShows) flag.description = "Print this information after the report";
    if (row.effect == Effect::kNothing) flag.description = fmt::format("Makes no difference: {}", row.explanation);
    if (row.effect == Effect::kRejected) flag.description = fmt::format("Not supported; {}", row.explanation);
  }
  return out;
}

Result<VelaFlags> read_vela_flags(std::span<const std::string> flags, const Log& log) {
  return Reader(flags, log).read();
}

}  // namespace carina::vela
