#include "base/text/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace carina {

namespace {

constexpr size_t kMaxLetters = 2;
constexpr size_t kMinPart = 4;  // a shorter text is in a name by chance

std::string plain(std::string_view text) {
  std::string letters(text);
  std::ranges::transform(letters, letters.begin(), [](unsigned char c) { return c == '_' ? '-' : std::tolower(c); });
  return letters;
}

// The Levenshtein distance: the number of letters to insert, delete or change.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, changed}));
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_hint(std::string_view typed, const std::vector<std::string>& names) {
  const std::string text = plain(typed);
  const auto letters = [&](const std::string& name) { return distance(text, plain(name)); };
  const auto nearest = std::ranges::min_element(names, {}, letters);
  if (nearest != names.end() && letters(*nearest) <= kMaxLetters) return fmt::format("did you mean {}?", *nearest);
  const auto contains = [&](const std::string& name) { return plain(name).find(text) != std::string::npos; };
  if (text.size() < kMinPart || std::ranges::count_if(names, contains) != 1) return {};
  return fmt::format("did you mean {}?", *std::ranges::find_if(names, contains));
}

std::string nearest_hint(std::string_view typed, std::string_view names) {
  std::vector<std::string> list;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(", "));
    list.emplace_back(name.substr(0, name.find(' ')));
    names.remove_prefix(std::min(name.size() + 2, names.size()));
  }
  return nearest_hint(typed, list);
}

}  // namespace carina
