#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace carina::report {

enum class Align { kLeft, kRight };

// A table of text cells with aligned columns, for a terminal.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // The lines, each ended by a newline and begun by `indent` blanks; widths in code points.
  [[nodiscard]] std::string text(size_t indent) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// 1234567 -> "1,234,567"
std::string grouped(int64_t number);

}  // namespace carina::report
