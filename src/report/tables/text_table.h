#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Tables of text for terminals.
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
  // The number of cells is that of the columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Returns the lines. Each begins with `indent` blanks and ends with a newline. Widths are in code points.
  [[nodiscard]] std::string text(size_t indent) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// 1234567 -> "1,234,567"
std::string grouped(int64_t number);

}  // namespace carina::report
