#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "api/check_options_internal.h"
#include "carina/dtype.h"

namespace carina::api {

namespace {

constexpr int64_t kMaxCacheBytes = int64_t{1} << 32;

void add(Diagnostics& wrong, std::string_view where, std::string_view what, std::string expected, std::string got) {
  wrong.push_back({.where = std::string(where),
                   .what = std::string(what),
                   .expected = std::move(expected),
                   .got = std::move(got),
                   .fault = Fault::kUsage});
}

// Whether the enumerator is one of the type's: `last` is the type's last one.
template <typename Enum>
void check_enum(Enum value, Enum last, std::string_view where, Diagnostics& wrong) {
  if (value >= Enum{} && value <= last) return;
  add(wrong, where, "no such enumerator", "0 to " + std::to_string(static_cast<int>(last)),
      std::to_string(static_cast<int>(value)));
}

// Integers of a quantized type: a non-empty range that the type can hold.
void check_range(DType dtype, int64_t qmin, int64_t qmax, std::string_view where, Diagnostics& wrong) {
  const IntegerRange range = range_of(dtype);
  if (qmin < qmax && qmin >= range.min && qmax <= range.max) return;
  add(wrong, where, "the range is empty or larger than the type",
      std::to_string(range.min) + " to " + std::to_string(range.max),
      std::to_string(qmin) + " to " + std::to_string(qmax));
}

void check_type(DType dtype, std::initializer_list<DType> allowed, int64_t qmin, int64_t qmax, std::string_view where,
                Diagnostics& wrong) {
  if (std::ranges::find(allowed, dtype) != allowed.end()) return check_range(dtype, qmin, qmax, where, wrong);
  std::vector<std::string_view> names;
  for (const DType one : allowed) names.push_back(name_of(one));
  const int number = static_cast<int>(dtype);
  add(wrong, where, "the type is not supported", fmt::format("{}", fmt::join(names, " or ")),
      number >= 0 && number < kDTypeCount ? std::string(name_of(dtype)) : std::to_string(number));
}

void check_scheme(const quantize::NodeScheme& scheme, Diagnostics& wrong) {
  const quantize::ActivationScheme& activations = scheme.activations;
  const quantize::WeightScheme& weights = scheme.weights;
  check_type(activations.dtype, {DType::kInt8, DType::kInt16}, activations.qmin, activations.qmax,
             "scheme: activations", wrong);
  check_type(weights.dtype, {DType::kInt4, DType::kInt8, DType::kInt16}, weights.qmin, weights.qmax, "scheme: weights",
             wrong);
  check_enum(activations.symmetry, quantize::Symmetry::kSymmetric, "scheme: symmetry", wrong);
  check_enum(activations.ranges, quantize::RangeChoice::kMovingAverage, "scheme: ranges", wrong);
  check_enum(activations.tail, quantize::Tail::kNarrow, "scheme: tail", wrong);
  check_enum(weights.granularity, quantize::Granularity::kPerChannel, "scheme: granularity", wrong);
  check_enum(weights.rounding, quantize::Rounding::kForInputs, "scheme: rounding", wrong);
  check_enum(weights.mean_error, quantize::MeanError::kTakenFromBias, "scheme: mean error", wrong);
  check_enum(weights.equalization, quantize::Equalization::kAcrossLayers, "scheme: equalization", wrong);
  using Float = std::numeric_limits<float>;
  if (!(scheme.smallest_scale >= Float::min() && scheme.smallest_scale <= Float::max()))
    add(wrong, "scheme: smallest_scale", "the scale is not a positive normal number of 32 bits", "1.2e-38 to 3.4e+38",
        std::to_string(scheme.smallest_scale));
}

}  // namespace

void check_threads(int threads, Diagnostics& wrong) {
  if (threads >= 1 && threads <= kMaxThreads) return;
  add(wrong, "threads", "the number of threads is out of range", "1 to " + std::to_string(kMaxThreads),
      std::to_string(threads));
}

void check_model(const Model& model, Diagnostics& wrong) {
  if (model.content() == nullptr)
    add(wrong, "model", "the model is empty", "a model of import_pt2() or quantize()", "one that was moved from");
}

void check_samples(std::span<const Sample> samples, Diagnostics& wrong) {
  for (const Sample& sample : samples) {
    for (size_t i = 0; i < sample.size(); ++i)
      check_enum(sample[i].dtype, static_cast<DType>(kDTypeCount - 1), "dtype of input " + std::to_string(i), wrong);
  }
}

void check_target(const TargetNames& target, Diagnostics& wrong) {
  for (const ConfigFile& file : target.ini) {
    if (file.text.data() == nullptr && file.text.size() != 0)
      add(wrong, "ini", "the text of a file is missing", "text", "a null pointer");
  }
  if (!target.arena_cache_bytes) return;
  const int64_t bytes = *target.arena_cache_bytes;
  if (bytes >= 1 && bytes <= kMaxCacheBytes) return;
  add(wrong, "arena_cache_bytes", "the size of the fast memory is out of range",
      "1 to " + std::to_string(kMaxCacheBytes) + " bytes", std::to_string(bytes));
}

void check_options(const QuantizeOptions& options, Diagnostics& wrong) {
  check_threads(options.threads, wrong);
  check_enum(options.mode, QuantizeMode::kAlways, "mode", wrong);
  check_scheme(options.scheme.general, wrong);
  for (const quantize::Override& one : options.scheme.overrides) {
    check_enum(one.of, quantize::Override::Of::kState, "override", wrong);
    if (one.scheme) check_scheme(*one.scheme, wrong);
  }
}

void check_options(const PartitionOptions& options, Diagnostics& wrong) {
  check_enum(options.delegates, DelegateMode::kNothing, "delegates", wrong);
}

void check_options(const DelegateOptions& options, Diagnostics& wrong) {
  check_threads(options.threads, wrong);
  check_enum(options.optimize, Optimize::kSize, "optimize", wrong);
  check_enum(options.check, options::Check::kOff, "check", wrong);
  if (options.arena_budget_bytes < 0)
    add(wrong, "arena_budget_bytes", "the maximum size of the arena is negative", "0 (no limit) or more bytes",
        std::to_string(options.arena_budget_bytes));
}

void check_options(const CompileOptions& options, Diagnostics& wrong) {
  check_options(options.partition, wrong);
  check_options(options.delegate, wrong);
  for (const auto& [name, bytes] : {std::pair{"sram_budget_bytes", options.sram_budget_bytes},
                                    std::pair{"flash_budget_bytes", options.flash_budget_bytes}}) {
    if (bytes < 0) add(wrong, name, "the budget is negative", "0 (no limit) or more bytes", std::to_string(bytes));
  }
}

Buffer aligned(const Buffer& bytes) {
  constexpr uintptr_t kAlignment = 16;
  if (bytes.data() == nullptr) return Buffer();  // whatever its size
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment == 0) return bytes;
  return Buffer::copy_of(bytes.bytes());
}

}  // namespace carina::api
