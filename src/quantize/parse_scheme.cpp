// The spellings of schemes.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/text/nearest.h"
#include "base/text/number.h"
#include "quantize/scheme.h"

namespace carina::quantize {

namespace {

using std::string_view;

constexpr ActivationScheme kInt8Activations{};
// 0 is exact, and all integers are used.
constexpr ActivationScheme kInt16Activations{.dtype = DType::kInt16,
                                             .qmin = -32768,
                                             .qmax = 32767,
                                             .symmetry = Symmetry::kSymmetric,
                                             .ranges = RangeChoice::kMinMax,
                                             .tail = Tail::kNarrow};
// Activations of 16 bits lose nothing by channels of unequal ranges.
constexpr WeightScheme kUnequalizedWeights{.equalization = Equalization::kNone};
constexpr WeightScheme kInt4Weights{
    .dtype = DType::kInt4, .qmin = -7, .qmax = 7, .granularity = Granularity::kPerChannel};
constexpr WeightScheme kInt16Weights{
    .dtype = DType::kInt16, .qmin = -32767, .qmax = 32767, .equalization = Equalization::kNone};

struct Named {
  string_view name;
  string_view arm_name;    // the Arm backend's name
  string_view other_name;  // may be empty
  NodeScheme scheme;
};
// An eps of 2^-16 would leave at most 8 bits of int16 for values around 1/256.
constexpr std::array kNames{
    Named{.name = "int8", .arm_name = "a8w8", .other_name = "int8x8", .scheme = {}},
    Named{.name = "int16x8",
          .arm_name = "a16w8",
          .other_name = "int16",
          .scheme = {.activations = kInt16Activations,
                     .weights = kUnequalizedWeights,
                     .smallest_scale = 1.0 / (1 << 24)}},
    Named{.name = "int16x16",
          .arm_name = "a16w16",
          .other_name = {},
          .scheme = {.activations = kInt16Activations, .weights = kInt16Weights, .smallest_scale = 1.0 / (1 << 24)}},
    Named{.name = "int8-only",
          .arm_name = "a8w8-only",
          .other_name = {},
          .scheme = {.activations = {.tail = Tail::kNarrow}, .weights = {}}},
    Named{.name = "int8x4",
          .arm_name = "a8w4",
          .other_name = {},
          .scheme = {.activations = kInt8Activations, .weights = kInt4Weights}},
};

const Named* find_named(string_view name) {
  const auto* found = std::ranges::find_if(kNames, [&](const Named& row) {
    return !name.empty() && (row.name == name || row.arm_name == name || row.other_name == name);
  });
  return found == kNames.end() ? nullptr : found;
}

// One detail of a scheme, with its name.
struct Detail {
  string_view word;
  string_view sets;  // the property that it sets; only one detail may set a property
  void (*apply)(NodeScheme& scheme);
};
constexpr std::array kDetails{
    Detail{"per-channel", "granularity", [](NodeScheme& s) { s.weights.granularity = Granularity::kPerChannel; }},
    Detail{"per-tensor", "granularity", [](NodeScheme& s) { s.weights.granularity = Granularity::kPerTensor; }},
    Detail{"affine", "symmetry", [](NodeScheme& s) { s.activations.symmetry = Symmetry::kAffine; }},
    Detail{"symmetric", "symmetry",
           [](NodeScheme& s) {
             s.activations.symmetry = Symmetry::kSymmetric;
             s.activations.qmin = -s.activations.qmax;
           }},
    Detail{"rounded-for-inputs", "rounding", [](NodeScheme& s) { s.weights.rounding = Rounding::kForInputs; }},
    Detail{"no-bias-correction", "bias", [](NodeScheme& s) { s.weights.mean_error = MeanError::kKept; }},
    Detail{"measured", "ranges", [](NodeScheme& s) { s.activations.ranges = RangeChoice::kMeasured; }},
    Detail{"minmax", "ranges", [](NodeScheme& s) { s.activations.ranges = RangeChoice::kMinMax; }},
    Detail{"histogram", "ranges", [](NodeScheme& s) { s.activations.ranges = RangeChoice::kHistogram; }},
    Detail{"mse", "ranges", [](NodeScheme& s) { s.activations.ranges = RangeChoice::kSquareError; }},
    Detail{"percentile", "ranges", [](NodeScheme& s) { s.activations.ranges = RangeChoice::kPercentile; }},
    Detail{"moving-average", "ranges", [](NodeScheme& s) { s.activations.ranges = RangeChoice::kMovingAverage; }},
    Detail{"equalized", "equalization", [](NodeScheme& s) { s.weights.equalization = Equalization::kAcrossLayers; }},
    Detail{"wide-tail", "tail", [](NodeScheme& s) { s.activations.tail = Tail::kWide; }},
    Detail{"narrow-tail", "tail", [](NodeScheme& s) { s.activations.tail = Tail::kNarrow; }},
    Detail{"pruned-2:4", "pruning", [](NodeScheme& s) { s.weights.pruning = Pruning::kTwoOfFour; }},
    Detail{"unequalized", "equalization", [](NodeScheme& s) { s.weights.equalization = Equalization::kNone; }},
};

std::unexpected<Diagnostics> unknown(string_view what, string_view got, std::string expected,
                                     const std::vector<std::string>& names) {
  return fail({.where = "quantization scheme",
               .what = fmt::format("unknown {}", what),
               .expected = expected,
               .got = std::string(got),
               .hint = nearest_hint(got, names),
               .fault = Fault::kUsage});
}

// Returns the part before the first `mark`. `rest` becomes the part after it.
string_view cut(string_view& rest, char mark) {
  const size_t at = std::min(rest.find(mark), rest.size());
  const string_view head = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return head;
}

// A detail with a number: clustered-16, pruned-60%.
struct NumberDetail {
  string_view before;  // the text around the number
  string_view after;
  string_view sets;  // as in Detail
  string_view what;
  int least;
  int most;
  void (*apply)(NodeScheme& scheme, int number);
};
constexpr std::array kNumberDetails{
    NumberDetail{.before = "clustered-",
                 .after = "",
                 .sets = "clusters",
                 .what = "number of clusters",
                 .least = 2,
                 .most = 64,
                 .apply = [](NodeScheme& s, int number) { s.weights.clusters = number; }},
    NumberDetail{.before = "pruned-",
                 .after = "%",
                 .sets = "pruning",
                 .what = "percentage of pruned weights",
                 .least = 1,
                 .most = 99,
                 .apply =
                     [](NodeScheme& s, int number) {
                       s.weights.pruning = Pruning::kSmallest;
                       s.weights.pruned_percent = number;
                     }},
};

bool has_form(string_view word, const NumberDetail& detail) {
  return word.starts_with(detail.before) && word.ends_with(detail.after);
}

Result<int> number_of(string_view word, const NumberDetail& detail) {
  const string_view text = word.substr(detail.before.size(), word.size() - detail.before.size() - detail.after.size());
  const auto number = number_in<int>(text);
  if (number && *number >= detail.least && *number <= detail.most) return *number;
  return fail(
      {.where = "quantization scheme",
       .what = fmt::format("unknown {}", detail.what),
       .expected = fmt::format("{}N{} with N from {} to {}", detail.before, detail.after, detail.least, detail.most),
       .got = std::string(text),
       .fault = Fault::kUsage});
}

struct Selector {
  string_view word;
  Override::Of of;
};
constexpr std::array kSelectors{
    Selector{"node", Override::Of::kNode},     Selector{"op", Override::Of::kOperator},
    Selector{"module", Override::Of::kModule}, Selector{"type", Override::Of::kModuleType},
    Selector{"inputs", Override::Of::kInputs}, Selector{"outputs", Override::Of::kOutputs},
    Selector{"state", Override::Of::kState},
};

template <typename Rows, typename Member>
std::vector<std::string> words_of(const Rows& rows, Member member) {
  std::vector<std::string> words;
  for (const auto& row : rows) words.emplace_back(row.*member);
  return words;
}

template <typename Rows, typename Member>
std::string listed(const Rows& rows, Member member) {
  std::string text;
  for (const auto& row : rows) text += (text.empty() ? "" : ", ") + std::string(row.*member);
  return text;
}

}  // namespace

std::string spec_of(const Override& override) {
  const std::string word(std::ranges::find(kSelectors, override.of, &Selector::of)->word);
  return override.name.empty() ? word : word + ":" + override.name;
}

std::string scheme_names() {
  std::string text;
  for (const Named& row : kNames) text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", row.name, row.arm_name);
  return text;
}

std::string scheme_details() {
  return listed(kDetails, &Detail::word) + ", pruned-N%, clustered-N";
}

Result<std::optional<NodeScheme>> parse_scheme(string_view spec) {
  string_view rest = spec;
  const string_view name = cut(rest, '+');
  if (name == "float" && rest.empty()) return std::nullopt;
  const Named* named = find_named(name);
  if (named == nullptr) {
    std::vector<std::string> names = words_of(kNames, &Named::name);
    names.emplace_back("auto");
    names.emplace_back("none");
    return unknown("scheme", spec, scheme_names() + ", auto, none; float for a part of the model", names);
  }
  NodeScheme scheme = named->scheme;
  std::map<string_view, string_view> given;  // the properties that are set, and the detail that set each
  const auto claim = [&](string_view property, string_view word) -> Result<void> {
    const auto [other, is_new] = given.emplace(property, word);
    if (is_new) return {};
    return fail({.where = "quantization scheme",
                 .what = fmt::format("{} and {} both set the {}", other->second, word, property),
                 .expected = "one of them",
                 .got = std::string(spec),
                 .fault = Fault::kUsage});
  };
  while (!rest.empty()) {
    const string_view word = cut(rest, '+');
    const auto numbered =
        std::ranges::find_if(kNumberDetails, [&](const NumberDetail& detail) { return has_form(word, detail); });
    if (numbered != kNumberDetails.end()) {
      CARINA_TRY(const int number, number_of(word, *numbered));
      CARINA_CHECKED(claim(numbered->sets, word));
      numbered->apply(scheme, number);
      continue;
    }
    const auto* detail = std::ranges::find(kDetails, word, &Detail::word);
    if (detail == kDetails.end())
      return unknown("detail of a scheme", word, scheme_details(), words_of(kDetails, &Detail::word));
    CARINA_CHECKED(claim(detail->sets, word));
    detail->apply(scheme);
  }
  return scheme;
}

Result<Override> parse_override(string_view spec) {
  string_view selector = spec;
  const size_t equals = spec.rfind('=');
  if (equals == string_view::npos)
    return unknown("override", spec, "SELECTOR=SCHEME: node:conv2d_3=int16x8, inputs=int16x8 ...", {});
  selector = spec.substr(0, equals);
  string_view name = selector;
  const string_view word = cut(name, ':');
  const auto* row = std::ranges::find(kSelectors, word, &Selector::word);
  if (row == kSelectors.end())
    return unknown("selector of an override", word, listed(kSelectors, &Selector::word),
                   words_of(kSelectors, &Selector::word));
  const bool is_edge = row->of == Override::Of::kInputs || row->of == Override::Of::kOutputs;
  if (is_edge != name.empty())
    return unknown("selector of an override", selector, is_edge ? std::string(word) : std::string(word) + ":NAME", {});
  Override override{.of = row->of, .name = std::string(name), .scheme = {}};
  const string_view scheme = spec.substr(equals + 1);
  // A state has no weights: "state:ring=int16".
  const bool is_plain_int16 = row->of == Override::Of::kState && scheme == "int16";
  CARINA_TRY(override.scheme, parse_scheme(is_plain_int16 ? "int16x8" : scheme));
  return override;
}

}  // namespace carina::quantize
