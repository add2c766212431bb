#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text/number.h"
#include "ir/text_scan_internal.h"

namespace carina::ir {

namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '/';
}

}  // namespace

size_t Scanner::word_end(size_t from) const {
  size_t end = from + 1;
  while (end < text_.size()) {
    const bool exponent_sign = text_[end] == '+' && text_[end - 1] == 'e';
    if (!is_word(text_[end]) && !exponent_sign) break;
    ++end;
  }
  return end;
}

void Scanner::advance() {
  while (position_ < text_.size() && (is_space(text_[position_]) || text_[position_] == '#')) {
    if (text_[position_] == '#')
      position_ = std::min(text_.find('\n', position_), text_.size());
    else
      ++position_;
  }
  now_ = {.kind = Token::Kind::kEnd, .raw = {}, .offset = position_};
  if (position_ >= text_.size()) return;
  const char c = text_[position_];
  if (c == '"') {
    size_t end = position_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    end = std::min(end, text_.size());
    now_ = {.kind = Token::Kind::kString, .raw = text_.substr(position_ + 1, end - position_ - 1), .offset = position_};
    position_ = std::min(end + 1, text_.size());
    return;
  }
  const bool word = is_word(c);
  const size_t end = word ? word_end(position_) : position_ + 1;
  now_ = {.kind = word ? Token::Kind::kWord : Token::Kind::kPunctuation,
          .raw = text_.substr(position_, end - position_),
          .offset = position_};
  position_ = end;
}

bool Scanner::accept(std::string_view raw) {
  if (!is(raw)) return false;
  advance();
  return true;
}

Result<void> Scanner::expect(std::string_view raw) {
  if (accept(raw)) return {};
  return error("unexpected text", fmt::format("'{}'", raw));
}

Result<std::string> Scanner::name(std::string_view what) {
  if (now_.kind != Token::Kind::kWord && now_.kind != Token::Kind::kString)
    return error("unexpected text", std::string(what));
  Result<std::string> out = now_.kind == Token::Kind::kWord ? std::string(now_.raw) : unescape(*this, now_.raw);
  if (out) advance();
  return out;
}

Result<int64_t> Scanner::integer() {
  const auto value = number_in<int64_t>(now_.raw);
  if (now_.kind != Token::Kind::kWord || !value) return error("unexpected text", "a whole number");
  advance();
  return *value;
}

std::unexpected<Diagnostics> Scanner::error(std::string what, std::string expected) const {
  const auto before = text_.substr(0, now_.offset);
  const auto line = 1 + std::ranges::count(before, '\n');
  const size_t column =
      before.size() - (before.find_last_of('\n') == std::string_view::npos ? 0 : before.find_last_of('\n') + 1) + 1;
  return fail({.where = fmt::format("{}:{}:{}", where_, line, column),
               .what = std::move(what),
               .expected = std::move(expected),
               .got = at_end() ? "the end of the text" : fmt::format("'{}'", now_.raw.substr(0, 40))});
}

Result<std::string> unescape(const Scanner& scanner, std::string_view raw) {
  std::string out;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      out += raw[i];
      continue;
    }
    if (i + 1 < raw.size() && (raw[i + 1] == '"' || raw[i + 1] == '\\')) {
      out += raw[++i];
      continue;
    }
    unsigned byte = 0;
    const char* digits = raw.data() + i + 2;
    if (i + 3 >= raw.size() || raw[i + 1] != 'x' || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
      return scanner.error("a broken escape in a string", R"(\", \\ or \xHH)");
    }
    out += static_cast<char>(byte);
    i += 3;
  }
  return out;
}

}  // namespace carina::ir
