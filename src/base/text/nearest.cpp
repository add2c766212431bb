#include "base/text/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <numeric>
#include <utility>

namespace carina {

namespace {

constexpr size_t kMaxLetters = 2;
constexpr size_t kMaxNames = 5;

// Whether names that contain the text are meant by it. A shorter text, and a number of three digits, are in a name by
// chance.
bool is_part(std::string_view text) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  return text.size() >= 4 || (text.size() == 3 && std::ranges::any_of(text, is_letter));
}

// "a", "a or b", "a, b or c"
std::string choice_of(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

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
  const auto begins = [&](const std::string& name) { return plain(name).starts_with(text); };
  if (is_part(text) && std::ranges::count_if(names, begins) == 1)
    return fmt::format("did you mean {}?", *std::ranges::find_if(names, begins));
  const auto letters = [&](const std::string& name) { return distance(text, plain(name)); };
  const auto nearest = std::ranges::min_element(names, {}, letters);
  if (nearest != names.end() && letters(*nearest) <= kMaxLetters) return fmt::format("did you mean {}?", *nearest);
  if (!is_part(text)) return {};
  std::vector<std::string> containing;
  std::ranges::copy_if(names, std::back_inserter(containing),
                       [&](const std::string& name) { return plain(name).find(text) != std::string::npos; });
  if (containing.empty() || containing.size() > kMaxNames) return {};
  return fmt::format("did you mean {}?", choice_of(containing));
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

std::string with_nearest(std::string_view typed, const std::vector<std::string>& names, std::string_view text) {
  const std::string nearest = nearest_hint(typed, names);
  return fmt::format("{}{}{}", nearest, nearest.empty() || text.empty() ? "" : " ", text);
}

}  // namespace carina
