#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text/number.h"
#include "facts/ethosu_delegates.h"
#include "npu/table_names.h"
#include "targets/ini_values_internal.h"

namespace carina::targets {

namespace {

constexpr std::array kMemoryKinds{npu::MemoryKind::kSram, npu::MemoryKind::kDram, npu::MemoryKind::kOnChipFlash,
                                  npu::MemoryKind::kOffChipFlash};

// Returns the memory of this kind in the product's default system; if it has none, the memory of the same port.
const npu::MemoryPort& default_port(size_t number, npu::MemoryKind kind, npu::Product product) {
  const npu::SystemConfig* system = npu::find_system_config(npu::defaults_of(product).system_config);
  const auto* same = std::ranges::find(system->ports, kind, &npu::MemoryPort::kind);
  return same == system->ports.end() ? system->ports[number] : *same;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

const std::string* IniValues::find(std::string_view key) const {
  const auto found = keys_.find(lower_case(key));
  return found == keys_.end() ? nullptr : &found->second;
}

const std::string* IniValues::required(std::string_view key) {
  const std::string* value = find(key);
  if (value == nullptr)
    errors_.push_back({.where = where_, .what = fmt::format("{} is missing", key), .fault = Fault::kUsage});
  return value;
}

void IniValues::reject(std::string_view key, std::string expected) {
  const std::string what = fmt::format("{} has an invalid value", key);
  const std::string* value = find(key);
  if (value == nullptr || std::ranges::find(errors_, what, &Diagnostic::what) != errors_.end()) return;
  errors_.push_back(
      {.where = where_, .what = what, .expected = std::move(expected), .got = *value, .fault = Fault::kUsage});
}

template <typename Number>
Number IniValues::number(std::string_view key, const std::string& text, Range<Number> range) {
  const std::optional<Number> value = number_in<Number>(text);
  // The condition also rejects NaN.
  const bool fits = value && *value >= range.smallest && *value <= range.largest;
  if (!fits) reject(key, fmt::format("a number from {} to {}", range.smallest, range.largest));
  return fits ? *value : range.smallest;
}

double IniValues::real(std::string_view key, Range<double> range) {
  const std::string* text = required(key);
  return text == nullptr ? range.smallest : number(key, *text, range);
}

int64_t IniValues::integer_or(std::string_view key, int64_t absent, Range<int64_t> range) {
  const std::string* text = find(key);
  return text == nullptr ? absent : number(key, *text, range);
}

// Returns the key's value. If it is missing, returns `otherwise` and records that for a note.
template <typename Number>
Number IniValues::assumed(const std::string& key, Number otherwise, Range<Number> range) {
  const std::string* text = find(key);
  if (text != nullptr) return number(key, *text, range);
  assumed_.push_back(fmt::format("{}={}", key, otherwise));
  return otherwise;
}

std::optional<Diagnostic> IniValues::assumptions(std::string_view system) const {
  if (assumed_.empty()) return std::nullopt;
  return Diagnostic{.where = where_,
                    .what = fmt::format("missing keys are taken from {}: {}", system, fmt::join(assumed_, ", ")),
                    .hint = "estimates, and decisions that use them, depend on these values",
                    .severity = Severity::kWarning};
}

int IniValues::axi(std::string_view key) {
  const std::string* text = required(key);
  const bool is_one = text != nullptr && npu::same_name(*text, "Axi1");
  if (text != nullptr && !is_one && !npu::same_name(*text, "Axi0")) reject(key, "Axi0 or Axi1");
  return is_one ? 1 : 0;
}

npu::MemoryPort IniValues::port(size_t number, npu::Product product) {
  const std::string key = fmt::format("axi{}_port", number);
  const std::string* text = required(key);
  if (text == nullptr) return {};
  const auto* kind =
      std::ranges::find_if(kMemoryKinds, [&](npu::MemoryKind k) { return npu::same_name(npu::name_of(k), *text); });
  if (kind == kMemoryKinds.end() || (number == 0 && *kind != npu::MemoryKind::kSram)) {
    reject(key, number == 0 ? "Sram" : "Sram, Dram, OnChipFlash or OffChipFlash");
    return {};
  }
  const npu::MemoryPort& defaults = default_port(number, *kind, product);
  const auto named = [&](std::string_view rest) { return fmt::format("{}_{}", npu::name_of(*kind), rest); };
  const auto whole = [&](std::string_view rest, int64_t otherwise, Range<int64_t> range) {
    return static_cast<int>(assumed(named(rest), otherwise, range));
  };
  const auto whole_or = [&](std::string_view rest, int64_t absent, Range<int64_t> range) {
    return static_cast<int>(integer_or(named(rest), absent, range));
  };
  constexpr Range<int64_t> kLatency{0, 1'000'000};
  constexpr Range<int64_t> kOutstanding{0, 1024};
  const bool max_reads_asked = npu::delegate_conventions_of(product).ini_needs_max_reads;
  return {.kind = *kind,
          .clock_scale = assumed<double>(named("clock_scale"), defaults.clock_scale, {1e-6, 1000}),
          .ports_used = std::max(1, whole_or("ports_used", 1, {0, 16})),
          .burst_bytes = whole("burst_length", defaults.burst_bytes, {1, 65536}),
          .read_latency_cycles = whole("read_latency", defaults.read_latency_cycles, kLatency),
          .write_latency_cycles = whole("write_latency", defaults.write_latency_cycles, kLatency),
          .max_reads = max_reads_asked ? whole("max_reads", defaults.max_reads, {1, kOutstanding.largest})
                                       : whole_or("max_reads", 1, kOutstanding),
          .max_writes = whole_or("max_writes", 0, kOutstanding)};
}

}  // namespace carina::targets
