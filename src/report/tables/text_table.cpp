#include "report/tables/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "carina/check.h"

namespace carina::report {

namespace {

size_t code_points(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width, Align align) {
  const std::string blanks(width - std::min(width, code_points(text)), ' ');
  return align == Align::kLeft ? text + blanks : blanks + text;
}

}  // namespace

std::string Table::text(size_t indent) const {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns_) lines[0].push_back(column.title);
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<size_t> widths(columns_.size());
  for (const auto& line : lines) {
    CARINA_CHECK(line.size() == columns_.size(), "{} cells in {} columns", line.size(), columns_.size());
    for (size_t c = 0; c < columns_.size(); ++c) widths[c] = std::max(widths[c], code_points(line[c]));
  }
  std::string out;
  for (const auto& line : lines) {
    std::string row(indent, ' ');
    for (size_t c = 0; c < columns_.size(); ++c)
      row += (c == 0 ? "" : "  ") + padded(line[c], widths[c], columns_[c].align);
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + '\n';
  }
  return out;
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number < 0 ? -number : number);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return (number < 0 ? "-" : "") + digits;
}

}  // namespace carina::report
