#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "firmware/board/board.h"

namespace carina::firmware {

// A line of the console, written when it goes out of scope; what does not fit is cut. There is no stdio here: it would
// bring the heap along.
class Line {
 public:
  explicit Line(std::string_view prefix) { text(prefix); }
  ~Line() { board_write_line({text_.data(), size_}); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  Line& text(std::string_view text);
  Line& number(int64_t value);
  Line& hex(uint32_t value);
  // As printf's %.<decimals>f; from about 10^9 on, with an exponent.
  Line& fixed(double value, int decimals);

 private:
  Line& digits(uint64_t value, int at_least);
  std::array<char, 200> text_;
  size_t size_ = 0;
};

inline Line info() {
  return Line("I [carina] ");
}
inline Line error() {
  return Line("E [carina] ");
}

}  // namespace carina::firmware
