#include "report/tables/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "carina/check.h"

namespace carina::report {

namespace {

size_t code_points(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

constexpr size_t kLeast = 24;  // columns of text: a narrower last column goes below the others

std::string padded(const std::string& text, size_t width, Align align) {
  const std::string blanks(width - std::min(width, code_points(text)), ' ');
  return align == Align::kLeft ? text + blanks : blanks + text;
}

size_t& table_limit() {
  static size_t limit = 0;
  return limit;
}

// Breaks a text at blanks into lines of at most `width` code points, if its words allow it.
std::vector<std::string> broken(const std::string& text, size_t width) {
  std::vector<std::string> lines(1);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool fits = code_points(lines.back()) + 1 + code_points(word) <= width;
    if (lines.back().empty()) {
      lines.back() = word;
    } else if (fits) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
    at = end + 1;
  }
  return lines;
}

}  // namespace

void wrap_tables_to(size_t columns) {
  table_limit() = columns;
}

std::string Table::text(size_t indent) const {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns_) lines[0].push_back(column.title);
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<size_t> widths(columns_.size());
  for (const auto& line : lines) {
    CARINA_CHECK(line.size() == columns_.size(), "{} cells in {} columns", line.size(), columns_.size());
    for (size_t c = 0; c < columns_.size(); ++c) widths[c] = std::max(widths[c], code_points(line[c]));
  }
  const size_t before_last = indent + std::accumulate(widths.begin(), widths.end() - 1, 2 * (widths.size() - 1));
  const size_t below_begins = indent + 4;
  const bool breaks = table_limit() >= below_begins + kLeast && columns_.back().align == Align::kLeft &&
                      before_last + widths.back() > table_limit();
  const bool is_below = breaks && table_limit() < before_last + kLeast;
  const size_t last_begins = is_below ? below_begins : before_last;
  if (breaks) widths.back() = std::min(widths.back(), table_limit() - last_begins);
  std::string out;
  const auto add = [&](std::string row) {
    row.erase(row.find_last_not_of(' ') + 1);
    if (!row.empty()) out += row + '\n';
  };
  for (const auto& line : lines) {
    std::string row(indent, ' ');
    for (size_t c = 0; c + 1 < columns_.size(); ++c) row += padded(line[c], widths[c], columns_[c].align) + "  ";
    if (is_below) add(std::exchange(row, std::string(last_begins, ' ')));
    const std::vector<std::string> last = breaks ? broken(line.back(), widths.back()) : std::vector{line.back()};
    for (const std::string& part : last)
      add(std::exchange(row, std::string(last_begins, ' ')) + padded(part, widths.back(), columns_.back().align));
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
