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
  // Returns the lines. Each begins with `indent` blanks and ends with a newline. Widths are in code points. A table
  // that is wider than wrap_tables_to() allows has its last column on several lines, beside the others or, if they
  // leave it no room, below them.
  [[nodiscard]] std::string text(size_t indent) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Sets the columns of the terminal that shows the tables of this process; 0, the default: no limit. A program calls it
// once, before its first table.
void wrap_tables_to(size_t columns);

// 1234567 -> "1,234,567"
std::string grouped(int64_t number);

}  // namespace carina::report
