#include "backends/ethosu_specs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/number.h"

namespace carina::backends {

namespace {

constexpr std::string_view kTosaSpec = "tosa_spec";
constexpr std::string_view kCompileFlags = "compile_flags";
constexpr std::string_view kOutputFormat = "output_format";
constexpr std::string_view kTarget = "target";
constexpr std::string_view kLayers = "carina_layers";

constexpr std::string_view kAcceleratorFlag = "--accelerator-config=";
constexpr std::string_view kSystemFlag = "--system-config=";
constexpr std::string_view kMemoryFlag = "--memory-mode=";
constexpr std::string_view kCacheFlag = "--arena-cache-size=";

std::vector<uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

std::string_view text_of(const CompileSpecs& specs, std::string_view key) {
  const auto found = std::ranges::find(specs, key, [](const auto& spec) { return std::string_view(spec.first); });
  if (found == specs.end()) return {};
  return {reinterpret_cast<const char*>(found->second.data()), found->second.size()};
}

std::string flag_value(std::string_view flags, std::string_view flag) {
  const size_t at = flags.find(flag);
  if (at == std::string_view::npos) return {};
  const size_t start = at + flag.size();
  return std::string(flags.substr(start, flags.find(' ', start) - start));
}

std::optional<size_t> take_number(std::string_view& line) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()) + 1);
  return number;
}

// One line per note: "first_word end_word name".
std::string layers_text(const std::vector<npu::LayerNote>& layers) {
  std::string text;
  for (const npu::LayerNote& note : layers)
    text += fmt::format("{} {} {}\n", note.first_word, note.end_word, note.name);
  return text;
}

// Parses the lines. Lines in another form are ignored.
std::vector<npu::LayerNote> layers_of(std::string_view text) {
  std::vector<npu::LayerNote> notes;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto first = take_number(line);
    const auto end = first ? take_number(line) : std::nullopt;
    if (end) notes.push_back({.name = std::string(line), .first_word = *first, .end_word = *end});
  }
  return notes;
}

}  // namespace

CompileSpecs write_specs(const EthosUSpecs& specs) {
  const std::string flags =
      fmt::format("{}{}{}{} {}{} {}{}", specs.more_flags, specs.more_flags.empty() ? "" : " ", kAcceleratorFlag,
                  specs.accelerator, kSystemFlag, specs.system_config, kMemoryFlag, specs.memory_mode);
  return {{std::string(kTosaSpec), bytes_of(specs.tosa_spec)},
          {std::string(kCompileFlags), bytes_of(flags)},
          {std::string(kOutputFormat), bytes_of("vela")},
          {std::string(kTarget), bytes_of(specs.accelerator)},
          {std::string(kLayers), bytes_of(layers_text(specs.layers))}};
}

EthosUSpecs read_specs(const CompileSpecs& specs) {
  const std::string_view flags = text_of(specs, kCompileFlags);
  return {.tosa_spec = std::string(text_of(specs, kTosaSpec)),
          .accelerator = flag_value(flags, kAcceleratorFlag),
          .system_config = flag_value(flags, kSystemFlag),
          .memory_mode = flag_value(flags, kMemoryFlag),
          .arena_cache_bytes = number_in<int64_t>(flag_value(flags, kCacheFlag)).value_or(0),
          .layers = layers_of(text_of(specs, kLayers))};
}

}  // namespace carina::backends
