// Tests tables of text.
#include "report/tables/text_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace carina::report {
namespace {

Table example() {
  Table table({{.title = "node"}, {.title = "cycles", .align = Align::kRight}, {.title = "why"}});
  table.add({"conv2d", "1,472", "the stride is 5, and the NPU supports at most 3"});
  table.add({"relu", "-", "supported"});
  return table;
}

size_t widest(const std::string& text) {
  std::istringstream lines(text);
  size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

// Sets the limit for one test.
class Limit {
 public:
  explicit Limit(size_t columns) { wrap_tables_to(columns); }
  ~Limit() { wrap_tables_to(0); }
};

TEST(Table, last_column_wraps_at_the_limit) {
  const Limit limit(48);
  EXPECT_EQ(example().text(2),
            "  node    cycles  why\n"
            "  conv2d   1,472  the stride is 5, and the NPU\n"
            "                  supports at most 3\n"
            "  relu         -  supported\n");
}

TEST(Table, last_column_goes_below_where_it_has_no_room) {
  const Limit limit(34);  // beside the others, the last column would have 16 columns
  EXPECT_EQ(example().text(2),
            "  node    cycles\n"
            "      why\n"
            "  conv2d   1,472\n"
            "      the stride is 5, and the NPU\n"
            "      supports at most 3\n"
            "  relu         -\n"
            "      supported\n");
}

TEST(Table, without_limit_or_room_nothing_wraps) {
  const std::string whole = example().text(2);
  EXPECT_EQ(std::ranges::count(whole, '\n'), 3);
  const Limit limit(20);  // below the others, the last column would have 14 columns
  EXPECT_EQ(example().text(2), whole);
  EXPECT_GT(widest(whole), 48U);
}

}  // namespace
}  // namespace carina::report
