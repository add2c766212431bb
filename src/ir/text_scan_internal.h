// Declares the scanner of the text form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "carina/result.h"

namespace carina::ir {

// A token of the text form. Identifiers and numbers are both words: letters, digits, '_', '.', '-', '/'.
struct Token {
  enum class Kind : uint8_t { kWord, kString, kPunctuation, kEnd } kind = Kind::kEnd;
  std::string_view raw;  // as in the text; a string without its quotes
  size_t offset = 0;
};

// Splits text into tokens and tracks line and column for messages.
class Scanner {
 public:
  Scanner(std::string_view text, std::string where) : text_(text), where_(std::move(where)) { advance(); }

  [[nodiscard]] const Token& now() const { return now_; }
  [[nodiscard]] bool at_end() const { return now_.kind == Token::Kind::kEnd; }
  [[nodiscard]] bool is(std::string_view raw) const {
    return now_.raw == raw && now_.kind != Token::Kind::kString && !at_end();
  }
  void advance();
  // Skips the token if it is `raw`.
  bool accept(std::string_view raw);
  Result<void> expect(std::string_view raw);
  // An identifier or a quoted string, unescaped.
  Result<std::string> name(std::string_view what);
  Result<int64_t> integer();
  // Returns a diagnostic about the current token.
  [[nodiscard]] std::unexpected<Diagnostics> error(std::string what, std::string expected = {}) const;

 private:
  [[nodiscard]] size_t word_end(size_t from) const;
  std::string_view text_;
  std::string where_;
  size_t position_ = 0;
  Token now_;
};

// Returns the content of a quoted string without escapes. Errors: an invalid escape.
Result<std::string> unescape(const Scanner& scanner, std::string_view raw);

}  // namespace carina::ir
