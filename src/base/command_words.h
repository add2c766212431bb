// The words of a command in the forms that systems take.
#pragma once

#include <string>
#include <vector>

namespace carina {

// The words as the list that ends with a null pointer, which POSIX takes. It points into `words`.
inline std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The words as one string, which Windows takes: quoted so that the program's C library finds the same words again: a
// quote, and the backslashes before a quote, get a backslash each. Example: {"a b", "c\\"} gives "a b" c\\ .
// Source: Microsoft's documentation of CommandLineToArgvW.
inline std::string windows_command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_of(" \t\"") == std::string::npos) {
      line += word;
      continue;
    }
    line += '"';
    size_t backslashes = 0;
    for (const char c : word) {
      if (c == '"') line.append(backslashes + 1, '\\');
      backslashes = c == '\\' ? backslashes + 1 : 0;
      line += c;
    }
    line.append(backslashes, '\\');
    line += '"';
  }
  return line;
}

}  // namespace carina
