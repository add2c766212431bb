#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "carina/shape.h"

namespace carina::tosa {

// The values of the names in a row's shape texts at one node. "[N,IH,IW,C]" binds N, IH, IW and C to sizes; "shape1"
// binds a whole shape. A name has the same value in all operands. Other entries are expressions of bound names: "C*M",
// "W/2 + 1", "2*rank(shape1)", "4".
class ShapePattern {
 public:
  // Matches an operand's shape. Returns the mismatch as text: "C is 3, but 4 in weight".
  std::optional<std::string> match(std::string_view operand, std::string_view text, const Shape& shape);

 private:
  struct Size {
    int64_t value;
    std::string operand;
  };
  struct Whole {
    Shape shape;
    std::string operand;
  };
  std::optional<std::string> match_whole(std::string_view operand, std::string_view name, const Shape& shape);
  std::optional<std::string> match_size(std::string_view operand, std::string_view entry, int64_t size);
  [[nodiscard]] std::optional<int64_t> evaluate(std::string_view expression) const;
  [[nodiscard]] std::optional<int64_t> factor(std::string_view text) const;

  std::map<std::string, Size, std::less<>> sizes_;
  std::map<std::string, Whole, std::less<>> shapes_;
};

}  // namespace carina::tosa
