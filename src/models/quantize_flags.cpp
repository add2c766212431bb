#include "models/quantize_flags.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "base/io/file.h"
#include "base/text/nearest.h"
#include "base/text/number.h"

namespace carina::models {

namespace {

constexpr std::string_view kNoQuantization = "none", kMixed = "auto", kPruned = "pruned-", kClustered = "clustered-";

std::unexpected<Diagnostics> unusable(const std::string& file, std::string what, std::string expected) {
  return fail(
      {.where = file, .what = std::move(what), .expected = std::move(expected), .got = {}, .fault = Fault::kUsage});
}

// Returns the strings of a JSON list.
Result<std::vector<std::string>> texts_of(const nlohmann::json& list, const std::string& file) {
  std::vector<std::string> texts;
  for (const nlohmann::json& text : list) {
    if (!text.is_string()) return unusable(file, "an override is no text", "\"node:conv2d_3=int16x8\"");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

Result<void> add_entry(const std::string& key, const nlohmann::json& entry, const std::string& file,
                       QuantizeFlags& flags) {
  if (key == "overrides" && entry.is_array()) {
    CARINA_TRY(flags.overrides, texts_of(entry, file));
    return {};
  }
  if (key == "scheme" && entry.is_string()) {
    flags.scheme = entry.get<std::string>();
    return {};
  }
  if (key == "io" && entry.is_string()) {
    flags.io = entry.get<std::string>();
    return {};
  }
  return unusable(file, fmt::format("unknown entry {}", key),
                  "\"scheme\" and \"io\" with a text, \"overrides\" with a list of texts");
}

Result<QuantizeFlags> flags_of_file(const std::string& file) {
  CARINA_TRY(const Buffer bytes, map_file(file));
  const auto text = bytes.bytes();
  const auto* begin = reinterpret_cast<const char*>(text.data());
  std::set<std::string> keys;
  std::string twice;  // a duplicate key, of which JSON would use the last value
  const auto see = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key && !keys.insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  const nlohmann::json json = nlohmann::json::parse(begin, begin + text.size(), see, /*allow_exceptions=*/false);
  if (!json.is_object()) return unusable(file, "this is no JSON object", R"({"scheme": "int8", "overrides": [..]})");
  if (!twice.empty()) return unusable(file, fmt::format("the entry {} is there twice", twice), "each entry once");
  QuantizeFlags flags;
  for (const auto& [key, entry] : json.items()) CARINA_CHECKED(add_entry(key, entry, file, flags));
  return flags;
}

// Merges the settings of the file with those of the command line. The scheme and the type of inputs and outputs of the
// command line replace those of the file; its overrides are appended.
Result<QuantizeFlags> with_file(const QuantizeFlags& flags) {
  if (flags.file.empty()) return flags;
  CARINA_TRY(const QuantizeFlags of_file, flags_of_file(flags.file));
  QuantizeFlags all = flags;
  if (all.scheme.empty()) all.scheme = of_file.scheme;
  if (all.io.empty()) all.io = of_file.io;
  all.overrides.insert(all.overrides.begin(), of_file.overrides.begin(), of_file.overrides.end());
  return all;
}

struct EdgeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array kEdgeNames{
    EdgeName{"float", DType::kFp32},
    EdgeName{"int8", DType::kInt8},
    EdgeName{"uint8", DType::kUInt8},
    EdgeName{"int16", DType::kInt16},
};

Result<std::optional<DType>> edges_of(const std::string& word) {
  if (word.empty() || word == "float") return std::nullopt;
  const auto* row = std::ranges::find(kEdgeNames, word, &EdgeName::name);
  if (row != kEdgeNames.end()) return row->dtype;
  return fail({.where = "--io",
               .what = "unknown type of inputs and outputs",
               .expected = "float, int8, uint8, int16",
               .got = word,
               .hint = nearest_hint(word, "float, int8, uint8, int16"),
               .fault = Fault::kUsage});
}

Result<std::optional<double>> sqnr_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto number = number_in<double>(text);
  if (number && *number > 0 && *number < 200) return number;
  return fail({.where = "--min-sqnr",
               .what = "invalid signal-to-quantization-noise ratio",
               .expected = "decibels, such as 35",
               .got = text,
               .fault = Fault::kUsage});
}

// Errors (usage): an option of --quantize auto with another scheme.
Result<void> check_search(const QuantizeFlags& flags, const QuantizeRequest& request) {
  if (request.auto_goal) return {};
  const std::array<std::pair<std::string_view, const std::string*>, 3> options{
      {{"--max-cycles", &flags.max_cycles}, {"--min-sqnr", &flags.min_sqnr}, {"--auto-front", &flags.auto_front}}};
  for (const auto& [name, text] : options) {
    if (text->empty()) continue;
    return fail({.where = std::string(name),
                 .what = "the option has no effect without --quantize auto",
                 .expected = "--quantize auto",
                 .got = flags.scheme,
                 .fault = Fault::kUsage});
  }
  return {};
}

// Adds a detail that has an option of its own to the scheme: --prune-weights 2:4 is "+pruned-2:4".
Result<void> add_detail(std::string_view option, const std::string& given, std::string_view word,
                        const QuantizeFlags& flags, QuantizeRequest& request) {
  if (given.empty()) return {};
  const auto wrong = [&](std::string what, std::string expected, const std::string& got) {
    return fail({.where = std::string(option),
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .got = got,
                 .fault = Fault::kUsage});
  };
  if (request.auto_goal || request.mode == QuantizeMode::kNone)
    return wrong("the option has no effect with this quantization", "a scheme: int8, int16x8", flags.scheme);
  const std::string detail = fmt::format("+{}{}", word, given), name = request.scheme.name + detail;
  if (request.scheme.name.ends_with(detail) || request.scheme.name.contains(detail + "+")) return {};
  const auto scheme = quantize::parse_scheme(name);
  if (!scheme)
    return word == kPruned ? wrong("unknown pattern of zeros", "2:4, or a percentage from 1% to 99%", given)
                           : wrong("unknown number of clusters", "a number from 2 to 64", given);
  request.scheme.general = **scheme;
  request.scheme.name = name;
  return {};
}

Result<void> set_scheme(const QuantizeFlags& flags, QuantizeRequest& request) {
  if (flags.scheme.empty()) return {};
  request.mode = flags.scheme == kNoQuantization ? QuantizeMode::kNone : QuantizeMode::kAlways;
  if (request.mode == QuantizeMode::kNone) return {};
  if (flags.scheme == kMixed) {
    request.auto_goal = {.max_cycles = flags.max_cycles, .front_file = flags.auto_front};
    CARINA_TRY(request.auto_goal->min_sqnr_db, sqnr_of(flags.min_sqnr));
  }
  CARINA_TRY(const auto scheme, quantize::parse_scheme(request.auto_goal ? "int8+rounded-for-inputs" : flags.scheme));
  if (!scheme)
    return fail({.where = "--quantize",
                 .what = "float is a scheme for parts of a model only",
                 .expected = "none",
                 .got = flags.scheme,
                 .fault = Fault::kUsage});
  request.scheme.name = flags.scheme;
  request.scheme.general = *scheme;
  return {};
}

std::string error_text(const Result<void>& result) {
  if (result) return {};
  const Diagnostic& first = result.error().front();
  return fmt::format("{}: expected {}, got {}{}{}", first.what, first.expected, first.got,
                     first.hint.empty() ? "" : "; ", first.hint);
}

}  // namespace

std::string scheme_error(std::string_view flags) {
  QuantizeRequest request;
  return error_text(set_scheme({.scheme = std::string(flags)}, request));
}

std::string override_error(std::string_view flags) {
  const auto override = quantize::parse_override(flags);
  return error_text(override ? Result<void>() : fail(override.error()));
}

Result<QuantizeRequest> parse_quantize_flags(const QuantizeFlags& given) {
  CARINA_TRY(const QuantizeFlags flags, with_file(given));
  QuantizeRequest request;
  CARINA_CHECKED(set_scheme(flags, request));
  CARINA_CHECKED(add_detail("--prune-weights", flags.prune, kPruned, flags, request));
  CARINA_CHECKED(add_detail("--cluster-weights", flags.clusters, kClustered, flags, request));
  CARINA_CHECKED(check_search(flags, request));
  CARINA_TRY(request.raw_io, edges_of(flags.io));
  Diagnostics errors;
  for (const std::string& text : flags.overrides) {
    auto override = quantize::parse_override(text);
    if (override)
      request.scheme.overrides.push_back(*std::move(override));
    else
      std::ranges::move(override.error(), std::back_inserter(errors));
  }
  if (!errors.empty()) return fail(std::move(errors));
  return request;
}

}  // namespace carina::models
