#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "firmware/board/board.h"

namespace carina::firmware {

// A line of the console, which the destructor writes. Text that does not fit is truncated. stdio is not used, because
// it would need a heap.
class Line {
 public:
  explicit Line(std::string_view prefix) { text(prefix); }
  ~Line() { board_write_line({text_.data(), size_}); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  Line& text(std::string_view text);
  Line& number(int64_t value);
  Line& hex(uint32_t value);
  // Formats like printf's %.<decimals>f. From about 10^9 on it uses an exponent.
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
