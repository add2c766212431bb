#include "driver/layer_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace carina::driver {

namespace {

std::optional<size_t> take_number(std::string_view& line) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()) + 1);
  return number;
}

}  // namespace

std::vector<uint8_t> layer_names_text(const std::vector<npu::LayerNote>& layers) {
  std::string text;
  for (const npu::LayerNote& note : layers)
    text += fmt::format("{} {} {}\n", note.first_word, note.end_word, note.name);
  return {text.begin(), text.end()};
}

std::vector<npu::LayerNote> layer_notes_of(std::string_view text) {
  std::vector<npu::LayerNote> notes;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto first = take_number(line);
    const auto end = first ? take_number(line) : std::nullopt;
    if (!end) continue;
    npu::LayerNote note;
    note.name = std::string(line);
    note.first_word = *first;
    note.end_word = *end;
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace carina::driver
