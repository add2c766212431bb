#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "facts/npu_targets.h"

// Typed values of a section of vela.ini.
namespace carina::targets {

std::string lower_case(std::string_view text);  // of ASCII letters

template <typename Number>
struct Range {
  Number smallest;
  Number largest;
};

// Typed values of one section of an ini file (keys in lower case). Missing and wrong values are collected so that all
// of them are reported at once; the returned values are then meaningless.
class IniValues {
 public:
  using Section = std::map<std::string, std::string, std::less<>>;

  IniValues(const Section& keys, std::string where) : keys_(keys), where_(std::move(where)) {}

  double real(std::string_view key, Range<double> range);
  int64_t integer_or(std::string_view key, int64_t absent, Range<int64_t> range);
  int axi(std::string_view key);  // "Axi0" or "Axi1"
  // Returns the memory at AXI port 0 or 1: axi<n>_port and the keys that begin with that memory's name. Missing
  // speeds are taken from the same memory in the product's default system, or else from the same port's memory.
  npu::MemoryPort port(size_t number, npu::Product product);

  // Records that the value of `key` differs from `expected`. Once per key.
  void reject(std::string_view key, std::string expected);
  [[nodiscard]] const Diagnostics& errors() const { return errors_; }
  // Returns a note with the keys that were missing and taken from the system `system`; no value if none was missing.
  [[nodiscard]] std::optional<Diagnostic> assumptions(std::string_view system) const;

 private:
  [[nodiscard]] const std::string* find(std::string_view key) const;
  const std::string* required(std::string_view key);
  template <typename Number>
  Number assumed(const std::string& key, Number otherwise, Range<Number> range);
  template <typename Number>
  Number number(std::string_view key, const std::string& text, Range<Number> range);

  const Section& keys_;
  std::string where_;
  Diagnostics errors_;
  std::vector<std::string> assumed_;  // "Sram_burst_length=32"
};

}  // namespace carina::targets
