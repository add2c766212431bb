#pragma once

#include <string>
#include <vector>

namespace carina {

// The words as the list that ends with a null pointer, which calls of the system take. It points into `words`.
inline std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace carina
